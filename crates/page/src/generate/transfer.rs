//! `download:512KiB`, `download:512KiB/5`, `upload:512KiB/5`: bytes over one or several connections, each of which
//! carries its share.
//!
//! Models a program that opens connections and moves bytes, without a page: all begin at once, and nothing waits for
//! anything. Each carries one HTTP/1.1 exchange with minimal heads. A server that sends as soon as it has accepted is
//! no faster: the request travels with the acknowledgement that completes the handshake.

use crate::{
    BodyCoding, BodySource, Error, HostId, Kind, Object, ObjectPriority, Page, PageHost,
    Provenance, SizeEstimate,
};

/// Maximum number of connections.
const MOST_CONNECTIONS: u64 = 100;
const MOST_BYTES: u64 = 1_000_000_000;
const EXAMPLE: &str = "`download:512KiB`, `download:512KiB/5` or `upload:512KiB/5`";
const HOST: &str = "transfer.test";

/// Direction of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransferDirection {
    Down,
    Up,
}

/// Bytes over connections.
struct Transfer {
    way: TransferDirection,
    bytes: u64,
    connections: u64,
}

/// The transfer called `spec`; `None` if that is not such a name.
pub(super) fn from_name(spec: &str) -> Result<Option<Page>, Error> {
    let (way, rest) = match spec.split_once(':') {
        Some(("download", rest)) => (TransferDirection::Down, rest),
        Some(("upload", rest)) => (TransferDirection::Up, rest),
        _ => return Ok(None),
    };
    let bad = |problem: String| Error::BadSpec { spec: spec.to_owned(), problem, example: EXAMPLE };
    let (size, connections) = rest.split_once('/').unwrap_or((rest, "1"));
    let bytes = units::parse::size_bytes(size).map_err(|error| bad(error.to_string()))?;
    let connections = connections.parse().ok().filter(|n| (1..=MOST_CONNECTIONS).contains(n));
    let connections = connections
        .ok_or_else(|| bad(format!("a transfer uses 1 to {MOST_CONNECTIONS} connections")))?;
    if !(connections..=MOST_BYTES).contains(&bytes) {
        return Err(bad(format!(
            "a transfer carries at least a byte per connection and at most {MOST_BYTES} bytes"
        )));
    }
    Ok(Some(Transfer { way, bytes, connections }.page(spec)))
}

impl Transfer {
    fn page(&self, name: &str) -> Page {
        let Transfer { way, bytes, connections } = self;
        let to = match way {
            TransferDirection::Down => "to",
            TransferDirection::Up => "from",
        };
        let host = PageHost {
            name: HOST.to_owned(),
            extra_rtt: SizeEstimate::default(),
            recorded_protocol: None,
            recorded_tls: false,
            ..PageHost::default()
        };
        Page {
            name: name.to_owned(),
            origin: format!(
                "generated: {bytes} bytes {to} the client over {connections} connection(s), all at once"
            ),
            hosts: vec![host],
            objects: (0..*connections).map(|index| self.exchange(index)).collect(),
            skipped: Vec::new(),
            cautions: Vec::new(),
            recorded_network: None,
            recording: None,
        }
    }

    /// Exchange of one connection: the first ones carry one byte more if shares are not whole.
    fn exchange(&self, index: u64) -> Object {
        let more = u64::from(index < self.bytes % self.connections);
        let share = self.bytes / self.connections + more;
        let (method, down, up) = match self.way {
            TransferDirection::Down => ("GET", share, 0),
            TransferDirection::Up => ("POST", 0, share),
        };
        let path = format!("/{}", index + 1);
        Object {
            url: format!("http://{HOST}{path}"),
            host: HostId(0),
            path,
            method: method.to_owned(),
            kind: Kind::Other,
            status: 200,
            request_header_bytes: 0,
            request_fields: Vec::new(),
            request_body_bytes: up,
            response_header_bytes: 0,
            header_provenance: Provenance::Measured,
            body_bytes: down,
            body_source: BodySource::Specified,
            coding: BodyCoding::Identity,
            think: SizeEstimate::default(),
            waits_for: Vec::new(),
            priority: ObjectPriority::Highest,
            blocks_load: true,
            blocks_render: false,
            cacheable: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(spec: &str) -> Page {
        let page = from_name(spec).unwrap().unwrap();
        page.check().unwrap();
        page
    }

    #[test]
    fn every_connection_has_its_share() {
        let page = page("download:16KiB/5");
        let shares: Vec<u64> = page.objects.iter().map(|object| object.body_bytes).collect();
        assert_eq!(shares, [3277, 3277, 3277, 3277, 3276]);
        assert_eq!(page.roots().count(), 5);
    }

    #[test]
    fn bytes_go_up_as_a_body_of_the_request() {
        let page = page("upload:1KB");
        let object = &page.objects[0];
        assert_eq!((object.method.as_str(), object.request_body_bytes), ("POST", 1000));
        assert_eq!(page.body_bytes(), 0);
    }

    #[test]
    fn says_what_is_wrong() {
        for bad in ["download:", "download:5", "download:1KB/0", "download:2B/3", "upload:1KB/x"] {
            let message = from_name(bad).unwrap_err().to_string();
            assert!(message.contains("download:512KiB/5"), "{message}");
        }
        assert!(from_name("transfer:1KB").unwrap().is_none());
    }
}
