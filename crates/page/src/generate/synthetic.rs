//! `synthetic:100x10KB[@4hosts][+10s]`: a document and N images of one size, over H hosts in turn; optionally
//! followed by a second such page after a pause.

use std::time::Duration;

use super::{Builder, Markup, Reference};
use crate::{Error, HostId, Kind, Page};

/// Maximum number of objects of a synthetic page.
pub(crate) const MOST_OBJECTS: u64 = 10_000;
const MOST_HOSTS: u64 = 256;
const MOST_BYTES: u64 = 1_000_000_000;

/// Maximum pause: a quarter of an hour.
const MOST_PAUSE: Duration = Duration::from_secs(900);

const EXAMPLE: &str =
    "`synthetic:100x10KB`, `synthetic:100x10KB@4hosts` or `synthetic:100x10KB+10s`";

/// The parameters of a synthetic page.
///
/// The document has 60 bytes per tag and 220 around them, and reveals each object at the end of its tag. 10KB is
/// 10,000 bytes, 10KiB is 10,240. Object k is served by host k mod H; the document by the first.
///
/// With a pause the reader goes on to a second such document that long after all of the first has arrived: it meets
/// connections, and a radio, that were idle. The pause is work of the client in the graph, so a slower client makes
/// it longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    /// Number of objects that the document refers to.
    pub objects: u64,
    /// Size of each.
    pub object_bytes: u64,
    /// Number of hosts that they are spread over.
    pub hosts: u64,
    /// Pause before a second such page, if there is one.
    pub again_after: Option<Duration>,
}

impl Synthetic {
    /// Parses `100x10KB@4hosts+10s`; `spec` is the whole name, for messages.
    pub fn parse(spec: &str, parameters: &str) -> Result<Synthetic, Error> {
        let bad =
            |problem: String| Error::BadSpec { spec: spec.to_owned(), problem, example: EXAMPLE };
        let (once, again_after) = match parameters.split_once('+') {
            Some((once, pause)) => (once, Some(read_pause(pause).map_err(bad)?)),
            None => (parameters, None),
        };
        let (load, hosts) = match once.split_once('@') {
            Some((load, hosts)) => (load, read_hosts(hosts).map_err(bad)?),
            None => (once, 1),
        };
        let (count, size) = load
            .split_once('x')
            .ok_or_else(|| bad(format!("`{load}` is not a count and a size with an x between")))?;
        let objects = read_count(count, MOST_OBJECTS, "objects").map_err(bad)?;
        let object_bytes = units::parse::size_bytes(size).map_err(|e| bad(e.to_string()))?;
        if !(1..=MOST_BYTES).contains(&object_bytes) {
            return Err(bad(format!("an object has 1 byte to {MOST_BYTES} bytes")));
        }
        Ok(Synthetic { objects, object_bytes, hosts, again_after })
    }

    /// Builds the page.
    pub fn page(&self) -> Page {
        let names = (0..self.hosts).map(host_name).collect();
        let bytes = Markup::PLAIN.bytes(self.objects);
        let mut page = Builder::new(&self.name(), &self.origin(), names, "/", bytes);
        self.refer(&mut page, "");
        if let Some(pause) = self.again_after {
            page.follow("/2/", bytes, pause);
            self.refer(&mut page, "/2");
        }
        page.finish()
    }

    /// Adds the latest document's references.
    fn refer(&self, page: &mut Builder, folder: &str) {
        for index in 0..self.objects {
            page.refer(Reference {
                host: HostId((index % self.hosts) as u32),
                path: format!("{folder}/o/{:04}.png", index + 1),
                kind: Kind::Image,
                body_bytes: self.object_bytes,
                at: Markup::PLAIN.end_of(index),
            });
        }
    }

    fn name(&self) -> String {
        let hosts = match self.hosts {
            1 => String::new(),
            hosts => format!("@{hosts}hosts"),
        };
        let again = self.again_after.map(|pause| format!("+{}", pause_name(pause)));
        let size = size_name(self.object_bytes);
        format!("synthetic:{}x{size}{hosts}{}", self.objects, again.unwrap_or_default())
    }

    fn origin(&self) -> String {
        let Synthetic { objects, object_bytes, hosts, again_after } = self;
        let again =
            again_after.map(|pause| format!("; the like again {} later", pause_name(pause)));
        format!(
            "generated: a document and {objects} images of {object_bytes} bytes on {hosts} host(s){}",
            again.unwrap_or_default()
        )
    }
}

/// Host name in a domain reserved for this use (RFC 6761 section 6.4).
fn host_name(index: u64) -> String {
    match index {
        0 => "www.page.test".to_owned(),
        _ => format!("static{index}.page.test"),
    }
}

/// Shortest exact notation of a size.
fn size_name(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1_000_000) => format!("{}MB", bytes / 1_000_000),
        _ if bytes.is_multiple_of(1000) => format!("{}KB", bytes / 1000),
        _ if bytes.is_multiple_of(1024) => format!("{}KiB", bytes / 1024),
        _ => format!("{bytes}B"),
    }
}

/// Shortest exact notation of a pause.
fn pause_name(pause: Duration) -> String {
    match pause.subsec_nanos() {
        0 => format!("{}s", pause.as_secs()),
        _ => format!("{}ms", pause.as_millis()),
    }
}

fn read_pause(text: &str) -> Result<Duration, String> {
    let pause = units::parse::duration(text).map_err(|error| error.to_string())?;
    let is_exact = pause.subsec_nanos().is_multiple_of(1_000_000);
    match !pause.is_zero() && pause <= MOST_PAUSE && is_exact {
        true => Ok(pause),
        false => Err(format!(
            "`+{text}` is not a pause of whole milliseconds, up to {} s",
            MOST_PAUSE.as_secs()
        )),
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
    fn after_a_pause_the_like_follows_on_the_same_hosts() {
        let page = parse("4x10KB@2hosts+10s").unwrap().page();
        assert_eq!((page.objects.len(), page.hosts.len()), (10, 2));
        let second = &page.objects[5];
        assert_eq!((second.kind, second.path.as_str()), (Kind::Document, "/2/"));
        // It follows once all of the first has arrived.
        let before: Vec<u32> = second.waits_for.iter().map(|edge| edge.object.0).collect();
        assert_eq!(before, [0, 1, 2, 3, 4]);
        assert!(second.waits_for.iter().all(|edge| edge.compute.value.as_secs() == 10));
        let image = &page.objects[6];
        assert_eq!((image.path.as_str(), image.waits_for[0].object.0), ("/2/o/0001.png", 5));
    }

    #[test]
    fn names_round_trip() {
        for name in
            ["1x1B", "100x10KB", "50x1KiB", "3x2MB@2hosts", "3x2MB@2hosts+10s", "1x1B+1500ms"]
        {
            assert_eq!(parse(name).unwrap().page().name, format!("synthetic:{name}"));
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for bad in [
            "",
            "100",
            "0x1KB",
            "x1KB",
            "10x",
            "10x10",
            "10x1KB@4",
            "10x1KB@0hosts",
            "10x1KB+",
            "10x1KB+0s",
            "10x1KB+1h",
            "10x1KB+10s@4hosts",
        ] {
            let message = parse(bad).unwrap_err().to_string();
            assert!(message.contains("write `synthetic:100x10KB`"), "{message}");
        }
    }
}
