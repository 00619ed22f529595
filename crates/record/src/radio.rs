//! Activity of the client's radio during a visit.

use serde::{Deserialize, Serialize};

/// A radio's account, from navigation start to the visit's end. Energies are microjoules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioRecord {
    /// The radio, as written in a network's settings: `radio=umts`.
    pub radio: String,
    /// Number of promotions to a better connected state, with packets waiting.
    pub promotions: u32,
    /// Total energy spent during the visit.
    pub energy_uj: u64,
    /// Part of it spent on sending, on top of the cost of states.
    pub up_uj: u64,
    /// Part of it spent on receiving.
    pub down_uj: u64,
    /// Tail energy: spent after the visit until the radio is at rest, if nothing else is sent.
    pub tail_uj: u64,
    /// States that the radio was in.
    pub states: Vec<RadioStateRecord>,
}

/// Time and energy of one state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioStateRecord {
    /// Name of the state, in the words of its standard.
    pub state: String,
    /// Total time in it.
    pub span_ns: u64,
    /// Energy spent in it.
    pub energy_uj: u64,
}
