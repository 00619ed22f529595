//! Clock, alarm and scheduling priority of a process.
//!
//! The alarm is a descriptor that becomes readable, to the microsecond: event loops count in milliseconds (epoll_wait(2)); the modelled cost of a client's processor is less than one. Source: timerfd_create(2).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::clock_gettime;

use crate::Error;

/// Rings once.
#[derive(Debug)]
pub struct Alarm(TimerFd);

impl Alarm {
    /// An alarm that becomes readable after `span`.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn after(span: Duration) -> Result<Alarm, Error> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let set = || {
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            // Zero would mean never.
            let span = TimeSpec::from(span.max(Duration::from_nanos(1)));
            timer.set(Expiration::OneShot(span), TimerSetTimeFlags::empty())?;
            Ok(Alarm(timer))
        };
        set().map_err(Error::system("failed to set an alarm"))
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Alarm {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// `CLOCK_MONOTONIC` now: the same in every process and namespace of a machine, unless a time namespace shifts it.
pub fn monotonic() -> Duration {
    clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
        .expect("Linux has had this clock since 2.6")
        .into()
}

/// Nice value of the calling process: a tenth of the processor time of others (sched(7)).
const NICE: i32 = 10;

/// Lets all programs of ordinary priority run before the calling process, and before those that it starts: an emulator without
/// precedence over ordinary threads then has it over these.
pub fn give_way() {
    // SAFETY: touches no memory of ours; 0 is the calling process. Lowering the priority is always permitted.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}
