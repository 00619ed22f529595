//! One transport connection, as counted by both of its ends, and the traffic of a performance enhancing proxy (PEP).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A transport connection over its whole life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// Host name that was connected to.
    pub host: String,
    /// Protocol spoken: `h1`, `h2`, ...
    pub protocol: String,
    /// `none`, `tls12`, `tls13`, or a modelled version: `modelled tls10`.
    pub tls: String,
    /// Time of the first SYN.
    pub opened_at_ns: u64,
    /// Time at which the client completed the transport handshake.
    pub connected_at_ns: Option<u64>,
    /// Time at which the client completed the TLS handshake.
    pub secured_at_ns: Option<u64>,
    /// Time of closing, if within the visit.
    pub closed_at_ns: Option<u64>,
    /// Requests carried.
    pub requests: u32,
    /// Payload bytes the client sent, TLS included.
    pub bytes_up: u64,
    /// Payload bytes the client received, TLS included.
    pub bytes_down: u64,
    /// Segments the server retransmitted; `None` if unknown.
    pub retransmits_down: Option<u32>,
    /// Segments the client retransmitted; `None` if unknown.
    pub retransmits_up: Option<u32>,
    /// Retransmission timeouts of the server.
    pub timeouts_down: u32,
    /// The server's smoothed RTT at the end.
    pub srtt_down_ns: u64,
    /// The server's congestion window at the end, in segments.
    pub cwnd_down: u32,
    /// Time the server had data to send or in flight.
    pub busy_ns: u64,
    /// Part of `busy_ns` during which a flow-control window (TCP's or HTTP's) limited the server.
    pub flow_limited_ns: u64,
}

impl ConnectionRecord {
    /// Segments retransmitted by either end; `None` unless both counts are known.
    pub fn retransmits(&self) -> Option<u64> {
        Some(u64::from(self.retransmits_down?) + u64::from(self.retransmits_up?))
    }

    /// Returns true if flow control limited the connection for over 1 % of its busy time, which a result must
    /// mention.
    pub fn is_flow_limited(&self) -> bool {
        self.flow_limited_ns.saturating_mul(100) > self.busy_ns
    }
}

/// Counters of a PEP's near end: connections, payload, and requests handled by split HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PepCounters {
    /// Split connections.
    pub split: u64,
    /// Connections bypassed by rule.
    pub bypassed: u64,
    /// Connections bypassed for want of a far end.
    pub failed_open: u64,
    /// Split connections and responses that were aborted.
    pub broken: u64,
    /// Payload of split connections that was handed to the leg.
    pub sent_bytes: u64,
    /// Payload received over the leg: of split connections, and of responses.
    pub received_bytes: u64,
    /// Requests that were intercepted and answered.
    pub fetched: u64,
    /// Part of `fetched` whose responses had been pushed in advance.
    pub answered_early: u64,
    /// Objects that the far end pushed.
    pub promised: u64,
    /// Part of `promised` that was not requested in time.
    pub wasted: u64,
    /// Estimated round trips avoided, in milliseconds, summed over connections.
    pub saved_ms: u64,
}

impl PepCounters {
    /// Difference from the earlier state `before`.
    #[must_use]
    pub fn since(&self, before: &PepCounters) -> PepCounters {
        let (mut since, before) = (*self, before.counts());
        for ((_, count), (_, before)) in since.counts_mut().into_iter().zip(before) {
            *count = count.saturating_sub(before);
        }
        since
    }

    /// Parses the detail of an [event](crate::EventKind::Pep); `None` if it has another form.
    pub fn read(detail: &str) -> Option<PepCounters> {
        let mut carried = PepCounters::default();
        let mut items = detail.split(SEPARATOR);
        for (name, count) in carried.counts_mut() {
            *count = items.next()?.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()?;
        }
        items.next().is_none().then_some(carried)
    }

    fn counts(&self) -> [(&'static str, u64); 11] {
        let mut copy = *self;
        copy.counts_mut().map(|(name, count)| (name, *count))
    }

    fn counts_mut(&mut self) -> [(&'static str, &mut u64); 11] {
        [
            ("split", &mut self.split),
            ("bypassed", &mut self.bypassed),
            ("failed-open", &mut self.failed_open),
            ("broken", &mut self.broken),
            ("sent-bytes", &mut self.sent_bytes),
            ("received-bytes", &mut self.received_bytes),
            ("fetched", &mut self.fetched),
            ("answered-early", &mut self.answered_early),
            ("promised", &mut self.promised),
            ("wasted", &mut self.wasted),
            ("saved-ms", &mut self.saved_ms),
        ]
    }
}

const SEPARATOR: &str = ", ";

impl fmt::Display for PepCounters {
    /// In the form that [`read`](Carried::read) parses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, count)) in self.counts().into_iter().enumerate() {
            let separator = if index == 0 { "" } else { SEPARATOR };
            write!(f, "{separator}{name} {count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut carried =
            PepCounters { split: 6, received_bytes: 12_345, ..PepCounters::default() };
        let text = "split 6, bypassed 0, failed-open 0, broken 0, sent-bytes 0, received-bytes 12345, fetched 0, answered-early 0, promised 0, wasted 0, saved-ms 0";
        assert_eq!(carried.to_string(), text);
        assert_eq!(PepCounters::read(text), Some(carried));
        assert_eq!(PepCounters::read("split 6"), None);
        assert_eq!(PepCounters::read(&format!("{text}, more 1")), None);
        let before = carried;
        carried.split = 8;
        assert_eq!(carried.since(&before), PepCounters { split: 2, ..PepCounters::default() });
    }
}
