//! The two ends of an emulation, and their addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that opens connections.
    Client,
    /// The side that accepts them.
    Server,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Side; 2] = [Side::Client, Side::Server];

    /// Its first IPv4 address.
    pub const fn address(self) -> Ipv4Addr {
        match self {
            Side::Client => Ipv4Addr::new(10, 0, 0, 1),
            Side::Server => Ipv4Addr::new(10, 0, 0, 2),
        }
    }

    /// Its first IPv6 address, unique local (RFC 4193).
    pub const fn address_v6(self) -> Ipv6Addr {
        match self {
            Side::Client => Ipv6Addr::new(0xfd00, 0xfa, 0, 0, 0, 0, 0, 1),
            Side::Server => Ipv6Addr::new(0xfd00, 0xfa, 0, 0, 0, 0, 0, 2),
        }
    }

    /// The opposite side.
    pub const fn peer(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}
