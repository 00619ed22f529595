//! Head-of-line blocking on pipelined connections, derived from a visit's objects.
//!
//! HTTP/1.1 answers in the order of requests (RFC 9112 section 9.3.2), so a response waits until all in front of it
//! are complete, even if it is ready. The time reported is the part of an object's `wait` during which a response in
//! front of it was incomplete: an upper bound on the cost of pipelining, since the response would have taken some of that time
//! anyway. Multiplexing protocols have no such order, and a connection that carries one request at a time has nothing
//! in front. Blocking within TCP behind a lost packet is not visible here.

use std::collections::BTreeMap;

use crate::ObjectRecord;

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
