//! Counters and estimates of a connection (`struct tcp_info`).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::{BitsPerSec, Time};

use crate::recovery::CongestionState;

/// A snapshot of a connection's counters and estimates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Payload sent, each byte once.
    pub bytes_sent: u64,
    /// Payload received in order.
    pub bytes_received: u64,
    /// Segments given to the network, of any kind.
    pub segments_sent: u64,
    /// Segments that arrived.
    pub segments_received: u64,
    /// Segments with data or FIN sent again, the SYN included.
    pub retransmitted_segments: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Segments that the peer has reported as arrived, selectively or not, duplicates included (`tp->delivered`).
    pub delivered_segments: u64,
    /// Expiries of the retransmission timer, those of the SYN included.
    pub timeouts: u64,
    /// Window reductions undone as spurious.
    pub undone_reductions: u64,
    /// Smoothed round trip.
    pub srtt: Option<Duration>,
    /// Variance term of the timeout.
    pub rttvar: Duration,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Smallest recent round trip.
    pub min_rtt: Option<Duration>,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; none before the first congestion.
    pub ssthresh: Option<u32>,
    /// Segments believed to be in the network.
    pub in_flight: u32,
    /// Rate of payload, if the connection is paced.
    pub pacing_rate: Option<BitsPerSec>,
    /// State of loss recovery.
    pub congestion_state: CongestionState,
    /// Time at which the handshake was complete for this end.
    pub established_at: Option<Time>,
    /// The peer's window, bytes.
    pub peer_window_bytes: u64,
    /// Written and not yet acknowledged.
    pub unacknowledged_bytes: u64,
    /// Written and not yet sent.
    pub unsent_bytes: u64,
    /// Time with data to send or in flight. This and the next two count up to the last change of the limit
    /// of the connection.
    pub busy: Duration,
    /// Of that, held back by the peer's window.
    pub rwnd_limited: Duration,
    /// Of that, held back by the send buffer.
    pub sndbuf_limited: Duration,
}

/// Limit of a sender's rate (`enum tcp_chrono`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Nothing to send.
    Application,
    /// The congestion window or the wait for acknowledgements.
    Network,
    ReceiveWindow,
    SendBuffer,
}

/// Adds up the time spent under each limit.
#[derive(Clone, Debug)]
pub(crate) struct LimitClock {
    limit: Limit,
    since: Time,
    spent: [Duration; 4],
}

impl LimitClock {
    pub(crate) fn new(now: Time) -> LimitClock {
        LimitClock { limit: Limit::Application, since: now, spent: [Duration::ZERO; 4] }
    }

    pub(crate) fn set(&mut self, now: Time, limit: Limit) {
        self.spent[self.limit as usize] += now - self.since;
        (self.limit, self.since) = (limit, now);
    }

    /// Time under any limit except the application's.
    pub(crate) fn busy(&self) -> Duration {
        [Limit::Network, Limit::ReceiveWindow, Limit::SendBuffer]
            .into_iter()
            .map(|limit| self.spent(limit))
            .sum()
    }

    /// Time under `limit`, up to the last change.
    pub(crate) fn spent(&self, limit: Limit) -> Duration {
        self.spent[limit as usize]
    }
}
