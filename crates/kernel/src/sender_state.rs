//! State of a kernel sender, for flows that are compared with simulated ones packet by packet.
//!
//! Source: tcp(7), Linux 6.18 `include/uapi/linux/tcp.h`.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt as names};

use crate::{Error, TcpInfo};

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
