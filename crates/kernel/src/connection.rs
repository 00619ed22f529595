//! One connection of the kernel: its identity, snapshots in the terms of the simulated TCP, time series of them.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt as names};
use tcp::{CongestionState, SenderSample, Stats, TcpState, Trigger};
use units::{BitsPerSec, Time};

use crate::{Error, TcpInfo, sockopt};

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
pub struct ConnectionSeries {
    /// Its samples, in chronological order.
    pub samples: Vec<SenderSample>,
    /// Times of its retransmissions - a buffer of one segment or several -, if seen: a trace sees them, polls do not.
    pub retransmitted_at: Vec<Time>,
}

/// Connections, and the time series of each.
pub type Motions = BTreeMap<Connection, ConnectionSeries>;

/// Appends `snapshot` to a connection's series, unless nothing has changed since the last one.
pub fn note_change(series: &mut Vec<SenderSample>, at: Time, snapshot: &ConnectionSnapshot) {
    let sample = SenderSample {
        at,
        trigger: Trigger::Look,
        state: snapshot.state(),
        stats: snapshot.stats(),
    };
    let same = |last: &SenderSample| {
        last.state == sample.state && still(&last.stats) == still(&sample.stats)
    };
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

/// `TCP_CA_NAME_MAX`
const NAME_BYTES: usize = 16;

/// Kernel state of one connection.
///
/// | [`Stats`] | the kernel's | where they differ |
/// |---|---|---|
/// | `bytes_sent` | `bytes_sent - bytes_retrans` | |
/// | `bytes_received` | `bytes_received` | the kernel counts the peer's FIN; it is subtracted here, except from a connection that is closed, where it is unknown whether one came |
/// | `segments_sent`, `segments_received` | `segs_out`, `segs_in` | |
/// | `retransmitted_segments`, `retransmitted_bytes` | `total_retrans`, `bytes_retrans` | |
/// | `delivered_segments` | `delivered - 1` | the kernel counts the handshake's |
/// | `timeouts` | `total_rto` | |
/// | `undone_reductions` | | always 0: the kernel counts them for the whole machine only |
/// | `srtt`, `min_rtt` | `rtt`, `min_rtt` | |
/// | `rttvar` | `rto >> backoff`, less `rtt` | the timeout's variance term; the kernel reports the mean deviation instead. To a tick |
/// | `rto` | `rto` | to a tick |
/// | `cwnd`, `ssthresh`, `congestion_state` | `snd_cwnd`, `snd_ssthresh`, `ca_state` | |
/// | `in_flight` | `unacked - sacked - lost + retrans` | |
/// | `pacing_rate` | `pacing_rate` | the kernel keeps one for every connection, to size its bursts; taken only if the controller paces by it |
/// | `established_at` | | always none: known to the end that opened or accepted the connection |
/// | `peer_window_bytes` | `snd_wnd` | |
/// | `unacknowledged_bytes`, `unsent_bytes` | `SIOCOUTQ`, `notsent_bytes` | a FIN that waits counts as a byte in both |
/// | `busy`, `rwnd_limited`, `sndbuf_limited` | `busy_time`, `rwnd_limited`, `sndbuf_limited` | up to now, not up to the last change; to a tick |
///
/// Source: Linux 6.18 `tcp_get_info`, `tcp_get_info_chrono_stats`, `tcp_ioctl`.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionSnapshot {
    /// Most of the state.
    pub info: TcpInfo,
    /// Written and not yet acknowledged.
    pub unacknowledged_bytes: u64,
    /// True if its congestion control paces its segments.
    pub paced: bool,
}

impl ConnectionSnapshot {
    /// Reads one of our own sockets: three system calls, a few microseconds.
    ///
    /// # Errors
    /// If it is not a TCP socket.
    pub fn of(socket: impl AsFd) -> Result<ConnectionSnapshot, Error> {
        let controller: [u8; NAME_BYTES] =
            sockopt::get(&socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION)
                .map_err(Error::system("failed to read TCP_CONGESTION"))?;
        Ok(ConnectionSnapshot {
            info: TcpInfo::of(&socket)?,
            unacknowledged_bytes: unacknowledged(&socket)?,
            paced: paces(&controller),
        })
    }

    /// State of the connection.
    pub fn state(&self) -> TcpState {
        // `include/net/tcp_states.h`; 10 is a listener, 12 a request that no socket shows.
        match self.info.state {
            1 => TcpState::Established,
            2 => TcpState::SynSent,
            3 | 12 => TcpState::SynReceived,
            4 => TcpState::FinWait1,
            5 => TcpState::FinWait2,
            6 => TcpState::TimeWait,
            8 => TcpState::CloseWait,
            9 => TcpState::LastAck,
            11 => TcpState::Closing,
            _ => TcpState::Closed,
        }
    }

    /// Its counters and estimates; see the module documentation for the exact meaning of each.
    pub fn stats(&self) -> Stats {
        let info = &self.info;
        let rto = micros(info.rto);
        let srtt = (info.rtt > 0).then(|| micros(info.rtt));
        Stats {
            bytes_sent: info.bytes_sent.saturating_sub(info.bytes_retrans),
            bytes_received: info.bytes_received.saturating_sub(self.fins_received()),
            segments_sent: info.segs_out.into(),
            segments_received: info.segs_in.into(),
            retransmitted_segments: info.total_retrans.into(),
            retransmitted_bytes: info.bytes_retrans,
            delivered_segments: u64::from(info.delivered).saturating_sub(1),
            timeouts: info.total_rto.into(),
            undone_reductions: 0,
            srtt,
            rttvar: unbacked(rto, info.backoff).saturating_sub(srtt.unwrap_or_default()),
            rto,
            min_rtt: (info.min_rtt != u32::MAX).then(|| micros(info.min_rtt)),
            cwnd: info.snd_cwnd,
            ssthresh: info.ssthresh(),
            in_flight: info.in_flight(),
            pacing_rate: self.pacing_rate(),
            congestion_state: congestion_state(info.ca_state),
            established_at: None,
            peer_window_bytes: info.snd_wnd.into(),
            unacknowledged_bytes: self.unacknowledged_bytes,
            unsent_bytes: info.notsent_bytes.into(),
            busy: Duration::from_micros(info.busy_time),
            rwnd_limited: Duration::from_micros(info.rwnd_limited),
            sndbuf_limited: Duration::from_micros(info.sndbuf_limited),
        }
    }

    fn fins_received(&self) -> u64 {
        let received =
            [TcpState::CloseWait, TcpState::LastAck, TcpState::Closing, TcpState::TimeWait]
                .contains(&self.state());
        received.into()
    }

    fn pacing_rate(&self) -> Option<BitsPerSec> {
        let rate = self.info.pacing_rate;
        (self.paced && rate != u64::MAX).then(|| BitsPerSec(rate.saturating_mul(8)))
    }
}

/// True if a congestion control, by its name up to the first zero, asks for pacing (`SK_PACING_NEEDED`).
pub(crate) fn paces(name: &[u8]) -> bool {
    name.split(|byte| *byte == 0).next() == Some(b"bbr")
}

pub(crate) fn congestion_state(number: u8) -> CongestionState {
    match number {
        0 => CongestionState::Open,
        1 => CongestionState::Disorder,
        2 => CongestionState::Cwr,
        3 => CongestionState::Recovery,
        _ => CongestionState::Loss,
    }
}

fn unacknowledged(socket: impl AsFd) -> Result<u64, Error> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (the same number as TIOCOUTQ) writes one integer.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    Errno::result(result).map_err(Error::system("failed to read SIOCOUTQ"))?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

fn micros(count: u32) -> Duration {
    Duration::from_micros(count.into())
}

/// The timeout before `backoff` doublings.
fn unbacked(rto: Duration, backoff: u8) -> Duration {
    rto / (1 << backoff.min(31))
}

// State of a kernel sender, for flows that are compared with simulated ones packet by packet.
//
// Source: tcp(7), Linux 6.18 `include/uapi/linux/tcp.h`.

/// A sender's state (`TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; none before it was ever set.
    pub ssthresh: Option<u32>,
    /// `enum tcp_ca_state`: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub congestion_state: u8,
    /// Smoothed round trip.
    pub srtt: Duration,
    /// Segments sent and not cumulatively acknowledged.
    pub sent: u32,
}

/// Reads a connection's state.
pub fn sender_state(stream: &TcpStream) -> Result<SenderState, Error> {
    let info = TcpInfo::of(stream)?;
    Ok(SenderState {
        cwnd: info.snd_cwnd,
        ssthresh: info.ssthresh(),
        congestion_state: info.ca_state,
        srtt: Duration::from_micros(u64::from(info.rtt)),
        sent: info.unacked,
    })
}

/// Pins the congestion control of the connections that a socket accepts. A new namespace inherits the machine's default, which may be
/// anything.
pub fn pin_congestion_control(listener: &TcpListener, name: &'static str) -> Result<(), Error> {
    setsockopt(&listener.as_fd(), names::TcpCongestion, &name.into())
        .map_err(Error::system("failed to choose the congestion control (is it in the kernel?)"))
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

    fn snapshot(info: TcpInfo) -> ConnectionSnapshot {
        ConnectionSnapshot { info, unacknowledged_bytes: 0, paced: false }
    }

    #[test]
    fn bytes_count_once_and_fins_not_at_all() {
        let info = TcpInfo {
            state: 8,
            bytes_sent: 5000,
            bytes_retrans: 1000,
            bytes_received: 301,
            ..TcpInfo::default()
        };
        let stats = snapshot(info).stats();
        assert_eq!((stats.bytes_sent, stats.bytes_received), (4000, 300));
        let stats = snapshot(TcpInfo { state: 1, ..info }).stats();
        assert_eq!(stats.bytes_received, 301, "established: no FIN came");
    }

    #[test]
    fn the_variance_term_is_that_of_a_timeout_without_back_off() {
        let info = TcpInfo { rto: 1_200_000, backoff: 2, rtt: 100_000, ..TcpInfo::default() };
        assert_eq!(snapshot(info).stats().rttvar, Duration::from_millis(200));
    }

    #[test]
    fn a_rate_counts_where_it_is_used() {
        let info = TcpInfo { pacing_rate: 1000, ..TcpInfo::default() };
        assert_eq!(snapshot(info).stats().pacing_rate, None);
        let paced = ConnectionSnapshot { paced: true, ..snapshot(info) };
        assert_eq!(paced.stats().pacing_rate, Some(BitsPerSec(8000)));
        let unlimited = TcpInfo { pacing_rate: u64::MAX, ..info };
        assert_eq!(ConnectionSnapshot { info: unlimited, ..paced }.stats().pacing_rate, None);
        assert!(paces(b"bbr\0\0") && !paces(b"bbr2\0") && !paces(b"cubic\0"));
    }
}
