//! Which connection, and how it moved: for connections that are not our own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use nix::errno::Errno;
use tcp::Sample;
use units::Time;

use crate::sockopt;

/// One end of a connection of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection {
    /// Its own address.
    pub local: SocketAddr,
    /// The other end's.
    pub peer: SocketAddr,
    /// The socket's [number](cookie): two testbeds have the same addresses.
    pub cookie: u64,
}

/// A socket's number (`SO_COOKIE`), unique on the machine since Linux 5.10 (`sock_gen_cookie`), within its network namespace before.
///
/// # Errors
/// As the kernel's.
pub fn cookie(socket: impl AsFd) -> Result<u64, Errno> {
    let bytes = sockopt::get(socket, libc::SOL_SOCKET, libc::SO_COOKIE)?;
    Ok(u64::from_ne_bytes(bytes))
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
