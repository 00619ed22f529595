//! The sandbox as its owner sees it, from outside.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::supervisor::CHANNEL_VARIABLE;
use super::warden::Warden;
use crate::{Error, Privilege};

/// A running sandbox. Dropping it ends it, with everything in it.
///
/// The kernel also ends it when the *thread* that started it ends: start it on a thread that outlives it.
#[derive(Debug)]
pub struct Sandbox {
    warden: Child,
    channel: UnixStream,
}

impl Sandbox {
    /// Starts `supervisor` in a new sandbox, a program that calls [`Supervisor::enter`](super::Supervisor::enter) before anything else. Its standard
    /// streams, arguments, environment and directory are the command's own.
    pub fn start(mut supervisor: Command) -> Result<Sandbox, Error> {
        let (channel, far) =
            UnixStream::pair().map_err(Error::io("failed to make a socket pair"))?;
        let far = OwnedFd::from(far);
        supervisor.env(CHANNEL_VARIABLE, far.as_raw_fd().to_string());
        let warden = Warden::new(Privilege::available());
        let enter = move || {
            // The channel is the one descriptor that survives the exec, in this child alone.
            fcntl(&far, FcntlArg::F_SETFD(FdFlag::empty()))?;
            warden.part().map_err(io::Error::from)
        };
        // SAFETY: fcntl is a system call, and `Warden::part` may be called between fork and exec.
        unsafe { supervisor.pre_exec(enter) };
        let warden = supervisor.spawn().map_err(Error::io("failed to start a sandbox"))?;
        // The command is dropped here, and with it our copy of the far end: end of file on the channel means that the supervisor is gone.
        drop(supervisor);
        Ok(Sandbox { warden, channel })
    }

    /// The connection to the supervisor's [`channel`](super::Supervisor::channel).
    pub fn channel(&self) -> &UnixStream {
        &self.channel
    }

    /// The supervisor's exit status, if it has ended; 128 + N if signal N killed it.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.warden.try_wait().map_err(Error::io("failed to wait for a sandbox"))
    }

    /// Waits until the supervisor ends by itself.
    pub fn wait(&mut self) -> Result<ExitStatus, Error> {
        self.warden.wait().map_err(Error::io("failed to wait for a sandbox"))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.warden.kill();
        let _ = self.warden.wait();
    }
}
