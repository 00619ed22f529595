//! How long a packet is on its way once it has been serialised.

use std::time::Duration;

use chance::Stream;

use crate::delay_line::Order;
use crate::{Jitter, JitterShape, LinkConfig, Reorder};

/// A delay, perhaps with jitter.
pub(crate) struct Propagation {
    delay: Duration,
    jitter: Jitter,
    reorder: Reorder,
    stream: Stream,
}

impl Propagation {
    pub(crate) fn new(config: &LinkConfig, stream: Stream) -> Propagation {
        let LinkConfig { delay, jitter, reorder, .. } = *config;
        Propagation { delay, jitter, reorder, stream }
    }

    /// The next packet's delay, and whether it may overtake others.
    pub(crate) fn next(&mut self) -> (Duration, Order) {
        let delay = self.delayed();
        match self.reorder {
            Reorder::Never => (delay, Order::Kept),
            Reorder::ByJitter => (delay, Order::Free),
            Reorder::Jump(probability) if self.stream.happens(probability) => {
                (Duration::ZERO, Order::Free)
            }
            Reorder::Jump(_) => (delay, Order::Kept),
        }
    }

    /// The next packet's delay. A link without jitter draws nothing.
    pub(crate) fn delayed(&mut self) -> Duration {
        let Jitter { spread, shape } = self.jitter;
        if spread.is_zero() {
            return self.delay;
        }
        match shape {
            JitterShape::Uniform => {
                (self.delay + self.stream.span(2 * spread)).saturating_sub(spread)
            }
            JitterShape::Normal => {
                let nanos =
                    self.delay.as_nanos() as f64 + self.stream.normal() * spread.as_nanos() as f64;
                Duration::from_nanos(nanos.max(0.0).round() as u64)
            }
        }
    }

    /// Whether the next packet skips everything that delays it (netem's `reorder`).
    pub(crate) fn jumps(&mut self) -> bool {
        matches!(self.reorder, Reorder::Jump(probability) if self.stream.happens(probability))
    }
}
