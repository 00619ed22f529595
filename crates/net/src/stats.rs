//! What a link did: the proof that it was what its configuration says.

use std::time::Duration;

use units::BitsPerSec;

/// Totals since the link was made. Bytes are those of IP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets handed to the link.
    pub offered_packets: u64,
    /// Bytes handed to the link.
    pub offered_bytes: u64,
    /// Packets taken out at the far end.
    pub delivered_packets: u64,
    /// Bytes taken out at the far end.
    pub delivered_bytes: u64,
    /// Packets dropped by random loss.
    pub lost_packets: u64,
    /// Packets dropped because the queue was full.
    pub queue_full_packets: u64,
    /// Packets dropped because they exceeded the MTU.
    pub too_big_packets: u64,
    /// Bytes dropped, for any cause.
    pub dropped_bytes: u64,
    /// Packets that had to wait for the serialiser.
    pub waited_packets: u64,
    /// The time that they waited, all together.
    pub waited: Duration,
    /// Service times of all accepted packets, also of those still to be served.
    pub busy: Duration,
    /// The most packets that waited at once (the one in service not counted).
    pub max_queue_packets: u64,
    /// The most bytes that waited at once.
    pub max_queue_bytes: u64,
}

impl LinkStats {
    /// Packets dropped, for any cause.
    pub fn dropped_packets(&self) -> u64 {
        self.lost_packets + self.queue_full_packets + self.too_big_packets
    }

    /// The rate at which accepted bytes were served while the serialiser was busy: it equals the
    /// configured rate if the link is what it claims to be. `None` before the first service, and on
    /// a link without a rate limit.
    pub fn service_rate(&self) -> Option<BitsPerSec> {
        let bits = u128::from(self.offered_bytes - self.dropped_bytes) * 8;
        let nanos = self.busy.as_nanos();
        (nanos > 0).then(|| BitsPerSec(((bits * 1_000_000_000 + nanos / 2) / nanos) as u64))
    }
}
