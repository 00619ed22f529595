//! `struct tcp_info`, as returned by `TCP_INFO` and `INET_DIAG_INFO`.
//!
//! Source: Linux 6.18 `include/uapi/linux/tcp.h`, `tcp_get_info`. A kernel fills the fields that it knows; the rest is zero: `delivered` came with
//! Linux 4.18, `bytes_sent` with 4.19, `snd_wnd` with 5.4, `total_rto` with 6.7.

use std::os::fd::AsFd;

use crate::{Error, sockopt};

/// A connection as reported by the kernel. Spans are in microseconds unless stated otherwise; windows and packet counts are in segments.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the kernel's own names, without `tcpi_`")]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    /// Shifts of the windows: the peer's in the lower four bits, ours in the upper.
    pub wscale: u8,
    pub flags: u8,
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    /// This and the next three are ages in milliseconds.
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    /// Mean deviation of the round trip.
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    /// Bytes per second; all ones: no limit.
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    /// All ones: no sample yet.
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time: u32,
}

/// `TCP_INFINITE_SSTHRESH`
pub(crate) const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// Reads a socket's `TCP_INFO`.
    ///
    /// # Errors
    /// If it is not a TCP socket.
    pub fn of(socket: impl AsFd) -> Result<TcpInfo, Error> {
        sockopt::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO)
            .map_err(Error::system("failed to read TCP_INFO"))
    }

    /// The slow start threshold, if it was ever set.
    pub fn ssthresh(&self) -> Option<u32> {
        (self.snd_ssthresh < INFINITE_SSTHRESH).then_some(self.snd_ssthresh)
    }

    /// Segments believed to be in the network (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u32 {
        let left = self.sacked.saturating_add(self.lost);
        self.unacked.saturating_sub(left).saturating_add(self.retrans)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// Offsets of the kernel's own structure (`pahole tcp_info`).
    #[test]
    fn it_is_laid_out_as_the_kernels() {
        assert_eq!(offset_of!(TcpInfo, rto), 8);
        assert_eq!(offset_of!(TcpInfo, total_retrans), 100);
        assert_eq!(offset_of!(TcpInfo, pacing_rate), 104);
        assert_eq!(offset_of!(TcpInfo, notsent_bytes), 144);
        assert_eq!(offset_of!(TcpInfo, delivery_rate), 160);
        assert_eq!(offset_of!(TcpInfo, delivered), 192);
        assert_eq!(offset_of!(TcpInfo, bytes_sent), 200);
        assert_eq!(offset_of!(TcpInfo, snd_wnd), 228);
        assert_eq!(offset_of!(TcpInfo, total_rto), 240);
        assert_eq!(size_of::<TcpInfo>(), 248);
    }

    #[test]
    fn what_was_reported_or_lost_is_not_in_flight() {
        let info = TcpInfo { unacked: 10, sacked: 3, lost: 4, retrans: 2, ..TcpInfo::default() };
        assert_eq!(info.in_flight(), 5);
        assert_eq!(TcpInfo { lost: 11, ..info }.in_flight(), 2);
    }
}
