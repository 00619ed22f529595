//! What a session tells its owner.

use bytes::Bytes;

use super::SessionError;
use crate::frame::Settings;
use crate::{CloseReason, Fields, Priority, ResetReason, StreamId};

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer has opened a stream: a request, or to a client a pushed response.
    Opened {
        /// The new stream.
        stream: StreamId,
        /// The stream of the request that a pushed response belongs to; 0 otherwise.
        associated: StreamId,
        /// How urgent it is.
        priority: Priority,
        /// What it says.
        fields: Fields,
        /// The peer sends nothing more on it.
        fin: bool,
        /// The frame's size on the wire.
        wire_bytes: usize,
    },
    /// The peer has answered a stream that this end opened.
    Replied(Message),
    /// More fields on a stream.
    Headers(Message),
    /// A piece of a stream's data. Each must be given back by [`Session::consume`](super::Session::consume) once it is
    /// used, also if its stream is gone.
    Data {
        /// The stream.
        stream: StreamId,
        /// The piece.
        payload: Bytes,
        /// The peer sends nothing more on it.
        fin: bool,
    },
    /// The peer has reset a stream, or has said by GOAWAY that it never took it (as REFUSED_STREAM). The stream is gone.
    Reset {
        /// The stream.
        stream: StreamId,
        /// Why.
        reason: ResetReason,
    },
    /// The peer broke the rules on a stream, and this end has reset it. The stream is gone.
    Broken {
        /// The stream.
        stream: StreamId,
        /// What the peer was told.
        reason: ResetReason,
    },
    /// The last byte that this end sends on a stream was handed to the transport.
    Sent {
        /// The stream.
        stream: StreamId,
    },
    /// The peer has answered the PING with this id.
    Pong(u32),
    /// The peer has sent SETTINGS, which are obeyed already. What a server wants kept is the owner's affair.
    Settings(Settings),
    /// The peer takes no new streams.
    GoAway {
        /// The last that it took.
        last: StreamId,
        /// Why.
        reason: CloseReason,
    },
    /// The session is over: what waits to be sent ends with a GOAWAY, then the transport is to be closed.
    Failed(SessionError),
}

/// Fields that came for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The stream.
    pub stream: StreamId,
    /// What they say.
    pub fields: Fields,
    /// The peer sends nothing more on it.
    pub fin: bool,
    /// The frame's size on the wire.
    pub wire_bytes: usize,
}
