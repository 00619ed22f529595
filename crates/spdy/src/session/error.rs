//! What ends a session, and what a command may be refused for.

use thiserror::Error;

use crate::compress::InflateError;
use crate::frame::FrameError;
use crate::{CloseReason, FieldError, StreamId};

/// What the peer did that ends the session (2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// Its bytes are no frames.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Its header blocks cannot be inflated: no later one could be.
    #[error(transparent)]
    Inflate(#[from] InflateError),
    /// It opened a stream with a number that it may not use (2.3.2).
    #[error("it opened stream {stream}, after {last}, which its role and order forbid")]
    StreamId {
        /// The number.
        stream: StreamId,
        /// The last that it had used.
        last: StreamId,
    },
    /// A server pushed a stream that belongs to none (3.3.2).
    #[error("it pushed stream {0}, which belongs to no request")]
    Unassociated(StreamId),
    /// In version 2: DATA before the reply to its stream.
    #[error("it sent data on stream {0} before its reply")]
    DataBeforeReply(StreamId),
    /// It sent more than the session's window.
    #[error("it sent more than the session's window")]
    Overrun,
    /// It would have made a window greater than 2^31 - 1.
    #[error("it would have made a window greater than 2^31 - 1")]
    WindowOverflow,
    /// It sent a WINDOW_UPDATE of 0 for the session.
    #[error("it moved the session's window by nothing")]
    EmptyUpdate,
    /// It presented a client certificate, which is refused.
    #[error(
        "it presented a client certificate in a CREDENTIAL frame, which this end does not take"
    )]
    Credential,
    /// It sent more of something than any use has.
    #[error("it floods this end with {0}")]
    Flood(&'static str),
}

impl SessionError {
    /// What the peer is told.
    pub fn reason(&self) -> CloseReason {
        match self {
            SessionError::Overrun | SessionError::WindowOverflow | SessionError::EmptyUpdate => {
                CloseReason::FLOW_CONTROL_ERROR
            }
            _ => CloseReason::PROTOCOL_ERROR,
        }
    }
}

/// Why no stream was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The session is over, or one of its ends has said that it will be.
    #[error("the session takes no new streams")]
    Closed,
    /// As many are open as the peer allows: wait until one has ended.
    #[error("the peer allows {0} streams at once")]
    Full(u32),
    /// All 2^30 numbers are used.
    #[error("the session has used all its stream numbers")]
    Exhausted,
    /// A pushed stream's request is not open (any more).
    #[error("stream {0} is not open: nothing can be pushed for it")]
    Associated(StreamId),
    /// Its fields break a rule.
    #[error(transparent)]
    Fields(#[from] FieldError),
}

/// Why a stream's command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// The stream is gone, or this end has ended its half: the peer may have reset it.
    #[error("nothing can be sent on stream {0} any more")]
    Closed(StreamId),
    /// The fields break a rule.
    #[error(transparent)]
    Fields(#[from] FieldError),
}
