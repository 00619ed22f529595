//! The machine's clock as the emulator's time.
//!
//! Everything below counts nanoseconds of `CLOCK_MONOTONIC` since the emulator began, as [`Time`]. The kernel stamps packets with
//! `CLOCK_REALTIME`; a stamp's age is taken on that clock and subtracted here, so that a step of the wall clock between two
//! packets moves neither.

use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use units::Time;

/// Nanoseconds since the emulator began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Duration,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { began: read(ClockId::CLOCK_MONOTONIC) }
    }

    pub(crate) fn now(&self) -> Time {
        Time::ZERO + read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.began)
    }

    /// When the kernel stamped a packet.
    pub(crate) fn of_stamp(&self, stamp: TimeSpec) -> Time {
        let age = read(ClockId::CLOCK_REALTIME).saturating_sub(Duration::from(stamp));
        self.now() - age
    }
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock).expect("Linux has had this clock since 2.6");
    Duration::from(time)
}
