//! Clock, alarm and scheduling priority of a process.
//!
//! The alarm is a descriptor that becomes readable, to the microsecond: event loops count in milliseconds (epoll_wait(2)); the modelled cost of a client's processor is less than one. Source: timerfd_create(2).

use std::fs;
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

/// Time for which the threads of a process were ready to run and waited for a processor. Zero if `/proc` does not show the process, or is of a
/// kernel without this count. Source: Linux `Documentation/scheduler/sched-stats.rst`, `/proc/<pid>/schedstat`.
pub fn processor_wait(process: u32) -> Duration {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Duration::ZERO };
    let texts =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("schedstat")).ok());
    Duration::from_nanos(texts.filter_map(|text| run_delay_nanos(&text)).sum())
}

/// The second number of a thread's `schedstat`.
fn run_delay_nanos(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(run_delay_nanos("96935 2908169 2\n"), Some(2_908_169));
        assert_eq!(run_delay_nanos("96935"), None);
    }

    #[test]
    fn threads_that_share_a_processor_wait() {
        let process = std::process::id();
        let (before, began) = (processor_wait(process), monotonic());
        let seen = AtomicBool::new(false);
        let busy = || {
            while !seen.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let more_than_processors = 2 * thread::available_parallelism().unwrap().get();
        thread::scope(|scope| {
            (0..more_than_processors).for_each(|_| drop(scope.spawn(busy)));
            while processor_wait(process) == before && monotonic() < began + Duration::from_secs(60)
            {
            }
            seen.store(true, Ordering::Relaxed);
        });
        assert!(monotonic() < began + Duration::from_secs(60), "no wait was counted");
        assert_eq!(processor_wait(u32::MAX), Duration::ZERO, "there is no such process");
    }
}
