//! Scheduling of a thread that has to be on time, and the machine's clock as its time.
//!
//! Source: sched(7), sched_setattr(2), Linux 6.12 `kernel/sched/fair.c` (slices that tasks choose).

use std::mem;
use std::time::Duration;

use libc::{SCHED_FIFO, SCHED_OTHER, sched_attr, sched_param};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use units::Time;

/// Just above ordinary threads, below the kernel's own.
const PRIORITY: i32 = 2;
/// The shortest slice that Linux grants: a thread that asks for little runs soon.
const SLICE: Duration = Duration::from_micros(100);

/// Asks for wake-ups to the nanosecond and, if the caller may, for precedence over all ordinary threads. Returns true if it has precedence. If
/// not, it still runs before threads that ask for longer slices, since Linux 6.12.
pub(crate) fn prioritise() -> bool {
    // SAFETY: this option takes an integer and touches no memory of ours. Timers would otherwise be late by up to 50 us.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    // SAFETY: all fields are integers; musl's structure has more of them than the kernel's, which are unused.
    let mut parameter: sched_param = unsafe { mem::zeroed() };
    parameter.sched_priority = PRIORITY;
    // SAFETY: the pointer is valid during the call, which only reads it; 0 is the calling thread.
    let is_first = unsafe { libc::sched_setscheduler(0, SCHED_FIFO, &raw const parameter) == 0 };
    if !is_first {
        shorten_slice();
    }
    is_first
}

/// Asks for the shortest slice. An older kernel ignores it.
fn shorten_slice() {
    // SAFETY: touches no memory; 0 is the calling thread.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = sched_attr {
        size: mem::size_of::<sched_attr>() as u32,
        sched_policy: SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: SLICE.as_nanos() as u64,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the pointer is valid during the call, which only reads `size` bytes; 0 is the calling thread. The C library has no such function.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

// The machine's clock as the emulator's time.
//
// All times below count nanoseconds of `CLOCK_MONOTONIC` since the emulation began, as [`Time`]. That clock is shared by all processes and
// namespaces of a machine, so every process that knows when it [began](Clock::began) has the same time. The kernel stamps packets with
// `CLOCK_REALTIME`; a stamp's age is taken on that clock and subtracted here, so a step of the wall clock between two packets affects neither.

/// Counts nanoseconds since an emulation began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulatorClock {
    began: Duration,
}

impl EmulatorClock {
    /// A clock that begins now.
    pub fn start() -> EmulatorClock {
        EmulatorClock { began: read(ClockId::CLOCK_MONOTONIC) }
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
