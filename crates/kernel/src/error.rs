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
}

impl Error {
    /// For `map_err` on a system call.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(Errno) -> Error {
        move |errno| Error::System { what, errno }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let Error::System { errno, .. } = &error;
        io::Error::new(io::Error::from(*errno).kind(), error)
    }
}
