//! What both ends of a TLS connection are told, each value with its source.

use std::fmt;
use std::time::Duration;

use super::clock::PLAN_START;
use super::identity::Identity;
use super::provider::Randomness;

/// How a connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Security {
    /// Not at all: HTTP in clear text.
    None,
    /// By TLS 1.2 (RFC 5246): two round trips.
    Tls12,
    /// By TLS 1.3 (RFC 8446): one round trip.
    Tls13,
}

impl Security {
    /// What it is called in results: `none`, `tls12`, `tls13`.
    pub fn name(self) -> &'static str {
        match self {
            Security::None => "none",
            Security::Tls12 => "tls12",
            Security::Tls13 => "tls13",
        }
    }

    /// The version of TLS, if there is TLS.
    pub fn version(self) -> Option<Version> {
        match self {
            Security::None => None,
            Security::Tls12 => Some(Version::Tls12),
            Security::Tls13 => Some(Version::Tls13),
        }
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A version of TLS. An end speaks the one that it is told and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Version {
    Tls12,
    Tls13,
}

impl Version {
    /// rustls's name for it, alone.
    pub(super) fn only(self) -> [&'static rustls::SupportedProtocolVersion; 1] {
        match self {
            Version::Tls12 => [&rustls::version::TLS12],
            Version::Tls13 => [&rustls::version::TLS13],
        }
    }
}

/// What is spoken inside a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// HTTP/1.0: a connection a request.
    H10,
    /// HTTP/1.1.
    H1,
    /// HTTP/2.
    H2,
    /// SPDY, in one of its versions.
    Spdy(spdy::Version),
    /// HTTP/3, over QUIC.
    H3,
}

impl Protocol {
    /// All that run over TCP, the preferred first.
    pub const OVER_TCP: [Protocol; 5] = [
        Protocol::H2,
        Protocol::Spdy(spdy::Version::V31),
        Protocol::Spdy(spdy::Version::V3),
        Protocol::Spdy(spdy::Version::V2),
        Protocol::H1,
    ];

    /// What it is called in results: `h1.0`, `h1`, `h2`, `spdy` (which is SPDY/3.1), `spdy/3`, `spdy/2`, `h3`.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::H10 => "h1.0",
            Protocol::H1 => "h1",
            Protocol::H2 => "h2",
            Protocol::Spdy(spdy::Version::V31) => "spdy",
            Protocol::Spdy(version) => version.name(),
            Protocol::H3 => "h3",
        }
    }

    /// Its name in ALPN (RFC 7301; RFC 9113 section 3.2, RFC 9114 section 3.1).
    pub fn alpn(self) -> &'static [u8] {
        match self {
            Protocol::H10 => b"http/1.0",
            Protocol::H1 => b"http/1.1",
            Protocol::H2 => b"h2",
            Protocol::Spdy(version) => version.name().as_bytes(),
            Protocol::H3 => b"h3",
        }
    }

    /// The protocol of this name in ALPN.
    pub fn from_alpn(name: &[u8]) -> Option<Protocol> {
        let mut all = Protocol::OVER_TCP.into_iter().chain([Protocol::H3]);
        all.find(|protocol| protocol.alpn() == name)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The most plaintext that a record can hold (RFC 8446 section 5.1).
pub(super) const MAX_RECORD_BYTES: usize = 16_384;

/// The settings of one end.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The most plaintext that goes into one record. The default is the protocol's maximum, 16,384, as in
    /// browsers, Apache and nginx (`ssl_buffer_size`); a receiver can use nothing of a record before its
    /// last byte is there, so servers tuned for latency begin with about 1,400.
    pub record_bytes: usize,
    /// The most plaintext that is taken from HTTP before the transport has taken what was encrypted
    /// earlier. The default is one record: what waits here can no longer be reordered.
    pub buffer_bytes: usize,
    /// The date, since 1970, at which the world's clock starts: for the age of tickets.
    pub start: Duration,
    /// Where randomness comes from.
    pub randomness: Randomness,
    /// What a server presents. The default is Ed25519; browsers need [`Identity::Rsa2048`].
    pub identity: Identity,
    /// What a server agrees to speak, the preferred first. The default is HTTP/2, then SPDY, then HTTP/1.1: the
    /// client's offer decides. A browser offers both, so an arm of HTTP/1.1 needs a server without
    /// HTTP/2.
    pub protocols: Vec<Protocol>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            record_bytes: MAX_RECORD_BYTES,
            buffer_bytes: MAX_RECORD_BYTES,
            start: PLAN_START,
            randomness: Randomness::System,
            identity: Identity::Ed25519,
            protocols: Protocol::OVER_TCP.to_vec(),
        }
    }
}

impl Settings {
    /// `record_bytes` as rustls counts: with the record's header of 5 bytes, between 32 and its maximum.
    pub(super) fn max_fragment_size(&self) -> Option<usize> {
        const RECORD_HEADER: usize = 5;
        Some(self.record_bytes.clamp(32, MAX_RECORD_BYTES) + RECORD_HEADER)
    }
}
