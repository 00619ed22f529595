//! Punctuality of an emulated visit, which tells whether its times are credible.

use serde::{Deserialize, Serialize};

/// Punctuality of the emulator, from the beginning of the journey to the end of the visit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulationRecord {
    /// Packets delivered.
    pub delivered_packets: u64,
    /// Median lateness of deliveries, past their due times.
    pub late_p50_ns: u64,
    /// 99th percentile of lateness.
    pub late_p99_ns: u64,
    /// Maximum lateness.
    pub late_max_ns: u64,
    /// True if the emulator's thread had real-time priority.
    pub realtime: bool,
    /// Attempts at emulating the journey until the emulator was on time; 1 if the first succeeded.
    pub attempts: u32,
    /// Kernel that provided TCP: `uname -r`.
    pub kernel: String,
}
