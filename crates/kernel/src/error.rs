//! What can go wrong between this program and the kernel.

use std::io;

use nix::errno::Errno;

/// What the kernel refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call.
    #[error("{what}: {errno}")]
    System {
        /// What was attempted, and what to do about it.
        what: &'static str,
        /// Why it was refused.
        errno: Errno,
    },
    /// A file below `/proc` or `/sys`.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
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

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match &error {
            Error::System { errno, .. } => io::Error::from(*errno).kind(),
            Error::Io { source, .. } => source.kind(),
        };
        io::Error::new(kind, error)
    }
}
