//! LTE: the states of radio resource control (3GPP TS 36.331) and of discontinuous reception (DRX, TS 36.321) as Huang et al. measured them.
//!
//! ```text
//!     IDLE -- any packet: 0.26 s --> continuous reception -- 0.1 s --> short DRX -- 20 ms --> long DRX
//!       ^                                   ^                            |                     |  |
//!       |                                   +------ any packet ----------+---------------------+  |
//!       +---------------- 11.6 s after the last packet --------------------------------------------+
//! ```
//!
//! A downlink packet waits for the next on-time of a sleeping receiver. An uplink packet of a device that has nothing
//! else to send needs a scheduling request first. Repetitions ([`Harq`]) belong to the link, which knows what is sent
//! together.
//! Source: Huang et al., "A Close Examination of Performance and Power Characteristics of 4G LTE Networks" (MobiSys 2012);
//! ARO 4.1.1 `ProfileLTE`; srsRAN's defaults for the rest.

use std::time::Duration;

use chance::RandomStream;
use units::Time;

use super::{RadioDirection, RadioMachine, RadioState};

/// Timers of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Lte {
    /// Promotion from idle to connected.
    pub idle_to_connected: Duration,
    /// Paging cycle of an idle device.
    pub paging_cycle: Duration,
    /// Time of continuous reception after a packet.
    pub continuous: Duration,
    /// Short cycles that follow.
    pub short: Drx,
    /// Long cycles that follow, until the device is idle.
    pub long: Drx,
    /// Scheduling request of a device that has nothing to send yet.
    pub request: SchedulingRequest,
    /// Repetitions of blocks that cannot be decoded.
    pub harq: Harq,
}

/// Discontinuous reception: a receiver that sleeps for most of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drx {
    /// Time in this state without packets.
    pub span: Duration,
    /// Length of a cycle.
    pub cycle: Duration,
    /// On-time of the receiver in each cycle.
    pub on: Duration,
}

/// Scheduling request and grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulingRequest {
    /// Interval between a device's opportunities to request.
    pub period: Duration,
    /// Time from the request to the data: grant and preparation.
    pub grant: Duration,
}

impl Default for Lte {
    /// Huang et al. 2012; requests every 10 ms, 8 ms to the data; 10 % of transmissions repeated.
    fn default() -> Lte {
        let ms = Duration::from_millis;
        Lte {
            idle_to_connected: ms(260),
            paging_cycle: ms(1280),
            continuous: ms(100),
            short: Drx { span: ms(20), cycle: ms(20), on: ms(1) },
            long: Drx { span: ms(11_456), cycle: ms(40), on: ms(1) },
            request: SchedulingRequest { period: ms(10), grant: ms(8) },
            harq: Harq::default(),
        }
    }
}

impl Drx {
    /// Earliest time from `at` on at which the receiver is on, in cycles that began at `began` with the receiver on.
    fn awake(&self, began: Time, at: Time) -> Time {
        let cycle = self.cycle.as_nanos().max(1);
        let into = Duration::from_nanos(((at - began).as_nanos() % cycle) as u64);
        if into < self.on { at } else { at + (self.cycle - into) }
    }
}

impl Lte {
    pub(super) fn machine(&self, paging: RandomStream, uplink: RandomStream) -> LteMachine {
        LteMachine { config: self.clone(), paging, uplink, place: LteState::Idle }
    }
}

/// State of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LteState {
    Idle,
    Promoting {
        until: Time,
    },
    /// Since the last packet.
    Continuous {
        active: Time,
    },
    Short {
        began: Time,
    },
    Long {
        began: Time,
    },
}

#[derive(Clone)]
pub(super) struct LteMachine {
    config: Lte,
    paging: RandomStream,
    uplink: RandomStream,
    place: LteState,
}

impl LteMachine {
    fn until_next_paging(&mut self, way: RadioDirection) -> Duration {
        match way {
            RadioDirection::Up => Duration::ZERO,
            RadioDirection::Down => self.paging.span(self.config.paging_cycle),
        }
    }
}

impl RadioMachine for LteMachine {
    fn state(&self) -> RadioState {
        match self.place {
            LteState::Idle => RadioState::Idle,
            LteState::Promoting { .. } => RadioState::IdleToConnected,
            LteState::Continuous { .. } => RadioState::Continuous,
            LteState::Short { .. } => RadioState::ShortDrx,
            LteState::Long { .. } => RadioState::LongDrx,
        }
    }

    fn delay(&mut self, _now: Time, way: RadioDirection, alone: bool) -> Duration {
        let SchedulingRequest { period, grant } = self.config.request;
        match (way, self.place) {
            // The promotion ends with a grant.
            (RadioDirection::Down, _) | (_, LteState::Idle | LteState::Promoting { .. }) => {
                Duration::ZERO
            }
            (RadioDirection::Up, _) if alone => self.uplink.span(period) + grant,
            // The request of the packets before it covers its resources, too.
            (RadioDirection::Up, _) => Duration::ZERO,
        }
    }

    fn arrive(&mut self, now: Time, way: RadioDirection, _bytes: u32) -> Option<RadioState> {
        if self.place != LteState::Idle {
            return None;
        }
        let until = now + self.until_next_paging(way) + self.config.idle_to_connected;
        self.place = LteState::Promoting { until };
        Some(RadioState::IdleToConnected)
    }

    fn release(&self, ready: Time, way: RadioDirection, _bytes: u32) -> Option<Time> {
        let Lte { short, long, .. } = &self.config;
        match (way, self.place) {
            (_, LteState::Idle | LteState::Promoting { .. }) => None,
            (RadioDirection::Up, _) | (_, LteState::Continuous { .. }) => Some(ready),
            (RadioDirection::Down, LteState::Short { began }) => Some(short.awake(began, ready)),
            (RadioDirection::Down, LteState::Long { began }) => Some(long.awake(began, ready)),
        }
    }

    fn left(&mut self, now: Time, _way: RadioDirection, _bytes: u32) -> Option<RadioState> {
        let before = self.state();
        self.place = LteState::Continuous { active: now };
        (before != RadioState::Continuous).then_some(RadioState::Continuous)
    }

    fn timer(&self) -> Option<Time> {
        let Lte { continuous, short, long, .. } = &self.config;
        match self.place {
            LteState::Idle => None,
            LteState::Promoting { until } => Some(until),
            LteState::Continuous { active } => Some(active + *continuous),
            LteState::Short { began } => Some(began + short.span),
            LteState::Long { began } => Some(began + long.span),
        }
    }

    fn fire(&mut self, now: Time) -> RadioState {
        self.place = match self.place {
            LteState::Promoting { .. } => LteState::Continuous { active: now },
            LteState::Continuous { .. } => LteState::Short { began: now },
            LteState::Short { .. } => LteState::Long { began: now },
            LteState::Long { .. } | LteState::Idle => LteState::Idle,
        };
        self.state()
    }

    fn clone_box(&self) -> Box<dyn RadioMachine> {
        Box::new(self.clone())
    }
}

// Repetitions of LTE's transport blocks: hybrid ARQ (TS 36.321 section 5.3.2) and, after its last attempt, RLC's own
// (TS 36.322).
//
// A block that cannot be decoded is sent again a round later, up to a maximum; then the receiver misses it until a
// timer reports so, and the block starts over. Nothing is lost, and later blocks wait: RLC delivers in order. Not
// modelled: repetitions take up a block's room, and are likelier to succeed than the block before, with which they
// are combined.

/// A cell's repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Harq {
    /// Probability that a transmission of a block must be repeated.
    pub failure: f64,
    /// Duration of each repetition: 8 ms with frequency division (TS 36.213 section 7).
    pub round: Duration,
    /// Maximum number of transmissions of a block before RLC sends it anew.
    pub most: u32,
    /// Time for which the receiver waits for a missing block before it reports the loss (t-Reordering).
    pub reordering: Duration,
}

/// Number of times that RLC sends a block before the connection is given up (maxRetxThreshold); here the block then
/// arrives.
const RLC_TRANSMISSIONS: u32 = 4;

impl Default for Harq {
    /// A tenth repeated, the usual target of schedulers; srsRAN's four transmissions and 35 ms.
    fn default() -> Harq {
        let ms = Duration::from_millis;
        Harq { failure: 0.1, round: ms(8), most: 4, reordering: ms(35) }
    }
}

impl Harq {
    /// Draws the time from the next block's first transmission to its arrival.
    pub(crate) fn lateness(&self, stream: &mut RandomStream) -> Duration {
        let mut late = Duration::ZERO;
        for _ in 0..RLC_TRANSMISSIONS {
            let failures = (0..self.most).take_while(|_| stream.happens(self.failure)).count();
            let failures = failures as u32;
            if failures < self.most {
                return late + self.round * failures;
            }
            late += self.anew();
        }
        late
    }

    /// Mean of that time: `n` failures in a row cost `n` rounds, and after the last one the block starts over.
    pub fn mean(&self) -> Duration {
        let p = self.failure;
        let rounds: f64 = (1..self.most).map(|n| p.powi(n as i32)).sum();
        let missed = p.powi(self.most as i32);
        let succeeds = rounds - f64::from(self.most.saturating_sub(1)) * missed;
        let attempt = self.round.mul_f64(succeeds.max(0.0)) + self.anew().mul_f64(missed);
        let attempts: f64 = (0..RLC_TRANSMISSIONS).map(|n| missed.powi(n as i32)).sum();
        attempt.mul_f64(attempts)
    }

    /// Time from a block's first transmission to that of its replacement: the receiver reports it missing, and the
    /// next one is a round later.
    fn anew(&self) -> Duration {
        self.reordering.max(self.round * self.most.saturating_sub(1)) + self.round
    }

    /// Maximum of that time.
    pub fn latest(&self) -> Duration {
        self.anew() * RLC_TRANSMISSIONS
    }
}

#[cfg(test)]
mod tests {
    use chance::RandomSource;

    use super::*;

    fn latenesses(harq: Harq, count: usize) -> Vec<u128> {
        let mut stream = RandomSource::new(1, 0).stream("blocks");
        (0..count).map(|_| harq.lateness(&mut stream).as_millis()).collect()
    }

    #[test]
    fn each_round_fails_as_often_as_the_one_before() {
        let late = latenesses(Harq::default(), 1_000_000);
        let share = |ms| late.iter().filter(|late| **late == ms).count() as f64 / 1e6;
        for (ms, expected) in [(0, 0.9), (8, 0.09), (16, 0.009), (24, 0.0009)] {
            assert!((share(ms) / expected - 1.0).abs() < 0.15, "{ms} ms: {}", share(ms));
        }
        // One in ten thousand fails four times: 35 ms until it is reported missing, and 8.
        let anew = late.iter().filter(|late| **late >= 43).count();
        assert!((70..130).contains(&anew), "{anew}");
    }

    #[test]
    fn the_mean_is_that_of_the_draws() {
        for failure in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let harq = Harq { failure, ..Harq::default() };
            let mut stream = RandomSource::new(1, 0).stream("blocks");
            let draws = (0..200_000).map(|_| harq.lateness(&mut stream).as_secs_f64());
            let (drawn, mean) = (draws.sum::<f64>() / 2e5, harq.mean().as_secs_f64());
            assert!((drawn - mean).abs() <= 0.02 * mean, "{failure}: {drawn} s drawn, {mean} s");
        }
    }

    #[test]
    fn what_never_succeeds_arrives_at_last() {
        let harq = Harq { failure: 1.0, ..Harq::default() };
        assert_eq!(latenesses(harq, 2), [4 * 43; 2]);
        assert_eq!(harq.latest().as_millis(), 4 * 43);
        assert_eq!(latenesses(Harq { failure: 0.0, ..harq }, 2), [0; 2]);
    }
}
