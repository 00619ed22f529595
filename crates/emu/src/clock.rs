//! The machine's clock as the emulator's time.
//!
//! Everything below counts nanoseconds of `CLOCK_MONOTONIC` since the emulation began, as [`Time`]. That clock is one for all processes and
//! namespaces of a machine, so that whoever is told when it [began](Clock::began) counts alike. The kernel stamps packets with
//! `CLOCK_REALTIME`; a stamp's age is taken on that clock and subtracted here, so that a step of the wall clock between two
//! packets moves neither.

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

    /// What `CLOCK_MONOTONIC` read when the emulation began.
    pub const fn began(&self) -> Duration {
        self.began
    }

    /// The time.
    pub fn now(&self) -> Time {
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
