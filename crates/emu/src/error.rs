//! What can go wrong while an emulation is set up or runs.

use std::io;

use nix::errno::Errno;

/// Why there is no emulation, or no valid one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a system call.
    #[error("{what}: {errno}")]
    System {
        /// What was attempted, and what to do about it.
        what: &'static str,
        /// Why it was refused.
        errno: Errno,
    },
    /// A file could not be read or written, or a program not started.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// `ip` did not do what it was told.
    #[error("`ip` failed: {message}; iproute2 must be installed")]
    Ip {
        /// What it said.
        message: String,
    },
    /// Neither wire could be laid.
    #[error("no wire to the emulator could be laid: {veth}; and instead of veth: {tap}")]
    NoWire {
        /// Why there is no veth with a packet socket.
        veth: Box<Error>,
        /// Why there is no TAP device.
        tap: Box<Error>,
    },
    /// A program that belongs into a sandbox runs outside of one.
    #[error("this command is for farlink itself, which starts it inside a sandbox")]
    NotInSandbox,
    /// The kernel's TCP did not let itself be seen or set.
    #[error(transparent)]
    Kernel(#[from] kernel::Error),
    /// Somebody asked an emulator that is gone.
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
