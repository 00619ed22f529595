//! Propagation: time from the end of serialisation to arrival.

use chance::Stream;
use units::Time;

use crate::delay_line::Order;
use crate::{Jitter, JitterShape, LinkConfig, Reorder};

/// A delay, possibly with jitter.
pub(crate) struct Propagation {
    delay_ns: u64,
    jitter: Jitter,
    reorder: Reorder,
    stream: Stream,
}

impl Propagation {
    pub(crate) fn new(config: &LinkConfig, stream: Stream) -> Propagation {
        let LinkConfig { delay, jitter, reorder, .. } = *config;
        Propagation { delay_ns: delay.as_nanos() as u64, jitter, reorder, stream }
    }

    /// Arrival time of the next packet, which departs at `from`, and whether it may overtake others.
    #[inline]
    pub(crate) fn next(&mut self, from: Time) -> (Time, Order) {
        let arrives = self.delayed(from);
        match self.reorder {
            Reorder::Never => (arrives, Order::Kept),
            Reorder::ByJitter => (arrives, Order::Free),
            Reorder::Jump(probability) if self.stream.happens(probability) => (from, Order::Free),
            Reorder::Jump(_) => (arrives, Order::Kept),
        }
    }

    /// Arrival time of the next packet, which departs at `from`. A link without jitter draws nothing.
    #[inline]
    pub(crate) fn delayed(&mut self, from: Time) -> Time {
        let delay_ns = match self.jitter.spread.is_zero() {
            true => self.delay_ns,
            false => self.varied(),
        };
        Time::from_nanos(from.as_nanos().saturating_add(delay_ns))
    }

    fn varied(&mut self) -> u64 {
        let Jitter { spread, shape } = self.jitter;
        match shape {
            JitterShape::Uniform => {
                let drawn = self.stream.span(2 * spread).as_nanos() as u64;
                (self.delay_ns + drawn).saturating_sub(spread.as_nanos() as u64)
            }
            JitterShape::Normal => {
                let drawn = self.stream.normal() * spread.as_nanos() as f64;
                (self.delay_ns as f64 + drawn).max(0.0).round() as u64
            }
        }
    }

    /// Returns true if the next packet skips everything that delays it (netem's `reorder`).
    pub(crate) fn jumps(&mut self) -> bool {
        matches!(self.reorder, Reorder::Jump(probability) if self.stream.happens(probability))
    }
}
