//! Log of a radio: its states, the causes of their changes, the traffic, and the energy that they cost.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::Time;

use super::RadioDirection;

/// A state of a radio, in the words of its standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RadioState {
    /// No connection to the network: UMTS and LTE.
    Idle,
    /// UMTS: from idle to a dedicated channel.
    IdleToDch,
    /// UMTS: from the shared channel to a dedicated one.
    FachToDch,
    /// UMTS, `CELL_FACH`: on a shared channel of low rate.
    Fach,
    /// UMTS, `CELL_DCH`: on a dedicated channel.
    Dch,
    /// LTE: from idle to connected.
    IdleToConnected,
    /// LTE, connected: the receiver is always on.
    Continuous,
    /// LTE, connected: the receiver is on for a part of each short cycle.
    ShortDrx,
    /// LTE, connected: the receiver is on for a part of each long cycle.
    LongDrx,
    /// Wireless LAN: the station is awake.
    Awake,
    /// Wireless LAN: the station listens for beacons only.
    Doze,
    /// Satellite: no uplink capacity.
    Unassigned,
    /// Satellite: capacity has been requested.
    Requesting,
    /// Satellite: uplink capacity assigned.
    Assigned,
}

impl RadioState {
    /// All states.
    const ALL: [RadioState; 14] = {
        use RadioState::*;
        [
            Idle,
            IdleToDch,
            FachToDch,
            Fach,
            Dch,
            IdleToConnected,
            Continuous,
            ShortDrx,
            LongDrx,
            Awake,
            Doze,
            Unassigned,
            Requesting,
            Assigned,
        ]
    };

    /// Parses the name that reports use.
    pub fn named(name: &str) -> Option<RadioState> {
        RadioState::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Name of the state in reports.
    pub fn name(self) -> &'static str {
        match self {
            RadioState::Idle => "IDLE",
            RadioState::IdleToDch => "IDLE to DCH",
            RadioState::FachToDch => "FACH to DCH",
            RadioState::Fach => "CELL_FACH",
            RadioState::Dch => "CELL_DCH",
            RadioState::IdleToConnected => "IDLE to CONNECTED",
            RadioState::Continuous => "continuous reception",
            RadioState::ShortDrx => "short DRX",
            RadioState::LongDrx => "long DRX",
            RadioState::Awake => "awake",
            RadioState::Doze => "doze",
            RadioState::Unassigned => "no capacity",
            RadioState::Requesting => "requesting",
            RadioState::Assigned => "assigned",
        }
    }

    /// Returns true if the state is a transition to a better one, during which packets wait.
    pub fn is_promotion(self) -> bool {
        use RadioState::{FachToDch, IdleToConnected, IdleToDch, Requesting};
        matches!(self, IdleToDch | FachToDch | IdleToConnected | Requesting)
    }
}

/// The packet that caused a state change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionCause {
    /// Direction of the packet.
    pub way: RadioDirection,
    /// Its IP length.
    pub wire_bytes: u32,
}

/// A state change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Time of the change.
    pub at: Time,
    /// The previous state.
    pub from: RadioState,
    /// The new state.
    pub to: RadioState,
    /// The packet that caused it; `None`: a timer.
    pub cause: Option<TransitionCause>,
}

/// A stay in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioStay {
    /// The state.
    pub state: RadioState,
    /// Beginning of the stay.
    pub since: Time,
    /// Its length.
    pub span: Duration,
}

/// Everything that a radio did.
#[derive(Debug)]
pub(super) struct RadioJournal {
    first: RadioState,
    transitions: Vec<Transition>,
    /// Departed packets: time, direction, size.
    carried: Vec<(Time, RadioDirection, u32)>,
}

impl RadioJournal {
    pub(super) fn new(first: RadioState) -> RadioJournal {
        RadioJournal { first, transitions: Vec::new(), carried: Vec::new() }
    }

    pub(super) fn note(&mut self, at: Time, to: RadioState, cause: Option<TransitionCause>) {
        let from = self.state();
        if from != to {
            self.transitions.push(Transition { at, from, to, cause });
        }
    }

    pub(super) fn carry(&mut self, at: Time, way: RadioDirection, bytes: u32) {
        self.carried.push((at, way, bytes));
    }

    pub(super) fn transitions(&self) -> &[Transition] {
        &self.transitions
    }

    fn state(&self) -> RadioState {
        self.transitions.last().map_or(self.first, |last| last.to)
    }

    /// States from `since` until `until`, in chronological order.
    pub(super) fn stays(&self, since: Time, until: Time) -> Vec<RadioStay> {
        let begins = std::iter::once((Time::ZERO, self.first))
            .chain(self.transitions.iter().map(|change| (change.at, change.to)));
        let ends = self.transitions.iter().map(|change| change.at).chain([until]);
        let stay = |((begin, state), end): ((Time, RadioState), Time)| {
            let (begin, end) = (begin.max(since), end.min(until));
            (begin < end).then(|| RadioStay { state, since: begin, span: end - begin })
        };
        begins.zip(ends).filter_map(stay).collect()
    }

    /// Bytes that passed in `since..until`.
    pub(super) fn bytes(&self, way: RadioDirection, since: Time, until: Time) -> u64 {
        let within =
            |(at, of, _): &&(Time, RadioDirection, u32)| *of == way && (since..until).contains(at);
        self.carried.iter().filter(within).map(|(.., bytes)| u64::from(*bytes)).sum()
    }
}

// Energy model of a radio's states and transfers.
//
// A state has a mean power; a transfer adds a cost per megabit. A receiver that is on for part of a cycle has the
// mean of both powers, weighted by their times (`ProfileLTE.energy()` of AT&T's ARO sums the same, cycle by cycle).

/// Powers in watts, transfers in joules per megabit.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Power {
    /// Mean power of each state; states not listed cost nothing.
    pub watts: BTreeMap<RadioState, f64>,
    /// Cost of sending, on top of the state's power: milliwatts per Mbit/s are millijoules per Mbit.
    pub joules_per_mbit_up: f64,
    /// Cost of receiving.
    pub joules_per_mbit_down: f64,
}

/// Energy spent, in joules.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Energy {
    /// Energy and seconds of each state.
    pub states: BTreeMap<RadioState, StateEnergy>,
    /// Energy spent on sending, on top of the states'.
    pub up_joules: f64,
    /// Energy spent on receiving.
    pub down_joules: f64,
}

/// Time and energy of one state.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct StateEnergy {
    /// Total time in it.
    pub seconds: f64,
    /// Energy spent in it.
    pub joules: f64,
}

impl Power {
    /// Mean power of a receiver that is on for `on` seconds of each `cycle`.
    pub fn mean(on: f64, on_watts: f64, cycle: f64, off_watts: f64) -> f64 {
        (on * on_watts + (cycle - on) * off_watts) / cycle
    }

    pub(super) fn spent(&self, journal: &RadioJournal, since: Time, until: Time) -> Energy {
        let mut energy = Energy::default();
        for stay in journal.stays(since, until) {
            let state = energy.states.entry(stay.state).or_default();
            let seconds = stay.span.as_secs_f64();
            state.seconds += seconds;
            state.joules += seconds * self.watts.get(&stay.state).copied().unwrap_or(0.0);
        }
        let mbit = |way| journal.bytes(way, since, until) as f64 * 8.0 / 1e6;
        energy.up_joules = mbit(RadioDirection::Up) * self.joules_per_mbit_up;
        energy.down_joules = mbit(RadioDirection::Down) * self.joules_per_mbit_down;
        energy
    }
}

impl Energy {
    /// Energy spent since the earlier account `before`.
    pub fn since(&self, before: &Energy) -> Energy {
        let earlier = |state| before.states.get(state).copied().unwrap_or_default();
        let states = self.states.iter().map(|(state, now)| {
            let then = earlier(state);
            let (seconds, joules) = (now.seconds - then.seconds, now.joules - then.joules);
            (*state, StateEnergy { seconds, joules })
        });
        Energy {
            states: states.filter(|(_, spent)| spent.seconds > 0.0).collect(),
            up_joules: self.up_joules - before.up_joules,
            down_joules: self.down_joules - before.down_joules,
        }
    }

    /// Total energy.
    pub fn joules(&self) -> f64 {
        let states: f64 = self.states.values().map(|state| state.joules).sum();
        states + self.up_joules + self.down_joules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_states_apart() {
        for state in RadioState::ALL {
            assert_eq!(RadioState::named(state.name()), Some(state));
        }
        assert_eq!(RadioState::named("asleep"), None);
    }
}
