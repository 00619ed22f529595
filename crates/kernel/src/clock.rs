//! The clock shared by processes.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC` now: the same in every process and namespace of a machine, unless a time namespace shifts it.
pub fn monotonic() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has had this clock since 2.6").into()
}
