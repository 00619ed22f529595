//! Schedulers among the lanes of a link.

use units::Time;

use crate::server::Service;
use crate::{LinkConfig, Scheduler};

mod proportional_fair;
mod round_robin;

use proportional_fair::ProportionalFairTurns;
use round_robin::RoundRobin;

/// A scheduler, driven by a link: lanes are numbered from 0.
pub(super) trait Turns: Send {
    /// Chooses the lane to serve at `at`. Lanes that are not ready have nothing to send, or cannot; at least one is
    /// ready.
    fn next(&mut self, at: Time, lanes: usize, is_ready: &dyn Fn(usize) -> bool) -> Turn;

    /// A slice of a lane was served.
    fn served(&mut self, lane: usize, bytes: u32, service: Service);
}

/// A lane's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) lane: usize,
    /// Maximum length of a slice.
    pub(super) most_bytes: u32,
}

/// The scheduler of a link.
pub(super) fn of(config: &LinkConfig) -> Box<dyn Turns> {
    match config.scheduler {
        Scheduler::Fifo => Box::new(OneLane),
        Scheduler::RoundRobin => Box::new(RoundRobin::new(config.mtu)),
        Scheduler::ProportionalFair(params) => {
            let (rate, channels) = (config.rate.mean(), config.channels.clone());
            Box::new(ProportionalFairTurns::new(params, rate, channels))
        }
    }
}

/// A scheduler for a single lane.
struct OneLane;

impl Turns for OneLane {
    fn next(&mut self, _at: Time, _lanes: usize, _is_ready: &dyn Fn(usize) -> bool) -> Turn {
        Turn { lane: 0, most_bytes: u32::MAX }
    }

    fn served(&mut self, _lane: usize, _bytes: u32, _service: Service) {}
}
