//! The two forms of a trace: segments of constant rate, and opportunities.
//!
//! Arithmetic is exact: amounts are bits times nanoseconds per second ("nanobits") in 128 bits, so the end of a
//! packet does not depend on how often the link was polled.

use std::time::Duration;

use units::{BitsPerSec, Time};

/// A second in nanoseconds, and a bit in nanobits.
const GIGA: u128 = 1_000_000_000;

/// A list of rates.
#[derive(Clone, PartialEq)]
pub(crate) struct RateSegments {
    segments: Vec<RateSegment>,
    period: u64,
    /// Nanobits carried per round.
    total: u128,
    repeats: bool,
}

#[derive(Clone, Copy, PartialEq)]
struct RateSegment {
    /// Nanoseconds since the round began.
    starts: u64,
    rate: BitsPerSec,
    /// Nanobits carried before the segment.
    before: u128,
}

impl RateSegments {
    /// Creates segments from rates with their durations. Samples of no duration are left out.
    pub(crate) fn new(samples: &[(Duration, BitsPerSec)], repeats: bool) -> RateSegments {
        let (mut segments, mut period, mut total) = (Vec::new(), 0u64, 0u128);
        for (holds, rate) in samples.iter().filter(|(holds, _)| !holds.is_zero()) {
            segments.push(RateSegment { starts: period, rate: *rate, before: total });
            period = period.saturating_add(holds.as_nanos() as u64);
            total += holds.as_nanos() * u128::from(rate.0);
        }
        assert!(period > 0, "a reader accepts no trace that lasts for no time");
        RateSegments { segments, period, total, repeats }
    }

    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    pub(crate) fn mean(&self) -> BitsPerSec {
        let period = u128::from(self.period);
        BitsPerSec(((self.total + period / 2) / period) as u64)
    }

    pub(crate) fn peak(&self) -> BitsPerSec {
        self.segments.iter().map(|segment| segment.rate).max().unwrap_or(BitsPerSec(0))
    }

    pub(crate) fn capacity_bytes(&self, until: Time) -> u64 {
        (self.carried(until) / (8 * GIGA)) as u64
    }

    /// End of a packet whose service begins at `start`; `None`: never.
    pub(crate) fn ends(&self, start: Time, bytes: u32) -> Option<Time> {
        let target = self.carried(start) + u128::from(bytes) * 8 * GIGA;
        if self.total == 0 {
            return None;
        }
        // Whole rounds before it; a target reached exactly at a round's end lies in that round.
        let round = (target - 1) / self.total;
        if !self.repeats && round > 0 {
            return None;
        }
        let within = target - round * self.total;
        let index = self.segments.partition_point(|segment| segment.before < within) - 1;
        let segment = &self.segments[index];
        let rest = (within - segment.before).div_ceil(u128::from(segment.rate.0));
        let nanos = round * u128::from(self.period) + u128::from(segment.starts) + rest;
        u64::try_from(nanos).ok().map(Time::from_nanos)
    }

    /// Nanobits carried by `time` if the link was always busy.
    fn carried(&self, time: Time) -> u128 {
        let (mut round, mut within) =
            (time.as_nanos() / self.period, time.as_nanos() % self.period);
        if !self.repeats && round > 0 {
            (round, within) = (0, self.period);
        }
        let index = self.segments.partition_point(|segment| segment.starts <= within) - 1;
        let segment = &self.segments[index];
        let here = u128::from(within - segment.starts) * u128::from(segment.rate.0);
        u128::from(round) * self.total + segment.before + here
    }
}

// Instants at which a packet may leave: Mahimahi's packet-delivery trace.

/// Bytes per opportunity: `PACKET_SIZE` of Mahimahi's `link_queue.hh`.
const OPPORTUNITY_BYTES: u32 = 1504;
/// Bytes before the IP header in Mahimahi's packets: the packet information of a TUN device (`struct tun_pi`, which
/// `contents.size()` counts).
const TUN_HEADER_BYTES: u32 = 4;
/// IP bytes of an opportunity that a single packet uses.
const FULL_PACKET_BYTES: u64 = (OPPORTUNITY_BYTES - TUN_HEADER_BYTES) as u64;

/// A list of opportunities.
#[derive(Clone, PartialEq)]
pub(crate) struct Opportunities {
    /// Nanoseconds since the beginning, in order, duplicates allowed.
    at: Vec<u64>,
    /// The last instant: the next round's zero (`base_timestamp_ += schedule_.back()`).
    period: u64,
    repeats: bool,
    peak: BitsPerSec,
}

/// A link's position in its opportunities.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpportunityCursor {
    /// The last opportunity used, counted over all rounds.
    used: Option<u64>,
    /// Bytes left of it.
    left: u32,
}

impl Opportunities {
    /// Opportunities at these instants (nanoseconds, in order, the last not zero).
    pub(crate) fn new(at: Vec<u64>, repeats: bool) -> Opportunities {
        let period = at.last().copied().unwrap_or(0);
        assert!(period > 0, "a reader accepts no trace that lasts for no time");
        let mut opportunities = Opportunities { at, period, repeats, peak: BitsPerSec(0) };
        opportunities.peak = opportunities.fullest_second();
        opportunities
    }

    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    pub(crate) fn mean(&self) -> BitsPerSec {
        let bits = u128::from(self.at.len() as u64 * FULL_PACKET_BYTES * 8);
        let period = u128::from(self.period);
        BitsPerSec(((bits * 1_000_000_000 + period / 2) / period) as u64)
    }

    /// Rate of the fullest second.
    pub(crate) fn peak(&self) -> BitsPerSec {
        self.peak
    }

    /// No second has more opportunities than the fullest: anything that needs more than n of these takes longer than
    /// n - 1 s.
    pub(crate) fn least_time(&self, bytes: u64) -> Duration {
        let a_second = self.peak.0 / 8;
        let seconds = bytes.checked_div(a_second).unwrap_or_default();
        Duration::from_secs(seconds.saturating_sub(1))
    }

    pub(crate) fn capacity_bytes(&self, until: Time) -> u64 {
        self.first_after(until).unwrap_or(self.at.len() as u64) * FULL_PACKET_BYTES
    }

    /// Serves one packet that waits since `since`: returns when it leaves the queue and when its last byte is sent.
    /// An opportunity serves packets that wait already, not one that arrives at the same instant (`rationalize` runs
    /// before the packet is queued). `None`: never.
    pub(crate) fn serve(
        &self,
        cursor: &mut OpportunityCursor,
        since: Time,
        bytes: u32,
    ) -> Option<(Time, Time)> {
        let mut index = self.seek(cursor, since)?;
        let starts = self.instant(index);
        let mut rest = bytes + TUN_HEADER_BYTES;
        loop {
            let used = rest.min(cursor.left);
            rest -= used;
            cursor.left -= used;
            if rest == 0 {
                return Some((starts, self.instant(index)));
            }
            index = self.open(cursor, index + 1)?;
        }
    }

    /// Time at which a packet that waits since `since` would leave the queue.
    pub(crate) fn starts(&self, mut cursor: OpportunityCursor, since: Time) -> Option<Time> {
        Some(self.instant(self.seek(&mut cursor, since)?))
    }

    /// The first opportunity after `since` with bytes left.
    fn seek(&self, cursor: &mut OpportunityCursor, since: Time) -> Option<u64> {
        let first = self.first_after(since)?;
        match cursor.used {
            Some(used) if used >= first && cursor.left > 0 => Some(used),
            Some(used) if used >= first => self.open(cursor, used + 1),
            _ => self.open(cursor, first),
        }
    }

    fn open(&self, cursor: &mut OpportunityCursor, index: u64) -> Option<u64> {
        if !self.repeats && index >= self.at.len() as u64 {
            return None;
        }
        *cursor = OpportunityCursor { used: Some(index), left: OPPORTUNITY_BYTES };
        Some(index)
    }

    fn fullest_second(&self) -> BitsPerSec {
        let second = Duration::from_secs(1);
        let rounds = if self.repeats { 1 + 1_000_000_000u64.div_ceil(self.period) } else { 1 };
        let (mut first, mut most) = (0, 0);
        for index in 0..self.at.len() as u64 * rounds {
            while self.instant(index) - self.instant(first) >= second {
                first += 1;
            }
            most = most.max(index + 1 - first);
        }
        BitsPerSec(most * FULL_PACKET_BYTES * 8)
    }

    /// Number of the first opportunity later than `time`.
    fn first_after(&self, time: Time) -> Option<u64> {
        let nanos = time.as_nanos();
        let count = self.at.len() as u64;
        let (round, within) = (nanos / self.period, nanos % self.period);
        if !self.repeats && round > 0 {
            return None;
        }
        // The last opportunity of a round coincides with the zero of the next: a time on the seam lies behind both.
        let index = self.at.partition_point(|at| *at <= within) as u64;
        Some(round * count + index)
    }

    fn instant(&self, index: u64) -> Time {
        let count = self.at.len() as u64;
        let round = (index / count).saturating_mul(self.period);
        Time::from_nanos(round.saturating_add(self.at[(index % count) as usize]))
    }
}
