//! Errors of set-up and running of an emulation.

use std::io;

use nix::errno::Errno;

/// Reason why there is no emulation, or no valid one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a system call.
    #[error("{what}: {errno}")]
    System {
        /// The attempted operation, and a remedy.
        what: &'static str,
        /// Reason for the refusal.
        errno: Errno,
    },
    /// A file could not be read or written, or a program not started.
    #[error("{what}: {source}")]
    Io {
        /// The attempted operation.
        what: String,
        /// Cause of the failure.
        source: io::Error,
    },
    /// `ip` failed.
    #[error("`ip` failed: {message}; iproute2 must be installed")]
    Ip {
        /// Its error message.
        message: String,
    },
    /// Neither wire could be set up.
    #[error("cannot create a veth pair ({veth}) or a TAP device ({tap})")]
    NoWire {
        /// Reason why there is no veth with a packet socket.
        veth: Box<Error>,
        /// Reason why there is no TAP device.
        tap: Box<Error>,
    },
    /// A program that belongs in a sandbox runs outside of one.
    #[error("this command is for farlink itself, which starts it inside a sandbox")]
    NotInSandbox,
    /// The kernel's TCP could not be inspected or configured.
    #[error(transparent)]
    Kernel(#[from] kernel::Error),
    /// Request to an emulator that has ended.
    #[error("the emulator has ended")]
    Ended,
    /// A thread of the emulation panicked.
    #[error("the {0} thread panicked")]
    Panicked(&'static str),
}

impl Error {
    /// For `map_err` on a system call.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(Errno) -> Error {
        move |errno| Error::System { what, errno }
    }

    /// For `map_err` on input and output.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }
}
