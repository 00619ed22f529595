//! LTE: the states of radio resource control (3GPP TS 36.331) and of discontinuous reception (DRX, TS 36.321) as Huang et al. measured them.
//!
//! ```text
//!     IDLE -- any packet: 0.26 s --> continuous reception -- 0.1 s --> short DRX -- 20 ms --> long DRX
//!       ^                                   ^                            |                     |  |
//!       |                                   +------ any packet ----------+---------------------+  |
//!       +---------------- 11.6 s after the last packet --------------------------------------------+
//! ```
//!
//! A packet to a device whose receiver sleeps waits for the next time that it is on. A packet from a device that has nothing else to send
//! must ask for its resources first (a scheduling request). Repetitions ([`Harq`]) are the link's, which knows what is sent together.
//! Source: Huang et al., "A Close Examination of Performance and Power Characteristics of 4G LTE Networks" (MobiSys 2012);
//! ARO 4.1.1 `ProfileLTE`; srsRAN's defaults for what these do not say.

use std::time::Duration;

use chance::Stream;
use units::Time;

use super::{Harq, Machine, RadioState, Way};

/// The timers of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Lte {
    /// From idle to connected.
    pub idle_to_connected: Duration,
    /// An idle device listens once in so long.
    pub paging_cycle: Duration,
    /// So long after a packet the receiver is always on.
    pub continuous: Duration,
    /// Then so long in short cycles.
    pub short: Drx,
    /// Then in long ones until the device is idle.
    pub long: Drx,
    /// How a device that has nothing to send gets to send.
    pub request: SchedulingRequest,
    /// What becomes of blocks that cannot be decoded.
    pub harq: Harq,
}

/// A receiver that sleeps for most of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drx {
    /// How long it is in this state, without packets.
    pub span: Duration,
    /// The cycle.
    pub cycle: Duration,
    /// For so long in each the receiver is on.
    pub on: Duration,
}

/// The way to a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulingRequest {
    /// A device may ask once in so long.
    pub period: Duration,
    /// From the request to the data: grant and preparation.
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
    /// When the receiver is on, from `at` on, in cycles that began at `began` with the receiver on.
    fn awake(&self, began: Time, at: Time) -> Time {
        let cycle = self.cycle.as_nanos().max(1);
        let into = Duration::from_nanos(((at - began).as_nanos() % cycle) as u64);
        if into < self.on { at } else { at + (self.cycle - into) }
    }
}

impl Lte {
    pub(super) fn machine(&self, paging: Stream, uplink: Stream) -> LteMachine {
        LteMachine { config: self.clone(), paging, uplink, place: Place::Idle }
    }
}

/// Where the machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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
    paging: Stream,
    uplink: Stream,
    place: Place,
}

impl LteMachine {
    fn until_next_paging(&mut self, way: Way) -> Duration {
        match way {
            Way::Up => Duration::ZERO,
            Way::Down => self.paging.span(self.config.paging_cycle),
        }
    }
}

impl Machine for LteMachine {
    fn state(&self) -> RadioState {
        match self.place {
            Place::Idle => RadioState::Idle,
            Place::Promoting { .. } => RadioState::IdleToConnected,
            Place::Continuous { .. } => RadioState::Continuous,
            Place::Short { .. } => RadioState::ShortDrx,
            Place::Long { .. } => RadioState::LongDrx,
        }
    }

    fn delay(&mut self, _now: Time, way: Way, alone: bool) -> Duration {
        let SchedulingRequest { period, grant } = self.config.request;
        match (way, self.place) {
            // The promotion ends with a grant.
            (Way::Down, _) | (_, Place::Idle | Place::Promoting { .. }) => Duration::ZERO,
            (Way::Up, _) if alone => self.uplink.span(period) + grant,
            // Its resources are asked for with what is sent before it.
            (Way::Up, _) => Duration::ZERO,
        }
    }

    fn arrive(&mut self, now: Time, way: Way, _bytes: u32) -> Option<RadioState> {
        if self.place != Place::Idle {
            return None;
        }
        let until = now + self.until_next_paging(way) + self.config.idle_to_connected;
        self.place = Place::Promoting { until };
        Some(RadioState::IdleToConnected)
    }

    fn release(&self, ready: Time, way: Way, _bytes: u32) -> Option<Time> {
        let Lte { short, long, .. } = &self.config;
        match (way, self.place) {
            (_, Place::Idle | Place::Promoting { .. }) => None,
            (Way::Up, _) | (_, Place::Continuous { .. }) => Some(ready),
            (Way::Down, Place::Short { began }) => Some(short.awake(began, ready)),
            (Way::Down, Place::Long { began }) => Some(long.awake(began, ready)),
        }
    }

    fn left(&mut self, now: Time, _way: Way, _bytes: u32) -> Option<RadioState> {
        let before = self.state();
        self.place = Place::Continuous { active: now };
        (before != RadioState::Continuous).then_some(RadioState::Continuous)
    }

    fn timer(&self) -> Option<Time> {
        let Lte { continuous, short, long, .. } = &self.config;
        match self.place {
            Place::Idle => None,
            Place::Promoting { until } => Some(until),
            Place::Continuous { active } => Some(active + *continuous),
            Place::Short { began } => Some(began + short.span),
            Place::Long { began } => Some(began + long.span),
        }
    }

    fn fire(&mut self, now: Time) -> RadioState {
        self.place = match self.place {
            Place::Promoting { .. } => Place::Continuous { active: now },
            Place::Continuous { .. } => Place::Short { began: now },
            Place::Short { .. } => Place::Long { began: now },
            Place::Long { .. } | Place::Idle => Place::Idle,
        };
        self.state()
    }

    fn twin(&self) -> Box<dyn Machine> {
        Box::new(self.clone())
    }
}
