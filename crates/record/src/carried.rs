//! What a performance enhancing proxy carried during a visit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the near end of a PEP did: connections, payload, and what split HTTP made of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Connections that were split.
    pub split: u64,
    /// Connections that went past it, as a rule says.
    pub bypassed: u64,
    /// Connections that went past it for want of a far end.
    pub failed_open: u64,
    /// Split connections and answers that broke off.
    pub broken: u64,
    /// Payload of split connections that was handed to the leg.
    pub sent_bytes: u64,
    /// Payload that came by the leg: of split connections, and of answers.
    pub received_bytes: u64,
    /// Requests that were trapped and answered.
    pub fetched: u64,
    /// Those of them whose answer had been sent unasked.
    pub answered_early: u64,
    /// Objects that the far end sent unasked.
    pub promised: u64,
    /// Those of them that nobody asked for in time.
    pub wasted: u64,
    /// An estimate of the round trips that nobody waited for, in milliseconds, summed over connections.
    pub saved_ms: u64,
}

impl Carried {
    /// What was done since it was `before`.
    #[must_use]
    pub fn since(&self, before: &Carried) -> Carried {
        let (mut since, before) = (*self, before.counts());
        for ((_, count), (_, before)) in since.counts_mut().into_iter().zip(before) {
            *count = count.saturating_sub(before);
        }
        since
    }

    /// What the detail of an [event](crate::EventKind::Pep) says; `None` if it is none of these.
    pub fn read(detail: &str) -> Option<Carried> {
        let mut carried = Carried::default();
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

impl fmt::Display for Carried {
    /// As it is [read](Carried::read).
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
        let mut carried = Carried { split: 6, received_bytes: 12_345, ..Carried::default() };
        let text = "split 6, bypassed 0, failed-open 0, broken 0, sent-bytes 0, received-bytes 12345, fetched 0, answered-early 0, promised 0, wasted 0, saved-ms 0";
        assert_eq!(carried.to_string(), text);
        assert_eq!(Carried::read(text), Some(carried));
        assert_eq!(Carried::read("split 6"), None);
        assert_eq!(Carried::read(&format!("{text}, more 1")), None);
        let before = carried;
        carried.split = 8;
        assert_eq!(carried.since(&before), Carried { split: 2, ..Carried::default() });
    }
}
