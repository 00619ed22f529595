//! Segments of constant rate: a trace of samples.
//!
//! Arithmetic is exact: amounts are bits times nanoseconds per second ("nanobits") in 128 bits, so the end of a
//! packet does not depend on how often the link was polled.

use std::time::Duration;

use units::{BitsPerSec, Time};

/// A second in nanoseconds, and a bit in nanobits.
const GIGA: u128 = 1_000_000_000;

/// A list of rates.
#[derive(Clone, PartialEq)]
pub(crate) struct Segments {
    segments: Vec<Segment>,
    period: u64,
    /// Nanobits carried per round.
    total: u128,
    repeats: bool,
}

#[derive(Clone, Copy, PartialEq)]
struct Segment {
    /// Nanoseconds since the round began.
    starts: u64,
    rate: BitsPerSec,
    /// Nanobits carried before the segment.
    before: u128,
}

impl Segments {
    /// Creates segments from rates with their durations. Samples of no duration are left out.
    pub(crate) fn new(samples: &[(Duration, BitsPerSec)], repeats: bool) -> Segments {
        let (mut segments, mut period, mut total) = (Vec::new(), 0u64, 0u128);
        for (holds, rate) in samples.iter().filter(|(holds, _)| !holds.is_zero()) {
            segments.push(Segment { starts: period, rate: *rate, before: total });
            period = period.saturating_add(holds.as_nanos() as u64);
            total += holds.as_nanos() * u128::from(rate.0);
        }
        assert!(period > 0, "a reader accepts no trace that lasts for no time");
        Segments { segments, period, total, repeats }
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
