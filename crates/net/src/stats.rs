//! Statistics of a link, which prove that it matches its configuration.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::BitsPerSec;

use crate::DropCause;

/// Totals since the link was created. Bytes are those of IP packets.
///
/// At any time `offered + duplicated = delivered + dropped + in flight`, in packets and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStats {
    /// Packets offered to the link.
    pub offered_packets: u64,
    /// Bytes offered to the link.
    pub offered_bytes: u64,
    /// Copies made by the link.
    pub duplicated_packets: u64,
    /// Bytes of these copies.
    pub duplicated_bytes: u64,
    /// Packets taken out at the far end.
    pub delivered_packets: u64,
    /// Bytes taken out at the far end.
    pub delivered_bytes: u64,
    /// Packets dropped by random or listed loss, or by handovers without forwarding.
    pub lost_packets: u64,
    /// Packets dropped because the queue was full.
    pub queue_full_packets: u64,
    /// Packets dropped by queue management before the queue was full.
    pub managed_packets: u64,
    /// Packets dropped because they exceeded the MTU.
    pub too_big_packets: u64,
    /// Bytes dropped, for any cause.
    pub dropped_bytes: u64,
    /// Packets marked with ECN.
    pub marked_packets: u64,
    /// Packets that arrived after one that had entered later (RFC 4737 section 4).
    pub reordered_packets: u64,
    /// Packets served, or certain to be.
    pub served_packets: u64,
    /// Bytes of these.
    pub served_bytes: u64,
    /// Total service time of these.
    pub busy: Nanos,
    /// Packets that had to wait for the serialiser.
    pub waited_packets: u64,
    /// Queueing times of served packets.
    pub waited: DelaySpread,
    /// End-to-end times of served packets without queueing: service, propagation, jitter.
    pub unqueued: DelaySpread,
    /// Their total end-to-end times.
    pub one_way: DelaySpread,
    /// Maximum number of packets waiting at once (without the one in service).
    pub max_queue_packets: u64,
    /// Maximum number of bytes waiting at once.
    pub max_queue_bytes: u64,
}

/// A sum of nanoseconds, which saturates at 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The sum as a duration.
    pub fn span(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

/// Summary of a time: minimum, maximum and total, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelaySpread {
    total: u64,
    /// Minimum; `u64::MAX` if there was none.
    least: u64,
    most: u64,
}

impl Default for DelaySpread {
    fn default() -> DelaySpread {
        DelaySpread { total: 0, least: u64::MAX, most: 0 }
    }
}

impl DelaySpread {
    /// Total.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.total)
    }

    /// Minimum; zero if there was none.
    pub fn least(&self) -> Duration {
        Duration::from_nanos(if self.least == u64::MAX { 0 } else { self.least })
    }

    /// Maximum.
    pub fn most(&self) -> Duration {
        Duration::from_nanos(self.most)
    }

    #[inline]
    fn add(&mut self, nanos: u64) {
        self.total = self.total.saturating_add(nanos);
        self.least = self.least.min(nanos);
        self.most = self.most.max(nanos);
    }
}

impl LinkStats {
    /// Packets dropped, for any cause.
    pub fn dropped_packets(&self) -> u64 {
        self.lost_packets + self.queue_full_packets + self.managed_packets + self.too_big_packets
    }

    /// Rate at which bytes were served while the serialiser was busy: it equals the configured rate if the link is
    /// correct and its users' channels are perfect. `None` before the first service, and on an unlimited link. With a
    /// trace of opportunities, waiting for the first one counts as queueing.
    pub fn service_rate(&self) -> Option<BitsPerSec> {
        let bits = u128::from(self.served_bytes) * 8;
        let nanos = u128::from(self.busy.0);
        (nanos > 0).then(|| BitsPerSec(((bits * 1_000_000_000 + nanos / 2) / nanos) as u64))
    }

    /// Mean of one of the spreads over all served packets.
    pub fn mean(&self, spread: &DelaySpread) -> Option<Duration> {
        (self.served_packets > 0).then(|| Duration::from_nanos(spread.total / self.served_packets))
    }

    #[inline]
    pub(crate) fn offer(&mut self, bytes: u32) {
        self.offered_packets += 1;
        self.offered_bytes += u64::from(bytes);
    }

    pub(crate) fn duplicate(&mut self, bytes: u32) {
        self.duplicated_packets += 1;
        self.duplicated_bytes += u64::from(bytes);
    }

    pub(crate) fn drop_packet(&mut self, bytes: u32, cause: DropCause) {
        self.dropped_bytes += u64::from(bytes);
        match cause {
            DropCause::Loss => self.lost_packets += 1,
            DropCause::QueueFull => self.queue_full_packets += 1,
            DropCause::Managed => self.managed_packets += 1,
            DropCause::TooBig => self.too_big_packets += 1,
        }
    }

    /// Counts a served packet: its waiting time, its service time and its total time on the link, in nanoseconds.
    #[inline]
    pub(crate) fn serve(&mut self, bytes: u32, waited: u64, service: u64, all: u64) {
        self.served_packets += 1;
        self.served_bytes += u64::from(bytes);
        self.busy.0 = self.busy.0.saturating_add(service);
        self.waited_packets += u64::from(waited > 0);
        self.waited.add(waited);
        self.unqueued.add(all - waited);
        self.one_way.add(all);
    }

    #[inline]
    pub(crate) fn deliver(&mut self, bytes: u32) {
        self.delivered_packets += 1;
        self.delivered_bytes += u64::from(bytes);
    }
}
