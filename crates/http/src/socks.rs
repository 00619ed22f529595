//! SOCKS: a proxy protocol for connections, independent of their content.
//!
//! Version 5 (RFC 1928) with no authentication or a name and a password (RFC 1929); version 4 and 4A (Y.-D. Lee,
//! "SOCKS: A protocol for TCP proxy across firewalls", and its "simple extension") on the server's side. The messages
//! are sans-IO. To a handler a request is a `CONNECT`: the same handler and rules answer both.
//!
//! Left out: GSSAPI, which RFC 1928 demands and no implementation offers, and the commands BIND and UDP ASSOCIATE,
//! which are refused by their code.

pub mod client;
mod code;
mod destination;
mod handshake;
pub mod server;

pub use code::{Code, reply};
pub use destination::{Destination, Host};
pub use handshake::{Event, Handshake, Refusal};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// SOCKS4 and SOCKS4A.
    V4,
    /// SOCKS5.
    V5,
}

impl Version {
    /// Its name in logs: `socks4`, `socks5`.
    pub fn name(self) -> &'static str {
        match self {
            Version::V4 => "socks4",
            Version::V5 => "socks5",
        }
    }

    /// The version whose messages begin with this byte.
    pub fn of_first_byte(byte: u8) -> Option<Version> {
        match byte {
            4 => Some(Version::V4),
            5 => Some(Version::V5),
            _ => None,
        }
    }
}

/// Methods of authentication (RFC 1928 section 3).
mod method {
    pub(super) const NONE: u8 = 0;
    pub(super) const PASSWORD: u8 = 2;
    pub(super) const UNACCEPTABLE: u8 = 0xff;
}
