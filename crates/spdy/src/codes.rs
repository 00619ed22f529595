//! The protocol's numbers: stream ids, priorities, status codes of resets of streams and ends of sessions.

use std::fmt;

use crate::Version;

/// The status of a RST_STREAM (2.6.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResetReason(pub u32);

impl ResetReason {
    /// A generic error, where nothing more specific fits.
    pub const PROTOCOL_ERROR: ResetReason = ResetReason(1);
    /// A frame came for a stream that is not active.
    pub const INVALID_STREAM: ResetReason = ResetReason(2);
    /// The stream was refused before any processing: it may be retried.
    pub const REFUSED_STREAM: ResetReason = ResetReason(3);
    /// The recipient does not speak the version of the SYN_STREAM.
    pub const UNSUPPORTED_VERSION: ResetReason = ResetReason(4);
    /// The stream is no longer wanted.
    pub const CANCEL: ResetReason = ResetReason(5);
    /// The sender of the status has failed.
    pub const INTERNAL_ERROR: ResetReason = ResetReason(6);
    /// The peer broke the rules of flow control.
    pub const FLOW_CONTROL_ERROR: ResetReason = ResetReason(7);
    /// A second SYN_REPLY. Since version 3.
    pub const STREAM_IN_USE: ResetReason = ResetReason(8);
    /// A frame on a stream whose sender had ended it. Since version 3.
    pub const STREAM_ALREADY_CLOSED: ResetReason = ResetReason(9);
    /// The client certificate of the stream is not accepted. In version 3 only.
    pub const INVALID_CREDENTIALS: ResetReason = ResetReason(10);
    /// The frame is larger than this end takes. Since version 3.
    pub const FRAME_TOO_LARGE: ResetReason = ResetReason(11);

    /// The status in `version`: codes that version 2 lacks become PROTOCOL_ERROR there.
    pub(crate) fn in_version(self, version: Version) -> ResetReason {
        match version {
            Version::V2 if self > ResetReason::FLOW_CONTROL_ERROR => ResetReason::PROTOCOL_ERROR,
            _ => self,
        }
    }
}

/// The status of a GOAWAY (2.6.6). Version 2 has none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseReason(pub u32);

impl CloseReason {
    /// An orderly end.
    pub const OK: CloseReason = CloseReason(0);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: CloseReason = CloseReason(1);
    /// The sender of the status has failed.
    pub const INTERNAL_ERROR: CloseReason = CloseReason(2);
    /// The peer broke the rules of the session's flow control (2.6.8, which gives no number: that of RST_STREAM).
    pub const FLOW_CONTROL_ERROR: CloseReason = CloseReason(7);
}

const RESETS: [&str; 12] = [
    "0",
    "PROTOCOL_ERROR",
    "INVALID_STREAM",
    "REFUSED_STREAM",
    "UNSUPPORTED_VERSION",
    "CANCEL",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "STREAM_IN_USE",
    "STREAM_ALREADY_CLOSED",
    "INVALID_CREDENTIALS",
    "FRAME_TOO_LARGE",
];

impl fmt::Display for ResetReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match RESETS.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "status {}", self.0),
        }
    }
}

impl fmt::Debug for ResetReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CloseReason::OK => f.write_str("OK"),
            CloseReason::PROTOCOL_ERROR => f.write_str("PROTOCOL_ERROR"),
            CloseReason::INTERNAL_ERROR => f.write_str("INTERNAL_ERROR"),
            CloseReason::FLOW_CONTROL_ERROR => f.write_str("FLOW_CONTROL_ERROR"),
            CloseReason(status) => write!(f, "status {status}"),
        }
    }
}

impl fmt::Debug for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A stream's priority: 0 is the most urgent, 7 the least (2.3.3).
///
/// Version 2 has 0 to 3. Its draft calls 0 the lowest, but Chrome, mod_spdy and spdylay all used 0 for the most
/// urgent in that version, too, and so does this crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The most urgent.
    pub const HIGHEST: Priority = Priority(0);
    /// The least urgent. A frame of version 2 carries it as 3.
    pub const LOWEST: Priority = Priority(7);

    /// The priority `level`; values above 7 count as 7.
    pub fn new(level: u8) -> Priority {
        Priority(level.min(Priority::LOWEST.0))
    }

    /// 0 to 7.
    pub fn level(self) -> u8 {
        self.0
    }
}

/// Identifies a stream in its session: 31 bits, odd if the client opened it, even if the server did (2.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

impl StreamId {
    /// No stream; in a WINDOW_UPDATE of SPDY/3.1 the session.
    pub const ZERO: StreamId = StreamId(0);

    /// The stream with this number. The first bit is reserved and dropped.
    pub fn new(number: u32) -> StreamId {
        StreamId(number & 0x7fff_ffff)
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// Returns true if it is one of the client's.
    pub(crate) fn is_clients(self) -> bool {
        self.0 % 2 == 1
    }

    /// Returns true if it is 0.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
