//! A link that also drops data packets by number: losses at the same place of a flow, in an emulation and in a simulation.

use std::collections::BTreeSet;

use net::{Admission, Delivered, DropCause, DroppedPacket, Link, LinkConfig, LinkStats, Packet};
use units::Time;

/// Drops data packets by their number at the entrance of a link, counted from 1; retransmissions count too.
#[derive(Clone, Debug, Default)]
pub struct ListedDrops {
    numbers: BTreeSet<u64>,
    seen: u64,
}

impl ListedDrops {
    /// Drops the packets with these numbers.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> ListedDrops {
        ListedDrops { numbers: numbers.into_iter().collect(), seen: 0 }
    }

    /// Returns true if the next packet is dropped; packets without payload are neither counted nor dropped.
    fn drops_next(&mut self, payload_bytes: usize) -> bool {
        if payload_bytes == 0 || self.numbers.is_empty() {
            return false;
        }
        self.seen += 1;
        self.numbers.contains(&self.seen)
    }
}

/// Drops, then a [`Link`], with the same methods.
pub struct DroppingLink<P> {
    drops: ListedDrops,
    injected: LinkStats,
    link: Link<P>,
}

impl<P: Clone + Send + 'static> DroppingLink<P> {
    /// A path over an idle link. Random losses and jitter are drawn from streams named after `name`.
    pub fn new(
        name: &str,
        config: LinkConfig,
        drops: ListedDrops,
        source: &chance::RandomSource,
    ) -> DroppingLink<P> {
        DroppingLink {
            drops,
            injected: LinkStats::default(),
            link: Link::new(config, source, name),
        }
    }

    /// A packet with `payload_bytes` of data enters.
    pub fn handle(
        &mut self,
        now: Time,
        packet: Packet,
        payload_bytes: usize,
        body: P,
    ) -> Admission {
        if self.drops.drops_next(payload_bytes) {
            self.injected.lost_packets += 1;
            self.injected.dropped_bytes += u64::from(packet.wire_bytes);
            return Admission::Dropped(DropCause::Loss);
        }
        self.link.handle(now, packet, body)
    }

    /// The next packet that has arrived at the far end.
    pub fn poll(&mut self, now: Time) -> Option<Delivered<P>> {
        self.link.poll(now)
    }

    /// Time of the next poll.
    pub fn deadline(&self) -> Option<Time> {
        self.link.deadline()
    }

    /// The next packet that was accepted and then dropped.
    pub fn poll_dropped(&mut self) -> Option<DroppedPacket<P>> {
        self.link.poll_dropped()
    }

    /// Packets that were accepted and have neither been polled nor dropped.
    pub fn in_flight(&self) -> usize {
        self.link.in_flight()
    }

    /// Periods during which packets waited or were in service.
    pub fn busy_periods(&self) -> &[(Time, Time)] {
        self.link.busy_periods()
    }

    /// Totals so far; listed drops count as lost.
    pub fn stats(&self) -> LinkStats {
        let mut stats = *self.link.stats();
        stats.offered_packets += self.injected.lost_packets;
        stats.offered_bytes += self.injected.dropped_bytes;
        stats.lost_packets += self.injected.lost_packets;
        stats.dropped_bytes += self.injected.dropped_bytes;
        stats
    }
}

#[cfg(test)]
mod tests {
    use net::QueueLimit;
    use units::BitsPerSec;

    use super::*;

    #[test]
    fn drops_count_data_alone() {
        let mut drops = ListedDrops::of([2, 4]);
        let dropped: Vec<bool> =
            [10, 0, 10, 10, 0, 10].into_iter().map(|bytes| drops.drops_next(bytes)).collect();
        assert_eq!(dropped, [false, false, true, false, false, true]);
    }

    #[test]
    fn listed_drops_are_in_the_account() {
        let config =
            LinkConfig::new(BitsPerSec::mbit(1), std::time::Duration::ZERO, QueueLimit::Unlimited);
        let mut path =
            DroppingLink::new("up", config, ListedDrops::of([2]), &chance::RandomSource::new(0, 0));
        for _ in 0..3 {
            let _ = path.handle(Time::ZERO, Packet::new(100), 60, ());
        }
        let stats = path.stats();
        assert_eq!((stats.offered_packets, stats.lost_packets, path.in_flight()), (3, 1, 2));
        assert_eq!((stats.offered_bytes, stats.dropped_bytes), (300, 100));
    }
}
