//! Satellite terminals: demand-assigned capacity, and paths over low Earth orbit.
//!
//! Demand-assigned capacity (DAMA; DVB-RCS2, ETSI EN 301 545-2): after silence the terminal must request capacity: a request to the network control centre and a plan back, which
//! takes a round trip over the satellite and the planning. While it sends, its capacity is kept; its packets leave at
//! the beginnings of frames. Downlink packets do not wait. A terminal with constant capacity (CRA) needs no radio.

use std::time::Duration;

use chance::RandomSource;
use units::Time;

use super::{RadioDirection, RadioMachine, RadioState};

/// The timers of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dama {
    /// Time from a request to the first granted frame.
    pub grant: Duration,
    /// Interval between the beginnings of frames.
    pub frame: Duration,
    /// Time for which capacity is kept after a packet.
    pub hold: Duration,
}

impl Default for Dama {
    /// A round trip of 560 ms and 100 ms of planning, frames of 45 ms; capacity kept for a second.
    fn default() -> Dama {
        let ms = Duration::from_millis;
        Dama { grant: ms(660), frame: ms(45), hold: ms(1000) }
    }
}

impl Dama {
    pub(super) fn machine(&self) -> DamaMachine {
        DamaMachine { config: self.clone(), place: DamaState::Unassigned }
    }
}

/// State of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DamaState {
    Unassigned,
    Requesting { until: Time },
    Assigned { active: Time },
}

#[derive(Clone)]
pub(super) struct DamaMachine {
    config: Dama,
    place: DamaState,
}

impl RadioMachine for DamaMachine {
    fn state(&self) -> RadioState {
        match self.place {
            DamaState::Unassigned => RadioState::Unassigned,
            DamaState::Requesting { .. } => RadioState::Requesting,
            DamaState::Assigned { .. } => RadioState::Assigned,
        }
    }

    fn arrive(&mut self, now: Time, way: RadioDirection, _bytes: u32) -> Option<RadioState> {
        if (way, self.place) != (RadioDirection::Up, DamaState::Unassigned) {
            return None;
        }
        self.place = DamaState::Requesting { until: now + self.config.grant };
        Some(RadioState::Requesting)
    }

    /// Frames begin at multiples of their length.
    fn release(&self, ready: Time, way: RadioDirection, _bytes: u32) -> Option<Time> {
        match (way, self.place) {
            (RadioDirection::Down, _) => Some(ready),
            (RadioDirection::Up, DamaState::Assigned { .. }) => {
                let frame = u64::try_from(self.config.frame.as_nanos()).unwrap_or(u64::MAX).max(1);
                Some(Time::from_nanos(ready.as_nanos().next_multiple_of(frame)))
            }
            (RadioDirection::Up, _) => None,
        }
    }

    fn left(&mut self, now: Time, way: RadioDirection, _bytes: u32) -> Option<RadioState> {
        if way == RadioDirection::Up {
            self.place = DamaState::Assigned { active: now };
        }
        None
    }

    fn timer(&self) -> Option<Time> {
        match self.place {
            DamaState::Unassigned => None,
            DamaState::Requesting { until } => Some(until),
            DamaState::Assigned { active } => Some(active + self.config.hold),
        }
    }

    fn fire(&mut self, now: Time) -> RadioState {
        self.place = match self.place {
            DamaState::Requesting { .. } => DamaState::Assigned { active: now },
            DamaState::Assigned { .. } | DamaState::Unassigned => DamaState::Unassigned,
        };
        self.state()
    }

    fn clone_box(&self) -> Box<dyn RadioMachine> {
        Box::new(self.clone())
    }
}

// A path over satellites in low Earth orbit that is reassigned every fifteen seconds, for all terminals at once, as
// in Starlink.
//
// Each slot has a different path length; some slots begin with a short outage. Uplink packets wait for their turn.
// The link behind has the path's minimum delay. Source: measurements of Starlink (arXiv 2310.09242 and others) for
// the period and the sizes; the normal distribution of delays and the probability of outages are this model's.

/// Parameters of changing paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Leo {
    /// Time for which a path stays.
    pub slot: Duration,
    /// Extra round-trip time beyond the minimum: its mean,
    pub extra_rtt: Duration,
    /// their standard deviation,
    pub extra_rtt_deviation: Duration,
    /// and its maximum.
    pub extra_rtt_most: Duration,
    /// Probability of an outage at a slot's beginning,
    pub outage: f64,
    /// its minimum length,
    pub outage_least: Duration,
    /// and its maximum length.
    pub outage_most: Duration,
    /// Maximum time for which an uplink packet waits for its turn.
    pub uplink_wait: Duration,
}

impl Default for Leo {
    /// Round trips of 35 ms +- 8 ms from 22 to 60 ms, over a link of 22 ms; outages of 40 to 150 ms at three slot
    /// boundaries in ten.
    fn default() -> Leo {
        let ms = Duration::from_millis;
        Leo {
            slot: ms(15_000),
            extra_rtt: ms(13),
            extra_rtt_deviation: ms(8),
            extra_rtt_most: ms(38),
            outage: 0.3,
            outage_least: ms(40),
            outage_most: ms(150),
            uplink_wait: ms(10),
        }
    }
}

/// Path of one slot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LeoPath {
    /// Delay beyond the link's own, one way.
    extra: Duration,
    /// Outage, from the slot's beginning.
    outage: Duration,
}

impl Leo {
    pub(super) fn machine(&self, source: RandomSource, name: &str) -> LeoMachine {
        let uplink = source.stream(&format!("radio/{name}/uplink"));
        LeoMachine { config: self.clone(), source, name: name.to_owned(), uplink }
    }
}

#[derive(Clone)]
pub(super) struct LeoMachine {
    config: Leo,
    source: RandomSource,
    name: String,
    uplink: chance::RandomStream,
}

impl LeoMachine {
    /// Each slot has a random stream of its own, so that its path depends on nothing but its number.
    fn path(&self, slot: u64) -> LeoPath {
        let Leo { extra_rtt, extra_rtt_deviation, extra_rtt_most, .. } = self.config;
        let Leo { outage, outage_least, outage_most, .. } = self.config;
        let mut stream = self.source.stream(&format!("radio/{}/slot/{slot}", self.name));
        let deviation = extra_rtt_deviation.as_secs_f64() * stream.normal();
        let extra = (extra_rtt.as_secs_f64() + deviation).clamp(0.0, extra_rtt_most.as_secs_f64());
        let outage = match stream.happens(outage) {
            true => outage_least + stream.span(outage_most.saturating_sub(outage_least)),
            false => Duration::ZERO,
        };
        LeoPath { extra: Duration::from_secs_f64(extra / 2.0), outage }
    }
}

impl RadioMachine for LeoMachine {
    fn state(&self) -> RadioState {
        RadioState::Assigned
    }

    fn delay(&mut self, now: Time, way: RadioDirection, _alone: bool) -> Duration {
        let slot_ns = u64::try_from(self.config.slot.as_nanos()).unwrap_or(u64::MAX).max(1);
        let into = Duration::from_nanos(now.as_nanos() % slot_ns);
        let path = self.path(now.as_nanos() / slot_ns);
        let turn = match way {
            RadioDirection::Up => self.uplink.span(self.config.uplink_wait),
            RadioDirection::Down => Duration::ZERO,
        };
        path.outage.saturating_sub(into) + path.extra + turn
    }

    fn arrive(&mut self, _now: Time, _way: RadioDirection, _bytes: u32) -> Option<RadioState> {
        None
    }

    fn release(&self, ready: Time, _way: RadioDirection, _bytes: u32) -> Option<Time> {
        Some(ready)
    }

    fn left(&mut self, _now: Time, _way: RadioDirection, _bytes: u32) -> Option<RadioState> {
        None
    }

    /// The state never changes: paths do, and no packet waits for that.
    fn timer(&self) -> Option<Time> {
        None
    }

    fn fire(&mut self, _now: Time) -> RadioState {
        self.state()
    }

    fn clone_box(&self) -> Box<dyn RadioMachine> {
        Box::new(self.clone())
    }
}
