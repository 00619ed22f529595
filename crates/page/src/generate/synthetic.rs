//! `synthetic:100x10KB[@4hosts]`: a document and N images of one size, over H hosts in turn.

use super::builder::{Builder, Markup, Reference};
use crate::{Error, HostId, Kind, Page};

/// The most objects that a synthetic page may have.
pub const MOST_OBJECTS: u64 = 10_000;
const MOST_HOSTS: u64 = 256;
const MOST_BYTES: u64 = 1_000_000_000;

const EXAMPLE: &str = "`synthetic:100x10KB` or `synthetic:100x10KB@4hosts`";

/// The parameters of a synthetic page.
///
/// The document takes 60 bytes a tag and 220 around them, and reveals each object at the end of its
/// tag. 10KB is 10,000 bytes, 10KiB is 10,240. Object k is served by host k mod H; the document by
/// the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// How many objects the document refers to.
    pub objects: u64,
    /// The size of each.
    pub object_bytes: u64,
    /// Over how many hosts they are spread.
    pub hosts: u64,
}

impl Synthetic {
    /// Reads `100x10KB@4hosts`; `spec` is the whole name, for messages.
    pub fn parse(spec: &str, parameters: &str) -> Result<Synthetic, Error> {
        let bad =
            |problem: String| Error::BadSpec { spec: spec.to_owned(), problem, example: EXAMPLE };
        let (load, hosts) = match parameters.split_once('@') {
            Some((load, hosts)) => (load, read_hosts(hosts).map_err(bad)?),
            None => (parameters, 1),
        };
        let (count, size) = load
            .split_once('x')
            .ok_or_else(|| bad(format!("`{load}` is not a count and a size with an x between")))?;
        let objects = read_count(count, MOST_OBJECTS, "objects").map_err(bad)?;
        let object_bytes = units::parse::size_bytes(size).map_err(|e| bad(e.to_string()))?;
        if !(1..=MOST_BYTES).contains(&object_bytes) {
            return Err(bad(format!("an object has 1 byte to {MOST_BYTES} bytes")));
        }
        Ok(Synthetic { objects, object_bytes, hosts })
    }

    /// The page.
    pub fn page(&self) -> Page {
        let Synthetic { objects, object_bytes, hosts } = *self;
        let name = match hosts {
            1 => format!("synthetic:{objects}x{}", size_name(object_bytes)),
            _ => format!("synthetic:{objects}x{}@{hosts}hosts", size_name(object_bytes)),
        };
        let origin = format!(
            "generated: a document and {objects} images of {object_bytes} bytes on {hosts} host(s)"
        );
        let names = (0..hosts).map(host_name).collect();
        let markup = Markup::PLAIN;
        let mut page = Builder::new(&name, &origin, names, "/", markup.bytes(objects));
        for index in 0..objects {
            page.refer(Reference {
                host: HostId((index % hosts) as u32),
                path: format!("/o/{:04}.png", index + 1),
                kind: Kind::Image,
                body_bytes: object_bytes,
                at: markup.end_of(index),
            });
        }
        page.finish()
    }
}

/// A domain reserved for this use (RFC 6761 section 6.4).
fn host_name(index: u64) -> String {
    match index {
        0 => "www.page.test".to_owned(),
        _ => format!("static{index}.page.test"),
    }
}

/// The shortest exact name of a size.
fn size_name(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1_000_000) => format!("{}MB", bytes / 1_000_000),
        _ if bytes.is_multiple_of(1000) => format!("{}KB", bytes / 1000),
        _ if bytes.is_multiple_of(1024) => format!("{}KiB", bytes / 1024),
        _ => format!("{bytes}B"),
    }
}

fn read_hosts(text: &str) -> Result<u64, String> {
    let count = text
        .strip_suffix("hosts")
        .or_else(|| text.strip_suffix("host"))
        .ok_or_else(|| format!("`@{text}` does not end in `hosts`"))?;
    read_count(count, MOST_HOSTS, "hosts")
}

fn read_count(text: &str, most: u64, what: &str) -> Result<u64, String> {
    match text.trim().parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(format!("`{text}` is not a number of {what} from 1 to {most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::After;

    fn parse(parameters: &str) -> Result<Synthetic, Error> {
        Synthetic::parse(&format!("synthetic:{parameters}"), parameters)
    }

    #[test]
    fn counts_and_sizes_are_exact() {
        let page = parse("100x10KB@4hosts").unwrap().page();
        assert_eq!(page.name, "synthetic:100x10KB@4hosts");
        assert_eq!((page.objects.len(), page.hosts.len()), (101, 4));
        assert_eq!(page.root().body_bytes, 220 + 100 * 60);
        assert_eq!(page.body_bytes(), 1_000_000 + page.root().body_bytes);
        assert_eq!(page.objects[1].waits_for[0].after, After::Bytes(260));
        assert_eq!(page.objects[100].waits_for[0].after, After::Bytes(6200));
        assert_eq!(page.objects[5].host, HostId(0));
    }

    #[test]
    fn names_round_trip() {
        for name in ["1x1B", "100x10KB", "50x1KiB", "3x2MB@2hosts"] {
            assert_eq!(parse(name).unwrap().page().name, format!("synthetic:{name}"));
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for bad in ["", "100", "0x1KB", "x1KB", "10x", "10x10", "10x1KB@4", "10x1KB@0hosts"] {
            let message = parse(bad).unwrap_err().to_string();
            assert!(message.contains("write `synthetic:100x10KB`"), "{message}");
        }
    }
}
