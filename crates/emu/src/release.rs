//! Departure of packets that are due, alone or together, and their lateness.

use std::fmt;
use std::time::Duration;

use units::BitsPerSec;

use crate::links::CrossedPacket;
use crate::superpacket::FrameSegment;
use crate::{AccessSide, EmulatedTopology};

/// Policy of handing packets to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Each packet alone, when it is due: the receiver sees what it would see on a wire. Good for some 100 Mbit/s.
    Exact,
    /// Neighbours of one superpacket that are due leave in one piece, as from a network card with receive offload (GRO).
    Coalesced {
        /// While packets flow, the emulator wakes at most this often, and releases packets due within half of it: packets are early or late by
        /// as much, but not on average. A packet alone leaves when it is due.
        quantum: Duration,
    },
}

impl Release {
    /// Above this rate packets are closer than a thread can wake.
    const FAST: BitsPerSec = BitsPerSec::mbit(300);
    /// Six packets at 300 Mbit/s.
    const QUANTUM: Duration = Duration::from_micros(250);
    /// Saves processor time at some 100 Mbit/s: takes less than a third of the time of single packets
    /// (`docs/emulation.md` has the figures), for packets that are at most 0.4 ms early or late.
    pub const THRIFTY: Release = Release::Coalesced { quantum: Duration::from_micros(750) };

    /// The release that suits a topology's rates: single packets if there is time for them.
    pub fn suiting(topology: &EmulatedTopology) -> Release {
        let fastest = AccessSide::BOTH.map(|from| topology.peak(from)).into_iter().max();
        match fastest {
            // Packets without serialisation time are due together anyway.
            Some(BitsPerSec::UNLIMITED) => Release::Coalesced { quantum: Duration::ZERO },
            Some(rate) if rate > Release::FAST => Release::Coalesced { quantum: Release::QUANTUM },
            _ => Release::Exact,
        }
    }

    /// Minimum interval between wake-ups while packets flow.
    pub(crate) fn quantum(self) -> Duration {
        match self {
            Release::Exact => Duration::ZERO,
            Release::Coalesced { quantum } => quantum,
        }
    }

    /// Maximum time by which a packet may leave before it is due.
    pub(crate) fn earliness(self) -> Duration {
        self.quantum() / 2
    }
}

/// Packets that leave in one piece.
#[derive(Default)]
pub(crate) struct Train {
    packets: Vec<CrossedPacket<FrameSegment>>,
}

impl Train {
    /// Returns true if `next` can leave together with the packets in the train.
    pub(crate) fn takes(&self, next: &CrossedPacket<FrameSegment>, release: Release) -> bool {
        let Some(last) = self.packets.last() else { return true };
        release != Release::Exact && last.marked == next.marked && last.body.precedes(&next.body)
    }

    pub(crate) fn push(&mut self, next: CrossedPacket<FrameSegment>) {
        self.packets.push(next);
    }

    pub(crate) fn packets(&self) -> &[CrossedPacket<FrameSegment>] {
        &self.packets
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
    }
}

// Lateness of packet delivery: a histogram of fixed size, and its quantiles. If a [`Release`](crate::Release) lets packets leave early,
// earliness counts as well.
//
// The histogram is log-linear, as in HdrHistogram: 32 steps to each power of two, so that a quantile is at most 1/32 too large.

/// Steps to a power of two, as a power of two.
const STEP_BITS: u32 = 5;
const STEPS: u64 = 1 << STEP_BITS;
/// Enough for any number of nanoseconds in 64 bits.
const BUCKETS: usize = ((64 - STEP_BITS as usize) + 1) << STEP_BITS;

/// Counts of packets by lateness.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    counts: Box<[u64]>,
    total: u64,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: vec![0; BUCKETS].into(), total: 0, max: Duration::ZERO }
    }
}

impl Lateness {
    /// Counts a packet that was late by `late`.
    pub(crate) fn add(&mut self, late: Duration) {
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos)] += 1;
        self.total += 1;
        self.max = self.max.max(late);
    }

    /// Median, 99th percentile and maximum.
    pub(crate) fn punctuality(&self) -> Punctuality {
        Punctuality {
            packets: self.total,
            p50: self.quantile(500),
            p99: self.quantile(990),
            max: self.max,
        }
    }

    /// Quantile: at least `per_mille` in a thousand packets were no later.
    fn quantile(&self, per_mille: u64) -> Duration {
        let rank = (self.total * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        let reached = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        reached.map_or(Duration::ZERO, |at| Duration::from_nanos(largest_in(at)).min(self.max))
    }
}

/// The bucket of a value: the value itself below [`STEPS`]; above, its highest bits and the number of bits below them.
fn bucket(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(STEP_BITS + 1);
    (u64::from(shift) * STEPS + (nanos >> shift)) as usize
}

/// The largest value in a bucket.
fn largest_in(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / STEPS).saturating_sub(1);
    let highest_bits = u128::from(bucket - shift * STEPS);
    (((highest_bits + 1) << shift) - 1) as u64
}

/// Quantiles of the lateness of packet delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    /// Number of packets delivered.
    pub packets: u64,
    /// Median.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// Maximum.
    pub max: Duration,
}

impl Punctuality {
    /// The largest `p99` of a valid emulation.
    pub const LIMIT: Duration = Duration::from_millis(1);
}

impl fmt::Display for Punctuality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |d: Duration| d.as_micros();
        write!(
            f,
            "late by {} us at the median, {} us at p99, {} us at worst",
            micros(self.p50),
            micros(self.p99),
            micros(self.max)
        )
    }
}

#[cfg(test)]
mod tests {
    use net::{LinkConfig, QueueLimit};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_fastest_direction_decides() {
        let link = |rate| LinkConfig::new(rate, Duration::ZERO, QueueLimit::Unlimited);
        let suiting = |up, down| Release::suiting(&EmulatedTopology::between(link(up), link(down)));
        let (slow, fast) = (BitsPerSec::mbit(10), BitsPerSec::mbit(1000));
        assert_eq!(suiting(slow, slow), Release::Exact);
        assert_eq!(suiting(slow, fast), Release::Coalesced { quantum: Release::QUANTUM });
        let free = suiting(BitsPerSec::UNLIMITED, slow);
        assert_eq!(free, Release::Coalesced { quantum: Duration::ZERO });
    }

    #[test]
    fn quantiles_are_right_to_a_thirty_second() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.punctuality(), Punctuality::default());
        (1..=1000).for_each(|micros| lateness.add(Duration::from_micros(micros)));
        let Punctuality { packets, p50, p99, max } = lateness.punctuality();
        assert!((500..516).contains(&p50.as_micros()), "{p50:?}");
        assert!((990..=1000).contains(&p99.as_micros()), "{p99:?}");
        assert_eq!(max, Duration::from_micros(1000));
        assert_eq!(packets, 1000);
    }

    #[test]
    fn one_outlier_in_a_hundred_is_no_p99() {
        let mut lateness = Lateness::default();
        (0..99).for_each(|_| lateness.add(Duration::from_micros(1)));
        lateness.add(Duration::from_secs(1));
        assert!(lateness.punctuality().p99 < Duration::from_micros(2));
        lateness.add(Duration::from_secs(1));
        assert_eq!(lateness.punctuality().p99, Duration::from_secs(1));
    }

    proptest! {
        #[test]
        fn every_value_has_its_bucket(bits in 0u32..64, noise: u64) {
            let value = noise >> bits;
            let at = bucket(value);
            prop_assert!(at < BUCKETS);
            prop_assert!(largest_in(at) >= value);
            prop_assert!(largest_in(at) - value <= value / STEPS);
            prop_assert!(at == 0 || largest_in(at - 1) < value);
        }
    }
}
