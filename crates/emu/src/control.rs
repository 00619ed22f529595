//! Control of a running emulator from other threads.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};
use units::Time;

use crate::observer::DropPart;
use crate::{EmulatedDrop, EmulatedLinkReport, EmulatedRadioReport, Error, Punctuality, Wire};

/// State and totals of an emulator so far.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Time of the snapshot, by the emulator's [`EmulatorClock`](crate::Clock).
    pub at: Time,
    /// Each link, in the topology's order: `up`, `down`, `hop/1/up`, ...
    pub links: Vec<EmulatedLinkReport>,
    /// The clients' radios, by their numbers; none if the network has none.
    pub radios: Vec<EmulatedRadioReport>,
    /// Packets dropped by links, for all causes: the length of the drop log.
    pub dropped: u64,
    /// Lateness of packet delivery.
    pub punctuality: Punctuality,
    /// Packets that the kernel dropped before the emulator because it was too slow.
    pub overruns: u64,
    /// Packets that could not be carried: an end refused them, or they could not be segmented.
    pub refused: u64,
    /// True if the emulator's thread has precedence over ordinary threads.
    pub realtime: bool,
    /// Kind of its wires.
    pub wire: Wire,
    /// Limit of the lateness of 99 of 100 packets: [`Punctuality::LIMIT`] or, if the wire has no arrival timestamps, about half of that.
    pub limit: Duration,
}

impl Snapshot {
    /// Checks that the emulated times are valid: no packet lost outside of the links, and at most one in a hundred late by more than the limit.
    pub fn check(&self) -> Result<(), TimingError> {
        if self.overruns > 0 {
            return Err(TimingError::Overrun(self.overruns));
        }
        if self.refused > 0 {
            return Err(TimingError::Refused(self.refused));
        }
        if self.punctuality.p99 > self.limit {
            return Err(TimingError::Late(self.punctuality));
        }
        Ok(())
    }
}

/// Reason why the times of an emulation are not those of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// Packets were lost before the emulator saw them.
    #[error("the emulator lost {0} packets because it was too slow")]
    Overrun(u64),
    /// Packets were lost behind the links, or could not be carried at all.
    #[error("{0} packets could not be carried or handed over (is an interface down?)")]
    Refused(u64),
    /// Packets were delivered late.
    #[error("packets were delivered late ({0})")]
    Late(Punctuality),
}

/// Request to an emulator.
pub(crate) enum ControlRequest {
    Stop,
    Snapshot(Sender<Snapshot>),
    /// The drop log from this index on.
    Drops(u64, Sender<DropPart>),
}

/// A handle to an emulator that runs in another thread. All handles are equivalent; an emulator goes on when they are dropped.
#[derive(Clone)]
pub struct ControlSocket {
    requests: Sender<ControlRequest>,
    bell: Arc<EventFd>,
}

impl ControlSocket {
    /// Ends the emulation. Packets on their way stay there.
    pub fn stop(&self) {
        // An emulator that has ended has nothing to stop.
        let _ = self.ask(ControlRequest::Stop);
    }

    /// State and totals of the emulator so far.
    ///
    /// # Errors
    /// If the emulator has ended.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        let (answer, answered) = mpsc::channel();
        self.ask(ControlRequest::Snapshot(answer))?;
        answered.recv().map_err(|_| Error::Ended)
    }

    /// All remembered drops except the first `since`: the log keeps the last [`DropLog::REMEMBERED`](crate::DropLog::REMEMBERED).
    ///
    /// # Errors
    /// If the emulator has ended.
    pub fn drops(&self, since: u64) -> Result<Vec<EmulatedDrop>, Error> {
        let (mut next, mut drops) = (since, Vec::new());
        loop {
            let (answer, answered) = mpsc::channel();
            self.ask(ControlRequest::Drops(next, answer))?;
            let part = answered.recv().map_err(|_| Error::Ended)?;
            if part.drops.is_empty() {
                return Ok(drops);
            }
            next = part.from + part.drops.len() as u64;
            drops.extend(part.drops);
        }
    }

    fn ask(&self, request: ControlRequest) -> Result<(), Error> {
        self.requests.send(request).map_err(|_| Error::Ended)?;
        // It can only fail if there is no reader.
        let _ = self.bell.write(1);
        Ok(())
    }
}

/// The emulator's end of its handles.
pub(crate) struct ControlInbox {
    control: ControlSocket,
    requests: Receiver<ControlRequest>,
}

impl ControlInbox {
    pub(crate) fn new() -> Result<ControlInbox, Error> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let bell = EventFd::from_value_and_flags(0, flags)
            .map_err(Error::system("failed to make an event descriptor"))?;
        let (sender, requests) = mpsc::channel();
        Ok(ControlInbox {
            control: ControlSocket { requests: sender, bell: Arc::new(bell) },
            requests,
        })
    }

    pub(crate) fn control(&self) -> ControlSocket {
        self.control.clone()
    }

    /// The next request.
    pub(crate) fn next(&self) -> Option<ControlRequest> {
        self.requests.try_recv().ok()
    }

    /// Readable when there are requests.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.control.bell.as_fd()
    }

    /// Resets the bell; call before reading requests.
    pub(crate) fn silence(&self) {
        // It fails if the bell did not ring.
        let _ = self.control.bell.read();
    }
}
