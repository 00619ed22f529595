//! Timeline of one object, recorded as it happens, and the digests of received bodies.

use std::cell::RefCell;

use page::Object;
use record::{ObjectRecord, Phases};
use units::Time;

/// Timing of a connection that was opened for a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionTimes {
    pub(crate) started: Time,
    /// Time at which the address was known.
    pub(crate) resolved: Time,
    pub(crate) connected: Time,
    pub(crate) secured: Time,
}

/// The instants of one object's load, each of them `None` until it has come.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) discovered: Time,
    /// The object whose arrival led to the discovery, and when it had arrived.
    pub(crate) revealed: Option<(usize, Time)>,
    pub(crate) assigned: Option<Time>,
    pub(crate) opened: Option<ConnectionTimes>,
    pub(crate) sent: Option<Time>,
    pub(crate) head: Option<Time>,
    pub(crate) ended: Option<Time>,
    pub(crate) done: Option<Time>,
    pub(crate) protocol: &'static str,
    pub(crate) connection: Option<u32>,
    pub(crate) status: u16,
    pub(crate) request_head_bytes: u64,
    pub(crate) request_body_bytes: u64,
    pub(crate) response_head_bytes: u64,
    pub(crate) body_bytes: u64,
    pub(crate) error: Option<String>,
}

impl Timeline {
    pub(crate) fn new(discovered: Time, revealed: Option<(usize, Time)>) -> Timeline {
        Timeline {
            discovered,
            revealed,
            assigned: None,
            opened: None,
            sent: None,
            head: None,
            ended: None,
            done: None,
            protocol: "",
            connection: None,
            status: 0,
            request_head_bytes: 0,
            request_body_bytes: 0,
            response_head_bytes: 0,
            body_bytes: 0,
            error: None,
        }
    }

    /// Forgets a failed attempt; its time counts as blocked.
    pub(crate) fn start_over(&mut self) {
        *self = Timeline::new(self.discovered, self.revealed);
    }

    /// Breakdown of the time from discovery to `end`. The spans sum to exactly that: events before the object was
    /// requested (a connection opened for another) are not its own.
    fn phases(&self, end: Time) -> Phases {
        let ns = |from: Time, to: Time| to.since(from).as_nanos() as u64;
        let assigned = self.assigned.unwrap_or(end).min(end);
        let [dns_ns, connect_ns, tls_ns] = self.opened.map_or([0; 3], |opened| {
            let started = opened.started.max(self.discovered);
            let resolved = opened.resolved.max(started);
            let connected = opened.connected.max(resolved);
            let secured = opened.secured.max(connected);
            [ns(started, resolved), ns(resolved, connected), ns(connected, secured)]
        });
        let sent = self.sent.unwrap_or(end).min(end);
        let head = self.head.unwrap_or(end).min(end);
        Phases {
            blocked_ns: ns(self.discovered, assigned).saturating_sub(dns_ns + connect_ns + tls_ns),
            dns_ns,
            connect_ns,
            tls_ns,
            send_ns: ns(assigned, sent),
            wait_ns: ns(sent, head),
            receive_ns: ns(head, end),
        }
    }

    /// The record, at the end of the visit.
    pub(crate) fn record(&self, index: usize, object: &Object, now: Time) -> ObjectRecord {
        let end = self.ended.unwrap_or(now);
        ObjectRecord {
            object: index as u32,
            url: object.url.clone(),
            method: object.method.clone(),
            kind: format!("{:?}", object.kind),
            status: self.status,
            protocol: self.protocol.to_owned(),
            connection: self.connection,
            reused: self.connection.is_some() && self.opened.is_none(),
            discovered_at_ns: self.discovered.as_nanos(),
            revealed_by: self.revealed.map(|(object, _)| object as u32),
            revealed_at_ns: self.revealed.map(|(_, at)| at.as_nanos()),
            phases: self.phases(end),
            done_at_ns: self.done.unwrap_or(end).as_nanos(),
            request_header_bytes: self.request_head_bytes,
            request_body_bytes: self.request_body_bytes,
            response_header_bytes: self.response_head_bytes,
            body_bytes: self.body_bytes,
            priority: format!("{:?}", object.priority),
            blocks_render: object.blocks_render,
            error: self.failure(),
        }
    }

    fn failure(&self) -> Option<String> {
        let unfinished = self.ended.is_none().then(|| "the visit ended before it did".to_owned());
        self.error.clone().or(unfinished)
    }
}

// Digests of received bodies: to check that two ways of carrying a page carried the same bytes.
//
// Nothing is digested by default ([`Browser::with_bodies`](crate::Browser::with_bodies)): it costs more than a
// simulated load.

/// One response's body as received by the loader, decoded from any transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyTiming {
    /// Navigation start of the visit that it belongs to.
    pub visit: Time,
    /// Index in the page.
    pub object: u32,
    /// Length of the body.
    pub bytes: u64,
    /// BLAKE3 digest of the body.
    pub digest: [u8; 32],
}

/// The bodies that arrived completely, in the order of their ends. Cache hits did not arrive.
#[derive(Debug, Default)]
pub struct Bodies(RefCell<Vec<BodyTiming>>);

impl Bodies {
    /// All so far.
    pub fn all(&self) -> Vec<BodyTiming> {
        self.0.borrow().clone()
    }

    pub(crate) fn keep(&self, body: BodyTiming) {
        self.0.borrow_mut().push(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_sum_to_the_time_from_discovery_to_the_end() {
        let ms = Time::from_millis;
        let mut timeline = Timeline::new(ms(10), None);
        let (started, resolved, connected, secured) = (ms(5), ms(15), ms(55), ms(105));
        timeline.opened = Some(ConnectionTimes { started, resolved, connected, secured });
        timeline.assigned = Some(ms(120));
        timeline.sent = Some(ms(121));
        timeline.head = Some(ms(200));
        let phases = timeline.phases(ms(230));
        assert_eq!(phases.total_ns(), 220_000_000);
        assert_eq!(phases.dns_ns, 5_000_000);
        assert_eq!(phases.connect_ns, 40_000_000);
        assert_eq!(phases.tls_ns, 50_000_000);
        assert_eq!(phases.blocked_ns, 15_000_000);
        assert_eq!(phases.receive_ns, 30_000_000);
    }
}
