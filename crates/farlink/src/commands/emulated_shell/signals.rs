//! Signals as events, and farlink's reaction while a command runs inside.
//!
//! A terminal sends its signals to all processes in the foreground, farlink and the command alike: the command
//! decides about Ctrl-C. A signal sent to farlink alone is forwarded to the command.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::failure::Failure;

/// `SI_KERNEL` (sigaction(2)): the kernel sent it, here on behalf of a terminal.
const SENT_BY_KERNEL: i32 = 0x80;

/// A signal's meaning to farlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A child ended, or stopped.
    Child,
    /// The terminal was resized.
    Resized,
    /// This signal asks farlink to end.
    End(i32),
}

/// The signals of this process, blocked and read as events. Programs that it starts get theirs as usual.
pub struct Signals(SignalFd);

impl Signals {
    /// Blocks them; call it before any thread is started, because threads inherit the mask.
    pub fn take() -> Result<Signals, Failure> {
        let ends = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored(&status);
        // A signal that farlink's parent ignores stays ignored (nohup).
        let heeded = ends.into_iter().filter(|signal| ignored >> (*signal as u32 - 1) & 1 == 0);
        let set = heeded.chain([Signal::SIGCHLD, Signal::SIGWINCH]).collect::<SigSet>();
        let failure = |errno| Failure::machine(format!("cannot watch for signals: {errno}"));
        set.thread_block().map_err(failure)?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        SignalFd::with_flags(&set, flags).map(Signals).map_err(failure)
    }

    /// The next event not yet returned.
    pub fn next(&self) -> Option<Event> {
        loop {
            let info = self.0.read_signal().ok().flatten()?;
            let signal = Signal::try_from(info.ssi_signo.cast_signed()).ok()?;
            match signal {
                Signal::SIGCHLD => return Some(Event::Child),
                Signal::SIGWINCH => return Some(Event::Resized),
                Signal::SIGINT | Signal::SIGQUIT if info.ssi_code == SENT_BY_KERNEL => {}
                signal => return Some(Event::End(signal as i32)),
            }
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The set of ignored signals in the text of `/proc/PID/status`, signal N as bit N - 1.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let hangup = 1 << (Signal::SIGHUP as u32 - 1);
        assert_eq!(ignored("SigBlk:\t0\nSigIgn:\t0000000000001001\n"), 0x1000 | hangup);
        assert_eq!(ignored(""), 0);
    }
}
