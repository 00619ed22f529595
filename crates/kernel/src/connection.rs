//! Which connection, and how it moved: for connections that are not our own.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tcp::Sample;
use units::Time;

/// One end of a connection of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection {
    /// Its own address.
    pub local: SocketAddr,
    /// The other end's.
    pub peer: SocketAddr,
    /// The socket's number (`SO_COOKIE`), unique on the machine: two testbeds have the same addresses.
    pub cookie: u64,
}

/// How one end moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Motion {
    /// Its samples, in time's order.
    pub samples: Vec<Sample>,
    /// When it sent something again - a buffer of one segment or several -, where that is seen: a trace sees it, looks do not.
    pub retransmitted_at: Vec<Time>,
}

/// Connections, and how each moved.
pub type Motions = BTreeMap<Connection, Motion>;
