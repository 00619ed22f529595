//! Counters and estimates of a connection (`struct tcp_info`), and their time series.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::{BitsPerSec, Time};

use crate::recovery::CongestionState;
use crate::state::TcpState;

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

// Time series of a connection: a snapshot after every event, if recorded.
//
// While `ss -i` polls and the kernel's `tcp_probe` samples before an arriving segment is processed, a sample here is
// taken after an event was processed and all segments that it released have left: its `in_flight` is the window as used.

/// Event of a sample. Of several events at one time the last in this order is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Unknown: a poll, the only way to observe the kernel's connections.
    Look,
    /// The application wrote.
    Write,
    /// The application ended writing, or everything.
    Close,
    /// A segment is about to be processed: the kernel's tracepoint `tcp_probe`, which has less of the connection's state than the other
    /// triggers (see the crate `kernel`, `probe`).
    Probe,
    /// A segment arrived.
    Segment,
    /// A timer other than those below expired.
    Timer,
    /// The timer of the tail loss probe expired.
    LossProbe,
    /// The retransmission timer expired.
    Timeout,
}

impl Trigger {
    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Look => "look",
            Trigger::Write => "write",
            Trigger::Close => "close",
            Trigger::Probe => "probe",
            Trigger::Segment => "segment",
            Trigger::Timer => "timer",
            Trigger::LossProbe => "loss-probe",
            Trigger::Timeout => "timeout",
        }
    }
}

/// A connection at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderSample {
    /// Time of the sample.
    pub at: Time,
    /// The event.
    pub trigger: Trigger,
    /// The connection's state.
    pub state: TcpState,
    /// Its counters and estimates.
    pub stats: Stats,
}

/// The samples of one connection, and the events since the last.
#[derive(Debug, Default)]
pub(crate) struct SampleSeries {
    pub(crate) samples: Vec<SenderSample>,
    pub(crate) pending: Option<Trigger>,
}

impl SampleSeries {
    pub(crate) fn note(&mut self, trigger: Trigger) {
        self.pending = self.pending.max(Some(trigger));
    }
}
