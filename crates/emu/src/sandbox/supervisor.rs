//! The sandbox as its first process sees it, from inside.

use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::getpid;

use super::mounts::{self, TemporaryFiles};
use super::names::Names;
use crate::Error;
use crate::isolate::{ORPHANED, die_with_parent};

/// Environment variable with the descriptor of the supervisor's end of the channel.
pub(super) const CHANNEL_VARIABLE: &str = "FARLINK_SANDBOX_CHANNEL";

/// The first process of a sandbox.
#[derive(Debug)]
pub struct Supervisor {
    channel: UnixStream,
    temporary: Option<TemporaryFiles>,
}

impl Supervisor {
    /// Makes the calling process the supervisor of the sandbox in which it was [started](super::Sandbox::start): mounts are private from
    /// here on, and `/proc` shows the sandbox's processes if the kernel permits it. Call it before any thread is started.
    pub fn enter() -> Result<Supervisor, Error> {
        let channel = inherited_channel()?;
        if getpid().as_raw() != 1 {
            return Err(Error::NotInSandbox);
        }
        // Again: the exec of a program that its user may not read clears it (prctl(2)).
        die_with_parent().map_err(Error::system("failed to bind the sandbox to its owner"))?;
        end_with(&channel)?;
        mounts::make_private()?;
        mounts::show_own_processes();
        Ok(Supervisor { channel, temporary: None })
    }

    /// The connection to the owner's [`channel`](super::Sandbox::channel).
    pub fn channel(&self) -> &UnixStream {
        &self.channel
    }

    /// Sets `names` for every process in the sandbox.
    pub fn set_names(&self, names: &Names) -> Result<(), Error> {
        mounts::set_names(names)
    }

    /// A directory in memory for files of processes in the sandbox; it hides the machine's `/tmp`.
    pub fn temporary_directory(&mut self) -> Result<&Path, Error> {
        if self.temporary.is_none() {
            self.temporary = Some(TemporaryFiles::mount()?);
        }
        Ok(TemporaryFiles::PATH.as_ref())
    }

    /// Waits until any child process of the supervisor ends, its own or adopted: the first process of a
    /// namespace inherits all orphans. Not to be mixed with [`Child::wait`](std::process::Child::wait), which waits for a process that this may
    /// have reaped already.
    pub fn reap(&self) -> Result<Reaped, Error> {
        loop {
            let (pid, status) = match wait() {
                Ok(WaitStatus::Exited(pid, code)) => (pid, ExitStatus::from_raw(code << 8)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => {
                    (pid, ExitStatus::from_raw(signal as i32))
                }
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(errno) => {
                    return Err(Error::System { what: "failed to wait for a process", errno });
                }
            };
            return Ok(Reaped { id: pid.as_raw().cast_unsigned(), status });
        }
    }
}

/// A process that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaped {
    /// Its id, as in [`Child::id`](std::process::Child::id).
    pub id: u32,
    /// Its exit status.
    pub status: ExitStatus,
}

/// Takes the channel over, so that no node inherits it or learns of it.
#[expect(clippy::disallowed_methods, reason = "the owner and its supervisor speak through it once")]
fn inherited_channel() -> Result<UnixStream, Error> {
    let number = std::env::var(CHANNEL_VARIABLE).map_err(|_| Error::NotInSandbox)?;
    let number: RawFd = number.parse().map_err(|_| Error::NotInSandbox)?;
    // SAFETY: the program has only just begun: no other thread reads the environment.
    unsafe { std::env::remove_var(CHANNEL_VARIABLE) };
    // SAFETY: the owner opened it for this process, which has not touched it before; a number that is not open fails below.
    let channel = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl(&channel, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).map_err(|_| Error::NotInSandbox)?;
    Ok(UnixStream::from(channel))
}

/// Ends the process, and with it the sandbox, when the other end of the channel is closed.
fn end_with(channel: &UnixStream) -> Result<(), Error> {
    let channel = channel.try_clone().map_err(Error::io("failed to copy a descriptor"))?;
    std::thread::spawn(move || {
        // No events: a hang-up is always reported (poll(2)), and data is for another reader.
        let mut fds = [PollFd::new(channel.as_fd(), PollFlags::empty())];
        while poll(&mut fds, PollTimeout::NONE) == Err(Errno::EINTR) {}
        // SAFETY: leaves at once.
        unsafe { libc::_exit(ORPHANED) }
    });
    Ok(())
}
