//! The number of a stream.

use std::fmt;

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
    pub fn is_clients(self) -> bool {
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
