//! Events of a session for its owner.

use bytes::Bytes;

use super::SessionError;
use crate::frame::Settings;
use crate::{CloseReason, Fields, Priority, ResetReason, StreamId};

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
