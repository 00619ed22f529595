//! Errors of parsing and encoding packets.

use std::fmt;

use thiserror::Error;

/// A checksum that a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The IPv4 header's.
    Ipv4,
    /// TCP's.
    Tcp,
    /// UDP's.
    Udp,
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Checksum::Ipv4 => "IPv4 header",
            Checksum::Tcp => "TCP",
            Checksum::Udp => "UDP",
        })
    }
}

/// Reason why bytes are not a packet that this crate reads: failed to parse a packet, because ...
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// A header is cut short or contradicts itself.
    #[error("{0}")]
    Malformed(String),
    /// A fragment of a larger packet.
    #[error("the packet is a fragment; only whole packets are read")]
    Fragment,
    /// Neither TCP nor UDP.
    #[error("the packet carries IP protocol {0}; only TCP (6) and UDP (17) are read")]
    Protocol(u8),
    /// Damaged on the way, or left to hardware to fill in.
    #[error("the {0} checksum does not fit the packet's bytes")]
    Checksum(Checksum),
}

/// Reason why a packet cannot be encoded: failed to write a packet, because ...
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// An IP packet has at most 65535 bytes.
    #[error("it would have {bytes} bytes, and an IP packet has at most 65535")]
    TooLong {
        /// Number of bytes it would have.
        bytes: usize,
    },
    /// TCP has room for 40 bytes of options.
    #[error("its options take {bytes} bytes, and TCP has room for 40")]
    Options {
        /// Number of bytes they take.
        bytes: usize,
    },
}

impl ParseError {
    pub(crate) fn malformed(error: impl fmt::Display) -> ParseError {
        ParseError::Malformed(error.to_string())
    }
}
