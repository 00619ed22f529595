//! What one direction of an emulated or simulated path is: losses by number, then a link.

use std::collections::BTreeSet;

use net::{DropCause, Link, LinkConfig, Packet, Verdict};
use units::Time;

/// Drops data packets by their number at the entrance of a link, counted from 1; retransmissions count too.
#[derive(Clone, Debug, Default)]
pub struct Drops {
    numbers: BTreeSet<u64>,
    seen: u64,
}

impl Drops {
    /// Drops the packets with these numbers.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Drops {
        Drops { numbers: numbers.into_iter().collect(), seen: 0 }
    }

    /// Whether the next packet is dropped; those without payload are neither counted nor dropped.
    fn strikes(&mut self, payload_bytes: usize) -> bool {
        self.seen += u64::from(payload_bytes > 0);
        payload_bytes > 0 && self.numbers.contains(&self.seen)
    }
}

/// One direction of a path; see [`Link`], whose verbs it has.
pub struct Path<P> {
    drops: Drops,
    link: Link<P>,
}

impl<P: Clone + Send + 'static> Path<P> {
    /// A path over an idle link. Random losses and jitter are drawn from streams named after `direction`.
    pub fn new(direction: &str, config: LinkConfig, drops: Drops) -> Path<P> {
        Path { drops, link: Link::new(config, &chance::Source::new(0, 0), direction) }
    }

    /// A packet of `wire_bytes`, of which `payload_bytes` are data, enters.
    pub fn handle(
        &mut self,
        now: Time,
        wire_bytes: usize,
        payload_bytes: usize,
        body: P,
    ) -> Verdict {
        if self.drops.strikes(payload_bytes) {
            return Verdict::Dropped(DropCause::Loss);
        }
        self.link.handle(now, Packet::new(wire_bytes as u32), body)
    }

    /// The next packet that has arrived at the far end.
    pub fn poll(&mut self, now: Time) -> Option<P> {
        self.link.poll(now).map(|packet| packet.body)
    }

    /// When to poll next.
    pub fn deadline(&self) -> Option<Time> {
        self.link.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_count_data_alone() {
        let mut drops = Drops::of([2, 4]);
        let struck: Vec<bool> =
            [10, 0, 10, 10, 0, 10].into_iter().map(|bytes| drops.strikes(bytes)).collect();
        assert_eq!(struck, [false, false, true, false, false, true]);
    }
}
