//! Service curve of the bottleneck.

use std::ops::{Add, Sub};
use std::time::Duration;

use units::{BitsPerSec, Time};

/// An amount of service, in bits on the wire times 10^-9, so that a rate in bit/s times a time in ns is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Work(pub u128);

/// Cumulative service of a bottleneck that never idles: a non-decreasing function of time and its inverse.
/// Times are rounded down, so that rounding can only lower a bound.
pub trait ServiceCurve {
    /// Service from the start to `time`.
    fn served_by(&self, time: Time) -> Work;

    /// Time at which `total` has been served since the start.
    fn time_of(&self, total: Work) -> Time;

    /// The least time in which `work` can be served, whenever its service begins.
    fn least_time(&self, work: Work) -> Duration;

    /// Completion time of `work` if it is served alone from `start` on.
    fn finish(&self, start: Time, work: Work) -> Time {
        self.time_of(self.served_by(start) + work).max(start)
    }
}

/// A bottleneck with a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct ConstantRate(pub BitsPerSec);

impl ServiceCurve for ConstantRate {
    fn served_by(&self, time: Time) -> Work {
        Work(u128::from(self.0.0) * u128::from(time.as_nanos()))
    }

    fn time_of(&self, total: Work) -> Time {
        match u128::from(self.0.0) {
            0 => Time::NEVER,
            rate => u64::try_from(total.0 / rate).map_or(Time::NEVER, Time::from_nanos),
        }
    }

    fn least_time(&self, work: Work) -> Duration {
        self.time_of(work).since(Time::ZERO)
    }
}

impl Add for Work {
    type Output = Work;
    fn add(self, other: Work) -> Work {
        Work(self.0.saturating_add(other.0))
    }
}

impl Sub for Work {
    type Output = Work;
    fn sub(self, other: Work) -> Work {
        Work(self.0.saturating_sub(other.0))
    }
}
