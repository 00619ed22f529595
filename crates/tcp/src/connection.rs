//! One end of a connection: the public interface, and the traffic between its halves.

mod output;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chance::RandomStream;
use units::Time;

use crate::config::{Config, HandshakeRtt};
use crate::handshake::{HandshakeRole, HandshakeTimes};
use crate::metrics::{CachedMetrics, SavedMetrics};
use crate::receiver::Receiver;
use crate::retransmits::Retransmit;
use crate::segment::{Flags, Payload, SackBlocks, Segment, TIMESTAMPS_BYTES};
use crate::sender::Sender;
use crate::state::{Error, TcpState};
use crate::stats::{Limit, SampleSeries, SenderSample, Stats, Trigger};
use crate::timers::{TcpTimer, TcpTimers};

/// A TCP endpoint without a network: it takes segments and the time, and returns segments.
///
/// After each call that takes the time, call [`poll`](Connection::poll) until it returns `None`, then look at
/// [`deadline`](Connection::deadline).
#[derive(Debug)]
pub struct Connection {
    config: Arc<Config>,
    state: TcpState,
    handshake: HandshakeTimes,
    sender: Sender,
    receiver: Receiver,
    timers: TcpTimers,
    timestamps: bool,
    /// The application will write no more.
    closing: bool,
    error: Option<Error>,
    /// Sequence number of a reset to send.
    reset_due: Option<u64>,
    established_at: Option<Time>,
    seeded_metrics: Option<CachedMetrics>,
    saved_metrics: Option<SavedMetrics>,
    segments_sent: u64,
    segments_received: u64,
    handshake_retransmissions: u64,
    /// Its samples, if recorded.
    series: Option<Box<SampleSeries>>,
}

impl Connection {
    /// Opens actively; the SYN comes out of [`poll`](Connection::poll).
    pub fn connect(config: Arc<Config>, now: Time) -> Connection {
        Connection::new(config, now, HandshakeRole::Client, TcpState::SynSent)
    }

    /// Opens passively, in answer to `syn`; the SYN-ACK comes out of [`poll`](Connection::poll).
    pub fn accept(config: Arc<Config>, now: Time, syn: &Segment) -> Connection {
        let mut connection =
            Connection::new(config, now, HandshakeRole::Server, TcpState::SynReceived);
        connection.segments_received = 1;
        connection.take_syn_options(now, syn);
        connection
    }

    fn new(config: Arc<Config>, now: Time, role: HandshakeRole, state: TcpState) -> Connection {
        Connection {
            state,
            handshake: HandshakeTimes::new(role, &config),
            sender: Sender::new(config.clone(), now),
            receiver: Receiver::new(&config, now),
            timers: TcpTimers::new(config.clock),
            timestamps: config.timestamps,
            closing: false,
            error: None,
            reset_due: None,
            established_at: None,
            seeded_metrics: None,
            saved_metrics: None,
            segments_sent: 0,
            segments_received: 0,
            handshake_retransmissions: 0,
            series: None,
            config,
        }
    }

    /// Refuses writes while `bytes` wait unsent, for this connection alone (`TCP_NOTSENT_LOWAT`).
    pub fn set_notsent_lowat(&mut self, bytes: u64) {
        self.sender.set_notsent_lowat(bytes);
    }

    /// Sets the source of the connection's random numbers (BBR's probing) to `chance`. Call it before anything else;
    /// otherwise all connections draw the same numbers.
    pub fn draw_from(&mut self, now: Time, chance: RandomStream) {
        self.sender.draw_from(chance, now);
    }

    /// Starts from the metrics of an earlier connection to the same peer. Call before the handshake is over.
    pub fn seed_metrics(&mut self, metrics: CachedMetrics) {
        self.seeded_metrics = Some(metrics);
    }

    /// Metrics that this connection leaves for later ones, once, when it has ended in order.
    pub fn take_saved_metrics(&mut self) -> Option<SavedMetrics> {
        self.saved_metrics.take()
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    // ---- network

    /// Takes a segment that arrived.
    pub fn handle(&mut self, now: Time, segment: Segment) {
        self.segments_received += 1;
        self.note(Trigger::Segment);
        match self.state {
            TcpState::Closed => {}
            TcpState::SynSent => self.handle_in_syn_sent(now, &segment),
            TcpState::SynReceived => self.handle_in_syn_received(now, segment),
            TcpState::TimeWait => self.handle_in_time_wait(now, &segment),
            _ => {
                self.receiver.sample_rtt(now, &segment);
                self.handle_synchronised(now, segment);
            }
        }
    }

    fn handle_in_syn_sent(&mut self, now: Time, segment: &Segment) {
        if !segment.is(Flags::ACK) || segment.ack != 1 {
            return;
        }
        if segment.is(Flags::RST) {
            self.fail(Error::Refused);
        } else if segment.is(Flags::SYN) {
            self.take_syn_options(now, segment);
            self.establish(now, segment);
            self.receiver.acks.demand();
        }
    }

    fn handle_in_syn_received(&mut self, now: Time, segment: Segment) {
        if segment.is(Flags::RST) {
            self.fail(Error::Reset);
        } else if segment.is(Flags::SYN) {
            // The SYN-ACK was lost, or the SYN was duplicated on the way (`tcp_check_req`).
            self.handshake.due = true;
        } else if segment.is(Flags::ACK) && segment.ack >= 1 {
            self.establish(now, &segment);
            self.handle_synchronised(now, segment);
        }
    }

    /// Processes the peer's SYN and agrees on options.
    fn take_syn_options(&mut self, now: Time, syn: &Segment) {
        self.handshake.take_syn_options(syn);
        self.timestamps = self.config.timestamps && self.handshake.peer_timestamps;
        let offered = syn.syn.map_or(self.config.advertised_mss(), |options| options.mss);
        let options = if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
        self.sender.mss = self.config.advertised_mss().min(offered).saturating_sub(options).max(1);
        self.receiver.establish(now, syn);
        let sack = self.config.sack && syn.syn.is_none_or(|options| options.sack);
        self.sender.sack = sack;
        self.receiver.queue.set_reports(sack, self.config.dsack);
        let ecn = match self.handshake.role {
            HandshakeRole::Client => self.config.ecn.is_granted(syn),
            HandshakeRole::Server => self.config.ecn.grants(syn),
        };
        (self.sender.ecn.agreed, self.receiver.ecn.agreed) = (ecn, ecn);
    }

    /// The handshake is complete; `answer` completed it.
    fn establish(&mut self, now: Time, answer: &Segment) {
        self.timers.stop_sender();
        if let Some(rtt) = self.handshake.rtt(self.config.clock, now, answer)
            && (self.timestamps || self.config.handshake_rtt == HandshakeRtt::Counts)
        {
            self.sender.rtt.sample(rtt, 0, 1);
            self.sender.rtt.observe_min(now, rtt);
        }
        let echo = answer.timestamps.map(|timestamps| timestamps.echo);
        self.sender.retransmits.judge_acknowledged(&(0..1), echo);
        let cautious = self.handshake.is_cautious(self.config.syn_loss_window, answer);
        self.handshake.due = false;
        self.sender.establish(now, answer.window_bytes, answer.seq, cautious);
        if let Some(metrics) = self.seeded_metrics.take() {
            self.sender.apply_metrics(&metrics, self.timestamps);
        }
        self.state = self.state.established();
        if self.closing {
            self.state = self.state.closed_here();
        }
        self.established_at = Some(now);
    }

    fn handle_in_time_wait(&mut self, now: Time, segment: &Segment) {
        if segment.is(Flags::RST) {
            self.enter(TcpState::Closed, now);
        } else if segment.seq < segment.end() {
            // The last acknowledgement was lost (RFC 9293 section 3.10.7.4).
            self.receiver.refuse(segment);
            self.timers.arm(now, TcpTimer::TimeWait, now + self.config.time_wait);
        }
    }

    /// `tcp_rcv_established`, `tcp_rcv_state_process`
    fn handle_synchronised(&mut self, now: Time, segment: Segment) {
        if segment.is(Flags::RST) {
            if self.receiver.accepts(&segment) {
                self.fail(Error::Reset);
            }
            return;
        }
        if segment.is(Flags::SYN) || !self.receiver.accepts(&segment) {
            self.receiver.refuse(&segment);
            return;
        }
        self.receiver.update_echo(&segment);
        if self.receiver.ecn.on_segment(&segment) {
            self.receiver.acks.demand();
        }
        if segment.is(Flags::ACK) {
            self.sender.on_ack(now, &segment, &mut self.timers);
            if self.sender.fin_acknowledged() {
                self.enter(self.state.fin_acknowledged(), now);
            }
        }
        if segment.seq < segment.end() && self.state != TcpState::Closed {
            self.take_data(now, segment);
        }
    }

    fn take_data(&mut self, now: Time, segment: Segment) {
        let finished = self.receiver.queue.is_finished();
        self.receiver.take(now, segment, &self.sender.rtt);
        if self.receiver.queue.is_finished() && !finished {
            if self.state == TcpState::Established {
                // Our own FIN may follow soon and carry the acknowledgement (`tcp_fin`).
                self.receiver.acks.expect_answer();
            } else {
                self.receiver.acks.demand();
            }
            self.enter(self.state.closed_by_peer(), now);
        }
        self.receiver.decide(now, &self.sender.rtt, &mut self.timers);
    }

    fn enter(&mut self, state: TcpState, now: Time) {
        if state == self.state {
            return;
        }
        if state == TcpState::TimeWait || self.state == TcpState::LastAck {
            // `tcp_update_metrics`, from `tcp_time_wait` and from the end of LAST-ACK.
            self.saved_metrics = Some(self.sender.saved_metrics());
        }
        self.state = state;
        match state {
            TcpState::TimeWait => {
                self.sender.clear();
                self.timers.stop_sender();
                self.timers.arm(now, TcpTimer::TimeWait, now + self.config.time_wait);
            }
            TcpState::Closed => {
                self.sender.clear();
                self.timers.stop_all();
            }
            _ => {}
        }
    }

    fn fail(&mut self, error: Error) {
        self.error = Some(error);
        self.state = TcpState::Closed;
        self.handshake.due = false;
        self.sender.clear();
        self.timers.stop_all();
    }

    /// The next segment to put on the wire. Call until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let segment = self.next_segment(now);
        match segment {
            Some(_) => self.segments_sent += 1,
            None => self.sample(now),
        }
        segment
    }

    fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if let Some(seq) = self.reset_due.take() {
            let flags = Flags::RST.with(Flags::ACK);
            return Some(self.segment(now, seq, flags, Payload::new(), SackBlocks::NONE));
        }
        match self.state {
            TcpState::Closed => None,
            TcpState::SynSent | TcpState::SynReceived => {
                self.handshake.due.then(|| self.send_syn(now))
            }
            _ => self.send(now),
        }
    }

    /// Expiry of the earliest timer.
    pub fn deadline(&self) -> Option<Time> {
        self.timers.deadline()
    }

    /// Acts on every timer that has expired by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(timer) = self.timers.pop_expired(now) {
            self.on_timer(now, timer);
        }
    }

    fn on_timer(&mut self, now: Time, timer: TcpTimer) {
        self.note(match timer {
            TcpTimer::Retransmit => Trigger::Timeout,
            TcpTimer::LossProbe => Trigger::LossProbe,
            _ => Trigger::Timer,
        });
        let timers = &mut self.timers;
        let rto = self.sender.rtt.rto();
        let given_up = match timer {
            TcpTimer::Retransmit if !self.state.is_synchronised() => {
                self.handshake.on_timeout(&self.config)
            }
            TcpTimer::Retransmit => self.sender.on_retransmission_timeout(now, timers),
            TcpTimer::Persist => self.sender.on_persist_timeout(now, timers),
            TcpTimer::LossProbe => {
                self.sender.on_probe_timeout(now, timers);
                false
            }
            TcpTimer::Reordering => {
                self.sender.on_reordering_timeout(now, timers);
                false
            }
            TcpTimer::DelayedAck => {
                self.receiver.acks.on_delay_over(now, rto);
                false
            }
            TcpTimer::CompressedAck => {
                self.receiver.acks.on_compression_over();
                false
            }
            TcpTimer::Pacing => false,
            TcpTimer::TimeWait => {
                self.enter(TcpState::Closed, now);
                false
            }
        };
        if given_up {
            self.fail(Error::TimedOut);
        }
    }

    // ---- application

    /// Copies from `data` into the send buffer; returns the number of bytes, 0 when it is full or closed.
    pub fn write(&mut self, now: Time, data: &[u8]) -> usize {
        self.note(Trigger::Write);
        if self.error.is_some() { 0 } else { self.sender.write(now, data) }
    }

    /// Like [`write`](Connection::write) without copying.
    pub fn write_bytes(&mut self, now: Time, data: Bytes) -> usize {
        self.note(Trigger::Write);
        if self.error.is_some() { 0 } else { self.sender.write_bytes(now, data) }
    }

    /// Copies data received in order into `buf`; returns the number of bytes. 0 means nothing yet, or
    /// [`at_eof`](Connection::at_eof).
    pub fn read(&mut self, now: Time, buf: &mut [u8]) -> usize {
        self.receiver.read(now, buf)
    }

    /// Number of bytes received in order and not yet read.
    pub fn readable_bytes(&self) -> u64 {
        self.receiver.queue.ready_bytes()
    }

    /// Takes up to `max` bytes of the data received in order, without copying.
    pub fn read_bytes(&mut self, now: Time, max: usize) -> Option<Bytes> {
        self.receiver.read_bytes(now, max)
    }

    /// Ends writing: a FIN follows the data written. Reading goes on.
    pub fn close(&mut self, _now: Time) {
        if !self.closing && self.state != TcpState::Closed {
            self.note(Trigger::Close);
            self.closing = true;
            self.sender.close();
            self.state = self.state.closed_here();
        }
    }

    /// Ends the connection at once; a synchronised peer is sent a reset.
    pub fn abort(&mut self, _now: Time) {
        if self.state == TcpState::Closed {
            return;
        }
        self.note(Trigger::Close);
        if self.state.is_synchronised() && self.state != TcpState::TimeWait {
            self.reset_due = Some(self.sender.nxt);
        }
        self.fail(Error::Aborted);
        self.receiver.queue.clear();
    }

    /// True if the handshake is complete and the connection not over.
    pub fn is_established(&self) -> bool {
        self.state.is_synchronised()
    }

    /// True if a read would return something: data, end of file, or an error.
    pub fn is_readable(&self) -> bool {
        self.readable_bytes() > 0 || self.at_eof() || self.error.is_some()
    }

    /// True if a writer should be woken: there is enough room, or an error.
    pub fn is_writable(&self) -> bool {
        self.error.is_some() || (self.state.is_synchronised() && self.sender.is_writable())
    }

    /// True if the peer has finished and everything was read.
    pub fn at_eof(&self) -> bool {
        self.receiver.queue.is_finished() && self.receiver.queue.ready_bytes() == 0
    }

    /// Error that ended the connection early.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// True if the connection is over, with nothing more to send: it may be dropped once [`poll`](Connection::poll) returns `None`. A connection
    /// in [`TcpState::TimeWait`] may be dropped, too, if a repeated FIN need not be answered.
    pub fn is_closed(&self) -> bool {
        self.state == TcpState::Closed && self.reset_due.is_none()
    }

    /// State of the connection.
    pub fn state(&self) -> TcpState {
        self.state
    }

    /// The receiving half's estimate of the round trip, from echoed timestamps and the time that windows take to fill (`tcpi_rcv_rtt`);
    /// none before the first sample.
    pub fn rcv_rtt(&self) -> Option<Duration> {
        self.receiver.window.rtt()
    }

    /// Retransmissions so far, in chronological order. The verdict on one may change as more becomes known.
    pub fn retransmits(&self) -> &[Retransmit] {
        self.sender.retransmits.as_slice()
    }

    /// Records a [`SenderSample`] of every event from now on. By default nothing is recorded, at no cost.
    pub fn record_series(&mut self) {
        self.series.get_or_insert_default();
    }

    /// The samples so far, if they are [recorded](Connection::record_series).
    pub fn series(&self) -> &[SenderSample] {
        self.series.as_ref().map_or(&[], |series| &series.samples)
    }

    fn note(&mut self, trigger: Trigger) {
        if let Some(series) = &mut self.series {
            series.note(trigger);
        }
    }

    /// Takes a sample after an event was processed.
    fn sample(&mut self, now: Time) {
        let Some(series) = &mut self.series else { return };
        let Some(trigger) = series.pending.take() else { return };
        let sample = SenderSample { at: now, trigger, state: self.state, stats: self.stats() };
        if let Some(series) = &mut self.series {
            series.samples.push(sample);
        }
    }

    /// Counters and estimates.
    pub fn stats(&self) -> Stats {
        let sender = &self.sender;
        let ssthresh = sender.cwnd.window.ssthresh;
        Stats {
            bytes_sent: sender.stats.bytes,
            bytes_received: self.receiver.queue.received_bytes(),
            segments_sent: self.segments_sent,
            segments_received: self.segments_received,
            retransmitted_segments: sender.stats.retransmitted_segments
                + self.handshake_retransmissions,
            retransmitted_bytes: sender.stats.retransmitted_bytes,
            delivered_segments: sender.stats.delivered,
            timeouts: sender.stats.timeouts,
            undone_reductions: sender.stats.undone,
            srtt: sender.rtt.srtt(),
            rttvar: sender.rtt.rttvar(),
            rto: sender.rtt.rto(),
            min_rtt: sender.rtt.min(),
            cwnd: sender.cwnd.cwnd(),
            ssthresh: (ssthresh < congestion::INFINITE_SSTHRESH).then_some(ssthresh),
            in_flight: sender.board.in_flight(),
            pacing_rate: sender.pacer.rate(),
            congestion_state: sender.recovery.state,
            established_at: self.established_at,
            peer_window_bytes: sender.peer.bytes,
            unacknowledged_bytes: sender.buffer.len(),
            unsent_bytes: sender.unsent_bytes(),
            busy: sender.limit.busy(),
            rwnd_limited: sender.limit.spent(Limit::ReceiveWindow),
            sndbuf_limited: sender.limit.spent(Limit::SendBuffer),
        }
    }
}
