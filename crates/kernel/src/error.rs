//! Errors between this program and the kernel.

use std::io;

use nix::errno::Errno;

/// An operation that the kernel refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call.
    #[error("{what}: {errno}")]
    System {
        /// The attempted operation, and a remedy.
        what: &'static str,
        /// Reason for the refusal.
        errno: Errno,
    },
    /// A file below `/proc` or `/sys`.
    #[error("{what}: {source}")]
    Io {
        /// The attempted operation.
        what: String,
        /// Cause of the failure.
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
