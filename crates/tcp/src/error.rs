//! Errors that end a connection early.

use thiserror::Error;

/// The connection is gone; neither reading nor writing can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The peer refused the connection (`ECONNREFUSED`).
    #[error("the peer refused the connection: nothing listens there")]
    Refused,
    /// The peer reset the connection (`ECONNRESET`).
    #[error("the peer reset the connection")]
    Reset,
    /// The peer did not answer (`ETIMEDOUT`).
    #[error("the peer did not answer any retransmission in time")]
    TimedOut,
    /// This end aborted the connection.
    #[error("the connection was aborted by this end")]
    Aborted,
}
