//! Energy model of a radio's states and transfers.
//!
//! A state has a mean power; a transfer adds a cost per megabit. A receiver that is on for part of a cycle has the
//! mean of both powers, weighted by their times (`ProfileLTE.energy()` of AT&T's ARO sums the same, cycle by cycle).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::Time;

use super::journal::Journal;
use super::{RadioState, Way};

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

    pub(super) fn spent(&self, journal: &Journal, since: Time, until: Time) -> Energy {
        let mut energy = Energy::default();
        for stay in journal.stays(since, until) {
            let state = energy.states.entry(stay.state).or_default();
            let seconds = stay.span.as_secs_f64();
            state.seconds += seconds;
            state.joules += seconds * self.watts.get(&stay.state).copied().unwrap_or(0.0);
        }
        let mbit = |way| journal.bytes(way, since, until) as f64 * 8.0 / 1e6;
        energy.up_joules = mbit(Way::Up) * self.joules_per_mbit_up;
        energy.down_joules = mbit(Way::Down) * self.joules_per_mbit_down;
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
