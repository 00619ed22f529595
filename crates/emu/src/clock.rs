//! The machine's clock as the emulator's time.
//!
//! All times below count nanoseconds of `CLOCK_MONOTONIC` since the emulation began, as [`Time`]. That clock is shared by all processes and
//! namespaces of a machine, so every process that knows when it [began](Clock::began) has the same time. The kernel stamps packets with
//! `CLOCK_REALTIME`; a stamp's age is taken on that clock and subtracted here, so a step of the wall clock between two packets affects neither.

use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use units::Time;

/// Counts nanoseconds since an emulation began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    began: Duration,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Clock {
        Clock { began: read(ClockId::CLOCK_MONOTONIC) }
    }

    /// The clock of an emulation that began at this reading of `CLOCK_MONOTONIC`.
    pub const fn begun_at(monotonic: Duration) -> Clock {
        Clock { began: monotonic }
    }

    /// Reading of `CLOCK_MONOTONIC` when the emulation began.
    pub const fn began(&self) -> Duration {
        self.began
    }

    /// The current time.
    pub fn now(&self) -> Time {
        Time::ZERO + read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.began)
    }

    /// Time of a kernel packet timestamp.
    pub(crate) fn of_stamp(&self, stamp: TimeSpec) -> Time {
        let age = read(ClockId::CLOCK_REALTIME).saturating_sub(Duration::from(stamp));
        self.now() - age
    }
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock).expect("Linux has had this clock since 2.6");
    Duration::from(time)
}
