//! A connection's account for its world's report, in TCP's terms.
//!
//! Segments are packets. Retransmissions are packets declared lost; QUIC sends their frames again in other packets,
//! except those made pointless by a reset. quinn does not report expiries of its probe timer, the variance of its
//! round-trip time or the reasons for its waits: timeouts, variances and times under a limit are zero.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tcp::{CongestionState, Sample, State, Stats, Trigger};
use units::Time;
use world::report::{self, Endpoint, Keeping};

use super::congestion::{Motion, Watch};
use super::qlog::Log;
use super::quic::SharedTally;

/// The account of one connection at one of its ends.
#[derive(Clone)]
pub(super) struct Account(Rc<RefCell<Inner>>);

struct Inner {
    endpoint: Endpoint,
    /// The connection, while it is open.
    connection: Option<quinn::Connection>,
    established_at: Option<Time>,
    tally: SharedTally,
    watch: Watch,
    log: Log,
}

/// A recorder of window changes, if this world wants them.
pub(super) fn watch() -> Watch {
    match report::keeping() {
        Keeping::Series => Watch::keeping(),
        Keeping::Endpoints | Keeping::Nothing => Watch::default(),
    }
}

impl Account {
    /// Starts the account of a connection requested at `opened_at`.
    pub(super) fn open(
        connection: &quinn::Connection,
        local: SocketAddr,
        opened_at: Time,
        tally: &SharedTally,
        watch: Watch,
        log: Log,
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
            series: Vec::new(),
            held: Vec::new(),
            qlog: String::new(),
        };
        let inner = Inner {
            endpoint,
            connection: Some(connection.clone()),
            established_at: None,
            tally: Rc::clone(tally),
            watch,
            log,
        };
        let account = Account(Rc::new(RefCell::new(inner)));
        let told = account.clone();
        report::add(move || told.0.borrow().tell());
        account
    }

    /// Notes that the handshake is complete for this end.
    pub(super) fn established(&self) {
        self.0.borrow_mut().established_at = Some(world::now());
    }

    /// Notes that the connection is over; its account stays.
    pub(super) fn close(&self) {
        let mut inner = self.0.borrow_mut();
        inner.endpoint = inner.tell();
        inner.endpoint.closed_at = Some(world::now());
        let connection = inner.connection.take();
        drop(inner);
        drop(connection);
    }
}

impl Inner {
    fn tell(&self) -> Endpoint {
        let Some(connection) = &self.connection else { return self.endpoint.clone() };
        let series = self.watch.motions().iter().map(|motion| self.sample(motion)).collect();
        let stats = Some(self.stats(connection));
        Endpoint { stats, series, qlog: self.log.text(), ..self.endpoint.clone() }
    }

    fn stats(&self, connection: &quinn::Connection) -> Stats {
        let stats = connection.stats();
        let packet_bytes = u64::from(stats.path.current_mtu).max(1);
        let tally = self.tally.borrow();
        Stats {
            bytes_sent: tally.sent_bytes,
            bytes_received: tally.received_bytes,
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

    fn sample(&self, motion: &Motion) -> Sample {
        let in_packets = |bytes| packets(bytes, motion.packet_bytes);
        let stats = Stats {
            delivered_segments: motion.acknowledged_bytes / motion.packet_bytes.max(1),
            srtt: motion.rtt.map(|(smoothed, _)| smoothed),
            min_rtt: motion.rtt.map(|(_, smallest)| smallest),
            cwnd: in_packets(motion.window_bytes),
            ssthresh: motion.ssthresh_bytes.map(in_packets),
            in_flight: in_packets(motion.in_flight_bytes),
            congestion_state: match motion.recovering {
                true => CongestionState::Recovery,
                false => CongestionState::Open,
            },
            established_at: self.established_at,
            unacknowledged_bytes: motion.in_flight_bytes,
            ..blank()
        };
        let at = world::from_instant(motion.at);
        Sample { at, trigger: Trigger::Segment, state: State::Established, stats }
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
