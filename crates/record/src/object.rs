//! Timing and sizes of one object, and its wait behind others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One request as seen by the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Index in the page.
    pub object: u32,
    /// The full URL.
    pub url: String,
    /// `GET`, ...
    pub method: String,
    /// Kind of response, spelt as the page's `Kind` (`Document`, `Image`, ...).
    pub kind: String,
    /// HTTP status received; 0 if none was.
    pub status: u16,
    /// `h1`, `h2`, ...; `cache` if the browser's cache answered.
    pub protocol: String,
    /// Connection that carried it, as an index into the visit's connections.
    pub connection: Option<u32>,
    /// True if that connection had been opened for an earlier object.
    pub reused: bool,
    /// Time at which the client discovered the object.
    pub discovered_at_ns: u64,
    /// Object whose arrival led to the discovery, as an index in the page; `None`: the page's first, unknown, or
    /// no longer needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revealed_by: Option<u32>,
    /// Time at which the bytes of that object that led to it had arrived; the client's compute follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revealed_at_ns: Option<u64>,
    /// Breakdown of the time from discovery to the last byte.
    pub phases: Phases,
    /// Time at which the client's work on it (parsing, decoding, running) was done.
    pub done_at_ns: u64,
    /// Request head as it crossed the wire, before TLS.
    pub request_header_bytes: u64,
    /// Request body.
    pub request_body_bytes: u64,
    /// Response head as it crossed the wire, before TLS.
    pub response_header_bytes: u64,
    /// Response body as it crossed the wire, before TLS.
    pub body_bytes: u64,
    /// Request priority (`Highest` ... `Lowest`).
    pub priority: String,
    /// True if the object blocks the first paint.
    #[serde(default)]
    pub blocks_render: bool,
    /// Error message, if the request failed.
    pub error: Option<String>,
}

/// Consecutive spans that sum to the time from discovery to the last byte.
///
/// `connect` is TCP alone; `tls` follows it (HAR's `connect` is their sum). The first four lie before
/// the request; `dns`, `connect` and `tls` are zero on a reused connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Waiting for a connection or for the browser's scheduler.
    pub blocked_ns: u64,
    /// Resolving the name.
    pub dns_ns: u64,
    /// TCP handshake.
    pub connect_ns: u64,
    /// TLS handshake.
    pub tls_ns: u64,
    /// Handing the request to the transport.
    pub send_ns: u64,
    /// Waiting for the first byte of the response, after the request was handed over.
    pub wait_ns: u64,
    /// From the first byte to the last.
    pub receive_ns: u64,
}

impl Phases {
    /// Time from discovery to the last byte.
    pub fn total_ns(&self) -> u64 {
        self.blocked_ns
            + self.dns_ns
            + self.connect_ns
            + self.tls_ns
            + self.send_ns
            + self.wait_ns
            + self.receive_ns
    }
}

// Head-of-line blocking on pipelined connections, derived from a visit's objects.
//
// HTTP/1.1 answers in the order of requests (RFC 9112 section 9.3.2), so a response waits until all in front of it
// are complete, even if it is ready. The time reported is the part of an object's `wait` during which a response in
// front of it was incomplete: an upper bound on the cost of pipelining, since the response would have taken some of that time
// anyway. Multiplexing protocols have no such order, and a connection that carries one request at a time has nothing
// in front. Blocking within TCP behind a lost packet is not visible here.

/// Time (ns) that each object waited behind others on its connection, in the order of `objects`.
pub fn waited_behind(objects: &[ObjectRecord]) -> Vec<u64> {
    let mut behind = vec![0; objects.len()];
    let in_order = |(_, object): &(usize, &ObjectRecord)| object.protocol == "h1";
    let mut connections: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, object) in objects.iter().enumerate().filter(in_order) {
        if let (Some(connection), None) = (object.connection, &object.error) {
            connections.entry(connection).or_default().push(index);
        }
    }
    for mut requests in connections.into_values() {
        requests.sort_by_key(|index| sent_at(&objects[*index]));
        let mut whole = 0;
        for index in requests {
            let object = &objects[index];
            let (sent, answered) = (sent_at(object), sent_at(object) + object.phases.wait_ns);
            behind[index] = whole.min(answered).saturating_sub(sent);
            whole = whole.max(answered + object.phases.receive_ns);
        }
    }
    behind
}

/// Instant at which the request had been handed to the transport.
fn sent_at(object: &ObjectRecord) -> u64 {
    let phases = &object.phases;
    object.discovered_at_ns + phases.total_ns() - phases.wait_ns - phases.receive_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phases;

    fn object(connection: u32, sent: u64, wait_ns: u64, receive_ns: u64) -> ObjectRecord {
        ObjectRecord {
            object: 0,
            url: String::new(),
            method: "GET".to_owned(),
            kind: "Image".to_owned(),
            status: 200,
            protocol: "h1".to_owned(),
            connection: Some(connection),
            reused: true,
            discovered_at_ns: 0,
            revealed_by: None,
            revealed_at_ns: None,
            phases: Phases { blocked_ns: sent, wait_ns, receive_ns, ..Phases::default() },
            done_at_ns: 0,
            request_header_bytes: 0,
            request_body_bytes: 0,
            response_header_bytes: 0,
            body_bytes: 0,
            priority: "Low".to_owned(),
            blocks_render: false,
            error: None,
        }
    }

    #[test]
    fn a_response_waits_for_those_that_were_asked_for_before() {
        // Requested at 10, 11 and 50; the first completes at 110, the second at 115; the third waits for it from 50
        // on.
        let mut objects = [
            object(0, 10, 90, 10),
            object(0, 50, 70, 5),
            object(0, 11, 99, 5),
            object(1, 12, 90, 1),
        ];
        assert_eq!(waited_behind(&objects), [0, 65, 99, 0]);
        // One request at a time.
        objects[1] = object(0, 120, 60, 5);
        assert_eq!(waited_behind(&objects), [0, 0, 99, 0]);
        for object in &mut objects {
            object.protocol = "h2".to_owned();
        }
        assert_eq!(waited_behind(&objects), [0; 4]);
    }
}
