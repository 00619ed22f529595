//! Events and errors of a session for its owner.

use bytes::Bytes;
use thiserror::Error;

use crate::compress::InflateError;
use crate::frame::{FrameError, Settings};
use crate::{CloseReason, FieldError, Fields, Priority, ResetReason, StreamId};

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer has opened a stream: a request, or to a client a pushed response.
    Opened {
        /// The new stream.
        stream: StreamId,
        /// The stream of the request that a pushed response belongs to; 0 otherwise.
        associated: StreamId,
        /// Priority of the stream.
        priority: Priority,
        /// Its fields.
        fields: Fields,
        /// True if the peer sends nothing more on it.
        fin: bool,
        /// The frame's size on the wire.
        wire_bytes: usize,
    },
    /// The peer has answered a stream that this end opened.
    Replied(Message),
    /// More fields on a stream.
    Headers(Message),
    /// A piece of a stream's data. Each must be released by [`Session::consume`](super::Session::consume) once it
    /// is used, even if its stream is gone.
    Data {
        /// The stream.
        stream: StreamId,
        /// The piece.
        payload: Bytes,
        /// True if the peer sends nothing more on it.
        fin: bool,
    },
    /// The peer has reset a stream, or has announced by GOAWAY that it never accepted it (as REFUSED_STREAM). The
    /// stream is gone.
    Reset {
        /// The stream.
        stream: StreamId,
        /// The status code.
        reason: ResetReason,
    },
    /// The peer violated the rules on a stream, and this end has reset it. The stream is gone.
    Broken {
        /// The stream.
        stream: StreamId,
        /// The status code sent to the peer.
        reason: ResetReason,
    },
    /// The last byte of this end's half of a stream was handed to the transport.
    Sent {
        /// The stream.
        stream: StreamId,
    },
    /// The peer has answered the PING with this id.
    Pong(u32),
    /// The peer has sent SETTINGS, which are in effect already. Values that a server wants kept are left to the owner.
    Settings(Settings),
    /// The peer accepts no new streams.
    GoAway {
        /// The last that it accepted.
        last: StreamId,
        /// The status code.
        reason: CloseReason,
    },
    /// The session is over: the queued bytes end with a GOAWAY, then the transport is to be closed.
    Failed(SessionError),
}

/// Fields received for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The stream.
    pub stream: StreamId,
    /// Its fields.
    pub fields: Fields,
    /// True if the peer sends nothing more on it.
    pub fin: bool,
    /// The frame's size on the wire.
    pub wire_bytes: usize,
}

/// Violation by the peer that ends the session (2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// Its bytes are not valid frames.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Its header blocks cannot be inflated, nor can any later one.
    #[error(transparent)]
    Inflate(#[from] InflateError),
    /// It opened a stream with a number that is not allowed (2.3.2).
    #[error("the peer opened stream {stream} after {last}, out of order or of the wrong parity")]
    StreamId {
        /// The number.
        stream: StreamId,
        /// The last number that it had used.
        last: StreamId,
    },
    /// A server pushed a stream without an associated one (3.3.2).
    #[error("the peer pushed stream {0} without an associated request")]
    Unassociated(StreamId),
    /// In version 2: DATA before the reply to its stream.
    #[error("the peer sent data on stream {0} before its SYN_REPLY")]
    DataBeforeReply(StreamId),
    /// It exceeded the session's window.
    #[error("the peer exceeded the session's window")]
    Overrun,
    /// It would have increased a window beyond 2^31 - 1.
    #[error("the peer enlarged a window beyond 2^31 - 1")]
    WindowOverflow,
    /// It sent a WINDOW_UPDATE of 0 for the session.
    #[error("the peer sent a WINDOW_UPDATE of 0 for the session")]
    EmptyUpdate,
    /// It presented a client certificate, which is refused.
    #[error("the peer sent a CREDENTIAL frame, which is unsupported")]
    Credential,
    /// It sent an excessive number of frames of some kind.
    #[error("the peer floods the session with {0}")]
    Flood(&'static str),
}

impl SessionError {
    /// The status code for the peer.
    pub fn reason(&self) -> CloseReason {
        match self {
            SessionError::Overrun | SessionError::WindowOverflow | SessionError::EmptyUpdate => {
                CloseReason::FLOW_CONTROL_ERROR
            }
            _ => CloseReason::PROTOCOL_ERROR,
        }
    }
}

/// Reason for not opening a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The session is over, or one of its ends has announced its end.
    #[error("the session accepts no new streams")]
    Closed,
    /// The peer's limit of streams is reached: wait until one has ended.
    #[error("the peer allows {0} streams at once")]
    Full(u32),
    /// All 2^30 numbers are used.
    #[error("the session has used up its stream numbers")]
    Exhausted,
    /// A pushed stream's request is not open (any more).
    #[error("cannot push: stream {0} is not open")]
    Associated(StreamId),
    /// Its fields violate a rule.
    #[error(transparent)]
    Fields(#[from] FieldError),
}

/// Reason for refusing a stream's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// The stream is gone, or this end's half is closed: the peer may have reset it.
    #[error("cannot send on stream {0}: this end has closed it")]
    Closed(StreamId),
    /// The fields violate a rule.
    #[error(transparent)]
    Fields(#[from] FieldError),
}
