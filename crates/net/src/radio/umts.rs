//! 3G: the states of UMTS radio resource control (3GPP TS 25.331) as AT&T's ARO and Qian et al. model them.
//!
//! ```text
//!             any packet: 2 s                 a queue above its threshold: 1.5 s
//!     IDLE --------------------> CELL_DCH <------------------------------------- CELL_FACH
//!       ^                            |                                             |   ^
//!       |                            +------ too little traffic for 5 s ---------------+
//!       +------------------------------------ no packet for 12 s -----------------+
//! ```
//!
//! On `CELL_DCH` packets pass at the link's rate, on `CELL_FACH` one after the other over a shared channel, in the
//! time given by its queue's drain formula; during a promotion they wait. Source: Qian et al., "Characterizing Radio
//! Resource Allocation for 3G Networks" (IMC 2010) and "Profiling Resource Usage for Mobile Applications" (MobiSys
//! 2011); ARO 4.1.1 `Profile3G`, `RrcStateMachineFactory`.

use std::collections::VecDeque;
use std::time::Duration;

use chance::RandomStream;
use units::Time;

use super::{RadioDirection, RadioMachine, RadioState};

/// Timers and thresholds of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Umts {
    /// Promotion from idle to a dedicated channel.
    pub idle_to_dch: Duration,
    /// Maximum wait of a packet for an idle device until it listens, before the promotion.
    pub paging_cycle: Duration,
    /// Promotion from the shared channel to a dedicated one.
    pub fach_to_dch: Duration,
    /// Time with too little traffic after which a dedicated channel is released.
    pub dch_inactivity: Duration,
    /// Time without packets after which the device is idle.
    pub fach_inactivity: Duration,
    /// Traffic that keeps a dedicated channel: this many bytes in one direction,
    pub dch_activity_bytes: u32,
    /// within this time.
    pub dch_activity_window: Duration,
    /// The shared channel, uplink.
    pub fach_up: Fach,
    /// The shared channel, downlink.
    pub fach_down: Fach,
}

/// A shared channel in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fach {
    /// Queue length above which a dedicated channel is requested.
    pub threshold_bytes: u32,
    /// Time in milliseconds to drain x bytes: the coefficient of x squared,
    pub drain_quadratic: f64,
    /// of x,
    pub drain_linear: f64,
    /// and the constant term.
    pub drain_constant: f64,
}

impl Default for Umts {
    /// erman2013, appendix A, and ARO's built-in profile.
    fn default() -> Umts {
        Umts {
            idle_to_dch: Duration::from_secs(2),
            paging_cycle: Duration::from_millis(640),
            fach_to_dch: Duration::from_millis(1500),
            dch_inactivity: Duration::from_secs(5),
            fach_inactivity: Duration::from_secs(12),
            dch_activity_bytes: 320,
            dch_activity_window: Duration::from_millis(300),
            fach_up: Fach {
                threshold_bytes: 543,
                drain_quadratic: 0.0014,
                drain_linear: 1.6,
                drain_constant: 20.0,
            },
            fach_down: Fach {
                threshold_bytes: 475,
                drain_quadratic: 0.0,
                drain_linear: 0.1,
                drain_constant: 10.0,
            },
        }
    }
}

impl Fach {
    /// Time to drain a queue of `bytes`.
    pub fn drain(&self, bytes: u32) -> Duration {
        let x = f64::from(bytes);
        let ms = self.drain_quadratic * x * x + self.drain_linear * x + self.drain_constant;
        Duration::from_secs_f64(ms / 1e3)
    }
}

impl Umts {
    pub(super) fn machine(&self, paging: RandomStream) -> UmtsMachine {
        UmtsMachine {
            config: self.clone(),
            paging,
            place: UmtsState::Idle,
            windows: [VecDeque::new(), VecDeque::new()],
            queues: [FachQueue::default(); 2],
        }
    }

    fn fach(&self, way: RadioDirection) -> &Fach {
        match way {
            RadioDirection::Up => &self.fach_up,
            RadioDirection::Down => &self.fach_down,
        }
    }
}

/// State of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UmtsState {
    Idle,
    Promoting { from: RadioState, until: Time },
    Dch { active: Time },
    Fach { active: Time },
}

/// Queue of a shared channel, as ARO estimates it from packets: it is empty again after the time to drain it.
#[derive(Clone, Copy, Debug, Default)]
struct FachQueue {
    bytes: u32,
    last: Time,
}

#[derive(Clone)]
pub(super) struct UmtsMachine {
    config: Umts,
    paging: RandomStream,
    place: UmtsState,
    /// Recent packets on the dedicated channel, one window per direction.
    windows: [VecDeque<(Time, u32)>; 2],
    queues: [FachQueue; 2],
}

impl UmtsMachine {
    /// Starts the promotion to a dedicated channel.
    fn promote(&mut self, from: RadioState, until: Time) -> Option<RadioState> {
        self.place = UmtsState::Promoting { from, until };
        Some(from)
    }

    /// Adds a packet to the shared channel. Returns true if its queue then exceeds the threshold.
    fn overflows(&mut self, now: Time, way: RadioDirection, bytes: u32) -> bool {
        let fach = *self.config.fach(way);
        let queue = &mut self.queues[way as usize];
        let drained = now - queue.last > fach.drain(queue.bytes);
        queue.bytes = if drained { bytes } else { queue.bytes.saturating_add(bytes) };
        queue.last = now;
        queue.bytes > fach.threshold_bytes
    }

    /// Returns true if recent traffic keeps the dedicated channel.
    fn is_active(&mut self, now: Time, way: RadioDirection, bytes: u32) -> bool {
        let window = &mut self.windows[way as usize];
        window.push_back((now, bytes));
        while window.front().is_some_and(|(at, _)| now - *at > self.config.dch_activity_window) {
            window.pop_front();
        }
        let sum: u64 = window.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        sum >= u64::from(self.config.dch_activity_bytes)
    }
}

impl RadioMachine for UmtsMachine {
    fn state(&self) -> RadioState {
        match self.place {
            UmtsState::Idle => RadioState::Idle,
            UmtsState::Promoting { from, .. } => from,
            UmtsState::Dch { .. } => RadioState::Dch,
            UmtsState::Fach { .. } => RadioState::Fach,
        }
    }

    fn arrive(&mut self, now: Time, way: RadioDirection, bytes: u32) -> Option<RadioState> {
        match self.place {
            UmtsState::Idle => {
                let paging = match way {
                    RadioDirection::Up => Duration::ZERO,
                    RadioDirection::Down => self.paging.span(self.config.paging_cycle),
                };
                self.promote(RadioState::IdleToDch, now + paging + self.config.idle_to_dch)
            }
            UmtsState::Fach { .. } => {
                if self.overflows(now, way, bytes) {
                    return self.promote(RadioState::FachToDch, now + self.config.fach_to_dch);
                }
                self.place = UmtsState::Fach { active: now };
                None
            }
            UmtsState::Promoting { .. } | UmtsState::Dch { .. } => None,
        }
    }

    fn release(&self, ready: Time, way: RadioDirection, bytes: u32) -> Option<Time> {
        match self.place {
            UmtsState::Idle | UmtsState::Promoting { .. } => None,
            UmtsState::Dch { .. } => Some(ready),
            UmtsState::Fach { .. } => Some(ready + self.config.fach(way).drain(bytes)),
        }
    }

    fn left(&mut self, now: Time, way: RadioDirection, bytes: u32) -> Option<RadioState> {
        match self.place {
            UmtsState::Dch { .. } => {
                if self.is_active(now, way, bytes) {
                    self.place = UmtsState::Dch { active: now };
                }
            }
            UmtsState::Fach { .. } => self.place = UmtsState::Fach { active: now },
            UmtsState::Idle | UmtsState::Promoting { .. } => {}
        }
        None
    }

    fn timer(&self) -> Option<Time> {
        match self.place {
            UmtsState::Idle => None,
            UmtsState::Promoting { until, .. } => Some(until),
            UmtsState::Dch { active } => Some(active + self.config.dch_inactivity),
            UmtsState::Fach { active } => Some(active + self.config.fach_inactivity),
        }
    }

    fn fire(&mut self, now: Time) -> RadioState {
        self.place = match self.place {
            UmtsState::Promoting { .. } => UmtsState::Dch { active: now },
            UmtsState::Dch { .. } => {
                self.queues = [FachQueue { bytes: 0, last: now }; 2];
                UmtsState::Fach { active: now }
            }
            UmtsState::Fach { .. } | UmtsState::Idle => UmtsState::Idle,
        };
        self.state()
    }

    fn clone_box(&self) -> Box<dyn RadioMachine> {
        Box::new(self.clone())
    }
}
