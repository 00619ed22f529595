//! Settings of both ends of a TLS connection, each value with its source.

use std::fmt;
use std::time::Duration;

use super::identity::{ChainKind, Identity};
use super::model::Modelled;
use super::records::{MAX_RECORD_BYTES, Records};
use crate::determinism::PLAN_START;
use crate::determinism::Randomness;

/// The security of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Security {
    /// Not at all: HTTP in clear text.
    None,
    /// By TLS 1.2 (RFC 5246): two round trips.
    Tls12,
    /// By TLS 1.3 (RFC 8446): one round trip.
    Tls13,
    /// None, but with the flights and records of a TLS that rustls does not speak. Only between two farlink ends.
    Modelled(Modelled),
}

impl Security {
    /// Its name in results: `none`, `tls12`, `tls13`, `modelled tls10`.
    pub fn name(self) -> &'static str {
        match self {
            Security::None => "none",
            Security::Tls12 => "tls12",
            Security::Tls13 => "tls13",
            Security::Modelled(modelled) => modelled.name(),
        }
    }

    /// Returns true if its URLs begin with `https`.
    pub fn is_secure(self) -> bool {
        self != Security::None
    }

    /// The version of TLS, if there is TLS.
    pub fn version(self) -> Option<Version> {
        match self {
            Security::None | Security::Modelled(_) => None,
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

/// A version of TLS. An end speaks only the version that it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Version {
    Tls12,
    Tls13,
}

impl Version {
    /// The version in rustls's terms, alone.
    pub(super) fn only(self) -> [&'static rustls::SupportedProtocolVersion; 1] {
        match self {
            Version::Tls12 => [&rustls::version::TLS12],
            Version::Tls13 => [&rustls::version::TLS13],
        }
    }
}

/// The application protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// HTTP/1.0: one connection per request.
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
    /// All protocols over TCP, the preferred first.
    pub const OVER_TCP: [Protocol; 5] = [
        Protocol::H2,
        Protocol::Spdy(spdy::Version::V31),
        Protocol::Spdy(spdy::Version::V3),
        Protocol::Spdy(spdy::Version::V2),
        Protocol::H1,
    ];

    /// Its name in results: `h1.0`, `h1`, `h2`, `spdy` (which is SPDY/3.1), `spdy/3`, `spdy/2`, `h3`.
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

    /// The protocol with this ALPN name.
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

/// Session resumption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// None: every handshake is a full one.
    Off,
    /// By stateless tickets (RFC 5077; RFC 8446 section 4.6.1).
    #[default]
    Tickets,
    /// As before, and over TLS 1.3 requests leave with the client's first flight (RFC 8446 section 2.3). The server
    /// remembers its sessions, so that early data cannot be replayed.
    EarlyData,
}

/// The group of TLS 1.3's key exchange (RFC 8446 section 4.2.7) that an end prefers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// X25519: shares of 32 bytes.
    #[default]
    X25519,
    /// X25519MLKEM768, as today's browsers: shares of 1,216 and 1,120 bytes. The client sends one of X25519 beside it.
    X25519MlKem768,
}

/// The settings of one end.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The size of records. The default is the protocol's maximum.
    pub records: Records,
    /// The most plaintext accepted from HTTP before the transport has accepted what was encrypted earlier. The default
    /// is one record: data that waits here can no longer be reordered.
    pub buffer_bytes: usize,
    /// The date, since 1970, at which the world's clock starts: for the age of tickets.
    pub start: Duration,
    /// The source of randomness.
    pub randomness: Randomness,
    /// The preferred group of the key exchange.
    pub group: Group,
    /// The server's identity. The default is Ed25519; browsers need [`Identity::Rsa2048`].
    pub identity: Identity,
    /// The certificates that a server sends.
    pub chain: ChainKind,
    /// The size of the OCSP response that a server staples to them (RFC 6066 section 8), 0 for none. Its content is
    /// filler: our clients do not check whether a public test key was revoked.
    pub staple_bytes: usize,
    /// The sessions that are resumed.
    pub resumption: Resumption,
    /// The protocols that a server accepts, the preferred first. The default is HTTP/2, then SPDY, then HTTP/1.1: the
    /// client's offer decides. A browser offers both, so an HTTP/1.1 arm needs a server without HTTP/2.
    pub protocols: Vec<Protocol>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            records: Records::default(),
            buffer_bytes: MAX_RECORD_BYTES,
            start: PLAN_START,
            randomness: Randomness::System,
            group: Group::default(),
            identity: Identity::Ed25519,
            chain: ChainKind::Whole,
            staple_bytes: 0,
            resumption: Resumption::default(),
            protocols: Protocol::OVER_TCP.to_vec(),
        }
    }
}

impl Settings {
    /// The size of records in rustls's terms: including the record's header of 5 bytes, between 32 and its maximum.
    /// Varying sizes are made above rustls.
    pub(super) fn max_fragment_size(&self) -> Option<usize> {
        const RECORD_HEADER: usize = 5;
        let bytes = match self.records {
            Records::Fixed(bytes) => bytes,
            Records::Dynamic => MAX_RECORD_BYTES,
        };
        Some(bytes.clamp(32, MAX_RECORD_BYTES) + RECORD_HEADER)
    }
}
