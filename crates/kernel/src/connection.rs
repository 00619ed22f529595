//! Identity and time series of connections that are not our own.

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
    /// The other end's address.
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

/// Time series of one end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Motion {
    /// Its samples, in chronological order.
    pub samples: Vec<Sample>,
    /// Times of its retransmissions - a buffer of one segment or several -, if seen: a trace sees them, polls do not.
    pub retransmitted_at: Vec<Time>,
}

/// Connections, and the time series of each.
pub type Motions = BTreeMap<Connection, Motion>;
