//! Signals as events, and farlink's reaction while a command runs inside.
//!
//! A terminal sends its signals to all processes in the foreground, farlink and the command alike: the command
//! decides about Ctrl-C. A signal sent to farlink alone is forwarded to the command.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use emu::EmulatorClock;
use emu::sandbox::Sandbox;
use nix::poll::PollTimeout;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use units::Time;

use super::code_of;
use crate::failure::CliError;

/// `SI_KERNEL` (sigaction(2)): the kernel sent it, here on behalf of a terminal.
const SENT_BY_KERNEL: i32 = 0x80;

/// A signal's meaning to farlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalEvent {
    /// A child ended, or stopped.
    Child,
    /// The terminal was resized.
    Resized,
    /// This signal asks farlink to end.
    End(i32),
}

/// The signals of this process, blocked and read as events. Programs that it starts get theirs as usual.
pub struct ShellSignals(SignalFd);

impl ShellSignals {
    /// Blocks them; call it before any thread is started, because threads inherit the mask.
    pub fn take() -> Result<ShellSignals, CliError> {
        let ends = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored(&status);
        // A signal that farlink's parent ignores stays ignored (nohup).
        let heeded = ends.into_iter().filter(|signal| ignored >> (*signal as u32 - 1) & 1 == 0);
        let set = heeded.chain([Signal::SIGCHLD, Signal::SIGWINCH]).collect::<SigSet>();
        let failure = |errno| CliError::machine(format!("cannot watch for signals: {errno}"));
        set.thread_block().map_err(failure)?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        SignalFd::with_flags(&set, flags).map(ShellSignals).map_err(failure)
    }

    /// The next event not yet returned.
    pub fn next(&self) -> Option<SignalEvent> {
        loop {
            let info = self.0.read_signal().ok().flatten()?;
            let signal = Signal::try_from(info.ssi_signo.cast_signed()).ok()?;
            match signal {
                Signal::SIGCHLD => return Some(SignalEvent::Child),
                Signal::SIGWINCH => return Some(SignalEvent::Resized),
                Signal::SIGINT | Signal::SIGQUIT if info.ssi_code == SENT_BY_KERNEL => {}
                signal => return Some(SignalEvent::End(signal as i32)),
            }
        }
    }
}

impl AsFd for ShellSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The set of ignored signals in the text of `/proc/PID/status`, signal N as bit N - 1.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default()
}

/// Time for a command to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// Forwards signals to the command inside, and kills everything inside if the command does not heed them.
pub struct SandboxWatch {
    sandbox: Sandbox,
    signals: ShellSignals,
    clock: EmulatorClock,
    /// The signal that asked the command to end, and the deadline for it.
    asked: Option<(u8, Time)>,
    resized: bool,
}

impl SandboxWatch {
    /// Watches over `sandbox`, which ends with it.
    pub fn new(sandbox: Sandbox, signals: ShellSignals) -> SandboxWatch {
        SandboxWatch {
            sandbox,
            signals,
            clock: EmulatorClock::start(),
            asked: None,
            resized: false,
        }
    }

    /// The watched sandbox.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Readable when there is an event to [heed](Watch::heed).
    pub fn signals(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }

    /// Timeout of a wait: there is something to heed then even if nothing happens.
    pub fn timeout(&self) -> PollTimeout {
        self.asked.map_or(PollTimeout::NONE, |(_, until)| {
            let left = until - self.clock.now() + Duration::from_millis(1);
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        })
    }

    /// Reacts to events; returns the exit code at the end.
    pub fn heed(&mut self) -> Result<Option<u8>, CliError> {
        while let Some(event) = self.signals.next() {
            match event {
                SignalEvent::Child => {
                    if let Some(status) = self.sandbox.try_wait().map_err(CliError::machine)? {
                        return Ok(Some(code_of(status)));
                    }
                }
                SignalEvent::Resized => self.resized = true,
                SignalEvent::End(signal) => self.ask(signal as u8),
            }
        }
        let now = self.clock.now();
        Ok(self.asked.filter(|(_, until)| *until <= now).map(|(signal, _)| 128 + signal))
    }

    /// Returns true if the terminal was resized since the last call.
    pub fn take_resized(&mut self) -> bool {
        std::mem::take(&mut self.resized)
    }

    fn ask(&mut self, signal: u8) {
        // Fails if the sandbox is already ending.
        let _ = self.sandbox.channel().write_all(&[signal]);
        self.asked.get_or_insert((signal, self.clock.now() + PATIENCE));
    }
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
