//! What an emulated visit says of its emulation: whether its times can be believed.

use serde::{Deserialize, Serialize};

/// How punctual the emulator was, from the beginning of the journey to the end of the visit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulationRecord {
    /// Packets that it delivered.
    pub delivered_packets: u64,
    /// Half of them were delivered no later than this after they were due.
    pub late_p50_ns: u64,
    /// 99 of 100.
    pub late_p99_ns: u64,
    /// All of them.
    pub late_max_ns: u64,
    /// Whether the emulator's thread had precedence over ordinary threads.
    pub realtime: bool,
    /// How often the journey was emulated until the emulator was on time; 1 if it was at once.
    pub attempts: u32,
    /// The kernel whose TCP it was: `uname -r`.
    pub kernel: String,
}
