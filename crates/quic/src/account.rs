//! A connection's account for its world's report, in TCP's terms.
//!
//! Segments are packets. Retransmissions are packets declared lost; QUIC sends their frames again in other packets,
//! except those made pointless by a reset. quinn does not report expiries of its probe timer, the variance of its
//! round-trip time or the reasons for its waits: timeouts, variances and times under a limit are zero.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quinn::{QlogConfig, QlogStream};
use tcp::{CongestionState, SenderSample, Stats, TcpState, Trigger};
use units::Time;
use world::report::{self, Endpoint, Keeping};

use crate::controller::{LossPeriods, WindowChange, WindowRecorder};

/// Bytes that have passed on a connection's streams, as its user counts them.
#[derive(Debug, Default)]
pub struct ByteCounts {
    sent: Cell<u64>,
    received: Cell<u64>,
}

impl ByteCounts {
    /// Counts bytes handed to QUIC.
    pub fn add_sent(&self, bytes: usize) {
        self.sent.set(self.sent.get() + bytes as u64);
    }

    /// Counts bytes received from QUIC, in order.
    pub fn add_received(&self, bytes: usize) {
        self.received.set(self.received.get() + bytes as u64);
    }
}

/// Recorder of a connection's losses and, if this world keeps series, of its window changes and qlog.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub(crate) losses: LossPeriods,
    pub(crate) windows: WindowRecorder,
    pub(crate) qlog: QlogText,
}

impl Recorder {
    pub(crate) fn new() -> Recorder {
        match report::keeping() {
            Keeping::Series => Recorder {
                losses: LossPeriods::default(),
                windows: WindowRecorder::keeping(),
                qlog: QlogText(Some(Arc::default())),
            },
            Keeping::Endpoints | Keeping::Nothing => Recorder {
                losses: LossPeriods::default(),
                windows: WindowRecorder::default(),
                qlog: QlogText(None),
            },
        }
    }
}

/// The account of one connection at one of its ends.
#[derive(Clone)]
pub struct Account(Rc<RefCell<AccountState>>);

struct AccountState {
    endpoint: Endpoint,
    /// The connection, while it is open.
    connection: Option<quinn::Connection>,
    established_at: Option<Time>,
    counts: Rc<ByteCounts>,
    recorder: Recorder,
}

impl Account {
    /// Starts the account of a connection requested at `opened_at`.
    pub fn open(
        connection: &quinn::Connection,
        local: SocketAddr,
        opened_at: Time,
        counts: &Rc<ByteCounts>,
        recorder: Recorder,
    ) -> Account {
        let endpoint = Endpoint {
            local,
            peer: connection.remote_address(),
            cookie: None,
            active: connection.side() == quinn::Side::Client,
            opened_at,
            closed_at: None,
            stats: None,
            retransmits: Vec::new(),
            losses: Vec::new(),
            series: Vec::new(),
            held: Vec::new(),
            qlog: String::new(),
        };
        let inner = AccountState {
            endpoint,
            connection: Some(connection.clone()),
            established_at: None,
            counts: Rc::clone(counts),
            recorder,
        };
        let account = Account(Rc::new(RefCell::new(inner)));
        let told = account.clone();
        report::add(move || told.0.borrow().tell());
        account
    }

    /// Notes that the handshake is complete for this end.
    pub fn established(&self) {
        self.0.borrow_mut().established_at = Some(world::now());
    }

    /// Notes that the connection is over; its account stays.
    pub fn close(&self) {
        let mut inner = self.0.borrow_mut();
        inner.endpoint = inner.tell();
        inner.endpoint.closed_at = Some(world::now());
        let connection = inner.connection.take();
        drop(inner);
        drop(connection);
    }
}

impl AccountState {
    fn tell(&self) -> Endpoint {
        let Some(connection) = &self.connection else { return self.endpoint.clone() };
        let series =
            self.recorder.windows.changes().iter().map(|change| self.sample(change)).collect();
        let stats = Some(self.stats(connection));
        let losses = self.recorder.losses.all().into_iter();
        let losses = losses
            .map(|(sent, found)| (world::from_instant(sent), world::from_instant(found)))
            .collect();
        Endpoint { stats, losses, series, qlog: self.recorder.qlog.text(), ..self.endpoint.clone() }
    }

    fn stats(&self, connection: &quinn::Connection) -> Stats {
        let stats = connection.stats();
        let packet_bytes = u64::from(stats.path.current_mtu).max(1);
        Stats {
            bytes_sent: self.counts.sent.get(),
            bytes_received: self.counts.received.get(),
            segments_sent: stats.path.sent_packets,
            segments_received: stats.udp_rx.datagrams,
            retransmitted_segments: stats.path.lost_packets,
            retransmitted_bytes: stats.path.lost_bytes,
            srtt: Some(stats.path.rtt),
            min_rtt: Some(stats.path.min_rtt),
            cwnd: packets(stats.path.cwnd, packet_bytes),
            established_at: self.established_at,
            ..blank()
        }
    }

    fn sample(&self, change: &WindowChange) -> SenderSample {
        let in_packets = |bytes| packets(bytes, change.packet_bytes);
        let stats = Stats {
            delivered_segments: change.acknowledged_bytes / change.packet_bytes.max(1),
            srtt: change.rtt.map(|(smoothed, _)| smoothed),
            min_rtt: change.rtt.map(|(_, smallest)| smallest),
            cwnd: in_packets(change.window_bytes),
            ssthresh: change.ssthresh_bytes.map(in_packets),
            in_flight: in_packets(change.in_flight_bytes),
            congestion_state: match change.recovering {
                true => CongestionState::Recovery,
                false => CongestionState::Open,
            },
            established_at: self.established_at,
            unacknowledged_bytes: change.in_flight_bytes,
            ..blank()
        };
        let at = world::from_instant(change.at);
        SenderSample { at, trigger: Trigger::Segment, state: TcpState::Established, stats }
    }
}

fn packets(bytes: u64, packet_bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(packet_bytes.max(1))).unwrap_or(u32::MAX)
}

/// Nothing counted.
fn blank() -> Stats {
    Stats {
        bytes_sent: 0,
        bytes_received: 0,
        segments_sent: 0,
        segments_received: 0,
        retransmitted_segments: 0,
        retransmitted_bytes: 0,
        delivered_segments: 0,
        timeouts: 0,
        undone_reductions: 0,
        srtt: None,
        rttvar: Duration::ZERO,
        rto: Duration::ZERO,
        min_rtt: None,
        cwnd: 0,
        ssthresh: None,
        in_flight: 0,
        pacing_rate: None,
        congestion_state: CongestionState::Open,
        established_at: None,
        peer_window_bytes: 0,
        unacknowledged_bytes: 0,
        unsent_bytes: 0,
        busy: Duration::ZERO,
        rwnd_limited: Duration::ZERO,
        sndbuf_limited: Duration::ZERO,
    }
}

/// A connection's qlog (draft-ietf-quic-qlog-main-schema) as quinn writes it: packets sent, received and lost and
/// recovery's metrics, in JSON text sequences (RFC 7464); times are milliseconds since the world began. quinn does not
/// know the names of connections nor, in the file's header, the vantage point: the code that writes files adds them.
#[derive(Clone, Debug)]
pub(crate) struct QlogText(Option<Arc<Mutex<Vec<u8>>>>);

impl QlogText {
    /// The stream to which quinn writes.
    pub(crate) fn stream(&self) -> Option<QlogStream> {
        let text = Arc::clone(self.0.as_ref()?);
        let mut config = QlogConfig::default();
        config.writer(Box::new(QlogWriter(text))).start_time(world::to_instant(Time::ZERO));
        config.into_stream()
    }

    /// The text so far.
    pub(crate) fn text(&self) -> String {
        let Some(text) = &self.0 else { return String::new() };
        let text = text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).into_owned()
    }
}

struct QlogWriter(Arc<Mutex<Vec<u8>>>);

impl Write for QlogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
