//! A satellite terminal with demand-assigned capacity (DAMA; DVB-RCS2, ETSI EN 301 545-2).
//!
//! After silence the terminal must request capacity: a request to the network control centre and a plan back, which
//! takes a round trip over the satellite and the planning. While it sends, its capacity is kept; its packets leave at
//! the beginnings of frames. Downlink packets do not wait. A terminal with constant capacity (CRA) needs no radio.

use std::time::Duration;

use units::Time;

use super::{Machine, RadioState, Way};

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
        DamaMachine { config: self.clone(), place: Place::Unassigned }
    }
}

/// State of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Unassigned,
    Requesting { until: Time },
    Assigned { active: Time },
}

#[derive(Clone)]
pub(super) struct DamaMachine {
    config: Dama,
    place: Place,
}

impl Machine for DamaMachine {
    fn state(&self) -> RadioState {
        match self.place {
            Place::Unassigned => RadioState::Unassigned,
            Place::Requesting { .. } => RadioState::Requesting,
            Place::Assigned { .. } => RadioState::Assigned,
        }
    }

    fn arrive(&mut self, now: Time, way: Way, _bytes: u32) -> Option<RadioState> {
        if (way, self.place) != (Way::Up, Place::Unassigned) {
            return None;
        }
        self.place = Place::Requesting { until: now + self.config.grant };
        Some(RadioState::Requesting)
    }

    /// Frames begin at multiples of their length.
    fn release(&self, ready: Time, way: Way, _bytes: u32) -> Option<Time> {
        match (way, self.place) {
            (Way::Down, _) => Some(ready),
            (Way::Up, Place::Assigned { .. }) => {
                let frame = u64::try_from(self.config.frame.as_nanos()).unwrap_or(u64::MAX).max(1);
                Some(Time::from_nanos(ready.as_nanos().next_multiple_of(frame)))
            }
            (Way::Up, _) => None,
        }
    }

    fn left(&mut self, now: Time, way: Way, _bytes: u32) -> Option<RadioState> {
        if way == Way::Up {
            self.place = Place::Assigned { active: now };
        }
        None
    }

    fn timer(&self) -> Option<Time> {
        match self.place {
            Place::Unassigned => None,
            Place::Requesting { until } => Some(until),
            Place::Assigned { active } => Some(active + self.config.hold),
        }
    }

    fn fire(&mut self, now: Time) -> RadioState {
        self.place = match self.place {
            Place::Requesting { .. } => Place::Assigned { active: now },
            Place::Assigned { .. } | Place::Unassigned => Place::Unassigned,
        };
        self.state()
    }

    fn twin(&self) -> Box<dyn Machine> {
        Box::new(self.clone())
    }
}
