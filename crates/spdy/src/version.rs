//! The three deployed versions, and their differences, as data.

use std::fmt;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// SPDY/2, Chrome 6 to 27: lengths of 16 bits in header blocks, four priorities, no flow control.
    V2,
    /// SPDY/3, Chrome 16 to 32: lengths of 32 bits, `:path` and similar names, eight priorities, a window for each
    /// stream.
    V3,
    /// SPDY/3.1, Chrome 28 to 50: SPDY/3 with a window for the session too.
    V31,
}

impl Version {
    /// Every version, the preferred first.
    pub const ALL: [Version; 3] = [Version::V31, Version::V3, Version::V2];

    /// Its name, which is also its ALPN id: `spdy/3.1`.
    pub fn name(self) -> &'static str {
        match self {
            Version::V2 => "spdy/2",
            Version::V3 => "spdy/3",
            Version::V31 => "spdy/3.1",
        }
    }

    /// The number in control frames; 3.1 is written as 3 (2.2.1).
    pub fn number(self) -> u16 {
        match self {
            Version::V2 => 2,
            Version::V3 | Version::V31 => 3,
        }
    }

    /// Returns true if each stream has a flow-control window.
    pub(crate) fn has_stream_windows(self) -> bool {
        self != Version::V2
    }

    /// Returns true if the session has a flow-control window.
    pub(crate) fn has_session_window(self) -> bool {
        self == Version::V31
    }

    /// The least urgent priority: 7, of 3 bits; in version 2 only 3, of 2 bits.
    pub(crate) fn lowest_priority(self) -> u8 {
        match self {
            Version::V2 => 3,
            Version::V3 | Version::V31 => 7,
        }
    }

    /// The dictionary of header compression (2.6.10.1).
    pub(crate) fn dictionary(self) -> &'static [u8] {
        match self {
            Version::V2 => include_bytes!("../data/dictionary-2.bin"),
            Version::V3 | Version::V31 => include_bytes!("../data/dictionary-3.bin"),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1950 section 8.2.
    fn adler32(bytes: &[u8]) -> u32 {
        let (mut a, mut b) = (1u32, 0u32);
        for byte in bytes {
            a = (a + u32::from(*byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        b << 16 | a
    }

    #[test]
    fn the_dictionaries_are_those_that_every_capture_names() {
        // The zlib headers of SPDY/2 and SPDY/3 captures: `78 bb df a2 51 b2` and `78 bb e3 c6 a7 c2`.
        assert_eq!(Version::V2.dictionary().len(), 907);
        assert_eq!(adler32(Version::V2.dictionary()), 0xdfa2_51b2);
        assert_eq!(Version::V3.dictionary().len(), 1423);
        assert_eq!(adler32(Version::V31.dictionary()), 0xe3c6_a7c2);
    }
}
