//! Waiting for a sandbox to end.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use emu::Clock;
use emu::sandbox::Sandbox;
use nix::poll::PollTimeout;
use units::Time;

use super::code_of;
use super::signals::{Event, Signals};
use crate::failure::Failure;

/// Time for a command to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// Forwards signals to the command inside, and kills everything inside if the command does not heed them.
pub struct Watch {
    sandbox: Sandbox,
    signals: Signals,
    clock: Clock,
    /// The signal that asked the command to end, and the deadline for it.
    asked: Option<(u8, Time)>,
    resized: bool,
}

impl Watch {
    /// Watches over `sandbox`, which ends with it.
    pub fn new(sandbox: Sandbox, signals: Signals) -> Watch {
        Watch { sandbox, signals, clock: Clock::start(), asked: None, resized: false }
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
    pub fn heed(&mut self) -> Result<Option<u8>, Failure> {
        while let Some(event) = self.signals.next() {
            match event {
                Event::Child => {
                    if let Some(status) = self.sandbox.try_wait().map_err(Failure::machine)? {
                        return Ok(Some(code_of(status)));
                    }
                }
                Event::Resized => self.resized = true,
                Event::End(signal) => self.ask(signal as u8),
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
