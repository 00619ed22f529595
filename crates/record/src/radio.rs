//! What the client's radio did during a visit.

use serde::{Deserialize, Serialize};

/// A radio's account, from navigation start to the visit's end. Energies are microjoules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioRecord {
    /// The radio, as a network's settings say it: `radio=umts`.
    pub radio: String,
    /// How often it had to get better connected, with packets waiting.
    pub promotions: u32,
    /// All that it spent during the visit.
    pub energy_uj: u64,
    /// Of that on sending, beside what its states cost.
    pub up_uj: u64,
    /// On receiving.
    pub down_uj: u64,
    /// What it spends after the visit until it has come to rest, if nothing else is sent: the visit's tail.
    pub tail_uj: u64,
    /// The states that it was in.
    pub states: Vec<RadioStateRecord>,
}

/// One state's share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioStateRecord {
    /// Which, in the words of its standard.
    pub state: String,
    /// For how long in all.
    pub span_ns: u64,
    /// What it cost.
    pub energy_uj: u64,
}
