//! Identity and time series of connections that are not our own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use tcp::{Sample, Stats, Trigger};
use units::Time;

use crate::{ConnectionSnapshot, sockopt};

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

/// Appends `snapshot` to a connection's series, unless nothing has changed since the last one.
pub fn note_change(series: &mut Vec<Sample>, at: Time, snapshot: &ConnectionSnapshot) {
    let sample =
        Sample { at, trigger: Trigger::Look, state: snapshot.state(), stats: snapshot.stats() };
    let same =
        |last: &Sample| last.state == sample.state && still(&last.stats) == still(&sample.stats);
    if !series.last().is_some_and(same) {
        series.push(sample);
    }
}

/// The part that changes with events only: limit clocks run on their own while there is something to send.
fn still(stats: &Stats) -> Stats {
    Stats {
        busy: Duration::ZERO,
        rwnd_limited: Duration::ZERO,
        sndbuf_limited: Duration::ZERO,
        ..stats.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpInfo;

    #[test]
    fn only_changes_are_kept() {
        let mut series = Vec::new();
        let mut look = |at, info| {
            let snapshot = ConnectionSnapshot { info, unacknowledged_bytes: 0, paced: false };
            note_change(&mut series, Time::from_millis(at), &snapshot);
        };
        let info = TcpInfo { state: 1, snd_cwnd: 10, busy_time: 1, ..TcpInfo::default() };
        look(1, info);
        look(2, TcpInfo { busy_time: 1001, ..info });
        look(3, TcpInfo { snd_cwnd: 11, ..info });
        look(4, TcpInfo { snd_cwnd: 11, state: 4, ..info });
        let kept: Vec<u64> = series.iter().map(|sample| sample.at.as_nanos() / 1_000_000).collect();
        assert_eq!(kept, [1, 3, 4]);
    }
}
