//! The sending half: segments that may leave now.
//!
//! Source: Linux 6.18 `tcp_write_xmit`, `tcp_xmit_retransmit_queue`, `tcp_cwnd_validate`. Data are cut into segments when they leave; the
//! size of a burst is decided in `tso`.
//!
//! Sequence number 0 is the SYN; the byte at stream offset n has number n + 1; the FIN follows the last byte.

use std::sync::Arc;
use std::time::Duration;

use chance::RandomStream;
use congestion::{CarefulResume, InitialState};
use units::Time;

use crate::config::{Config, Growth, HandshakeRtt, LossDetection, TsoSegments};
use crate::cwnd::{Burst, CongestionWindow, PendingRestart};
use crate::ecn::EcnSender;
use crate::pacing::Pacer;
use crate::rack::Rack;
use crate::rate::RateEstimator;
use crate::recovery::{CongestionState, RecoveryEpisode};
use crate::retransmits::{RetransmitCause, Retransmits};
use crate::rtt::{FALLBACK_RTO, RttEstimator};
use crate::scoreboard::{Scoreboard, SegmentId};
use crate::segment::Payload;
use crate::send_buffer::SendBuffer;
use crate::stats::{Limit, LimitClock};
use crate::timers::{TcpTimer, TcpTimers};
use crate::tso::Bursts;

/// Added to timers that wait for something already overdue (`TCP_TIMEOUT_MIN`: two ticks of 1 ms).
pub(crate) const TIMER_SLACK: Duration = Duration::from_millis(2);

/// The peer's window as last advertised.
#[derive(Debug)]
pub(crate) struct PeerWindow {
    pub(crate) bytes: u64,
    /// Sequence number of the segment that advertised it (`snd_wl1`).
    pub(crate) updated_by: u64,
    /// The largest window ever (`max_window`).
    pub(crate) most: u64,
}

/// A tail loss probe under way (`tlp_high_seq`, `tlp_retrans`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailProbe {
    /// End of the data sent when the probe left.
    pub(crate) ends: u64,
    /// It repeated the last segment instead of sending new data.
    pub(crate) again: bool,
}

/// A transmission ordered by a timer, regardless of the windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forced {
    /// New data as a tail loss probe.
    NewData,
    /// The last segment again as a tail loss probe.
    Tail,
    /// The part of a segment that fits into the peer's window.
    PartialWindow,
    /// The head again, to test a timeout (RFC 4138).
    Head,
    /// Nothing, with an old sequence number, to make the peer repeat its window.
    WindowProbe,
}

/// A segment's worth of data on its way out.
#[derive(Debug)]
pub(crate) struct OutgoingSegment {
    pub(crate) seq: u64,
    pub(crate) payload: Payload,
    pub(crate) fin: bool,
    pub(crate) push: bool,
    /// True for a first transmission.
    pub(crate) is_new: bool,
}

/// Counters of the sender.
#[derive(Debug, Default)]
pub(crate) struct SenderStats {
    pub(crate) bytes: u64,
    pub(crate) retransmitted_segments: u64,
    pub(crate) retransmitted_bytes: u64,
    /// Segments reported as arrived (`tp->delivered`).
    pub(crate) delivered: u64,
    pub(crate) timeouts: u64,
    pub(crate) undone: u64,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) config: Arc<Config>,
    pub(crate) buffer: SendBuffer,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: RttEstimator,
    pub(crate) rack: Rack,
    pub(crate) recovery: RecoveryEpisode,
    pub(crate) cwnd: CongestionWindow,
    /// Delivery rates, for a controller that uses them.
    pub(crate) rate: Option<Box<RateEstimator>>,
    pub(crate) pacer: Pacer,
    pub(crate) ecn: EcnSender,
    /// True if SACK was agreed on.
    pub(crate) sack: bool,
    pub(crate) peer: PeerWindow,
    pub(crate) probe: Option<TailProbe>,
    /// The lowest number not acknowledged (`snd_una`).
    pub(crate) una: u64,
    /// The next number to send for the first time (`snd_nxt`).
    pub(crate) nxt: u64,
    /// Payload of a full segment.
    pub(crate) mss: u32,
    /// Timeouts since the last progress (`icsk_retransmits`).
    pub(crate) timeouts: u32,
    /// Unanswered window probes, and the back-off of their timer.
    pub(crate) probes: u32,
    pub(crate) probe_backoff: u32,
    /// Losses declared, repeated ones included (`tp->lost`).
    pub(crate) losses: u64,
    /// Duplicates reported by the peer (`dsack_dups`).
    pub(crate) duplicates: u64,
    /// Round trip of the newest segment covered by the latest acknowledgement.
    pub(crate) latest_rtt: Option<Duration>,
    pub(crate) stats: SenderStats,
    pub(crate) retransmits: Retransmits,
    pub(crate) limit: LimitClock,
    /// A FIN follows the data.
    pub(crate) closing: bool,
    pub(crate) forced: Option<Forced>,
    /// Data left since the end of the last burst; something was in flight before it.
    burst: bool,
    burst_from_idle: bool,
    pub(crate) last_sent: Time,
    pub(crate) bursts: Bursts,
    /// A burst waits for the congestion window to open further.
    pub(crate) deferred: bool,
    pub(crate) restart: Option<PendingRestart>,
    /// The end of the last segment that was not full (`snd_sml`; Minshall's variant of Nagle).
    pub(crate) small_end: u64,
    /// Maximum of unacknowledged data from the application.
    pub(crate) buffer_limit: u64,
    /// A write was refused for lack of space.
    pub(crate) starved: bool,
}

/// Random stream of a connection that was given none of its own.
fn fixed_chance() -> RandomStream {
    chance::RandomSource::new(0, 0).stream("tcp/congestion")
}

impl Sender {
    pub(crate) fn new(config: Arc<Config>, now: Time) -> Sender {
        let cwnd = CongestionWindow::new(&config, fixed_chance(), now);
        Sender {
            buffer: SendBuffer::default(),
            board: Scoreboard::new(),
            rtt: RttEstimator::new(config.initial_rto, config.min_rto, config.max_rto),
            rack: Rack::new(),
            recovery: RecoveryEpisode::new(),
            rate: cwnd.is_rate_based().then(|| Box::new(RateEstimator::new())),
            cwnd,
            pacer: Pacer::new(),
            ecn: EcnSender::default(),
            sack: config.sack,
            peer: PeerWindow { bytes: 0, updated_by: 0, most: 0 },
            probe: None,
            una: 0,
            nxt: 0,
            mss: config.mss,
            timeouts: 0,
            probes: 0,
            probe_backoff: 0,
            losses: 0,
            duplicates: 0,
            latest_rtt: None,
            stats: SenderStats::default(),
            retransmits: Retransmits::default(),
            limit: LimitClock::new(now),
            closing: false,
            forced: None,
            burst: false,
            burst_from_idle: false,
            last_sent: now,
            bursts: Bursts::default(),
            deferred: false,
            restart: None,
            small_end: 0,
            buffer_limit: config.send_buffer.initial_bytes,
            starved: false,
            config,
        }
    }

    /// Sets the random stream of the congestion controller. Call before the handshake is over.
    pub(crate) fn draw_from(&mut self, chance: RandomStream, now: Time) {
        self.cwnd = CongestionWindow::new(&self.config, chance, now);
    }

    /// Opens for data once the SYN is acknowledged.
    pub(crate) fn establish(
        &mut self,
        now: Time,
        window_bytes: u64,
        peer_seq: u64,
        cautious: bool,
    ) {
        (self.una, self.nxt) = (1, 1);
        self.peer = PeerWindow { bytes: window_bytes, updated_by: peer_seq, most: window_bytes };
        self.timeouts = 0;
        self.rtt.finish_handshake(match self.config.handshake_rtt {
            HandshakeRtt::Counts => FALLBACK_RTO,
            HandshakeRtt::NeedsTimestamps => self.config.initial_rto,
        });
        if cautious {
            self.cwnd.window.cwnd = 1;
        }
        self.cwnd.touch(now);
        self.last_sent = now;
        if self.config.send_buffer.expands_at_start {
            self.expand_buffer();
        }
        let start = InitialState { now, rtt: self.rtt.srtt(), segment_bytes: self.mss };
        self.cwnd.controller.start(&self.cwnd.window, &start);
        self.update_pacing();
    }

    // ---- application

    /// Puts a FIN after the data.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// True if the FIN and everything before it are acknowledged.
    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.closing && self.una > self.stream_end()
    }

    /// Drops everything; the connection is over.
    pub(crate) fn clear(&mut self) {
        self.closing = true;
        self.forced = None;
        self.bursts.revoke();
        self.board.clear();
        self.buffer.clear();
        if let Some(rate) = &mut self.rate {
            rate.clear();
        }
    }

    // ---- transmission

    /// The sequence number after the last byte written.
    pub(crate) fn stream_end(&self) -> u64 {
        1 + self.buffer.end()
    }

    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.stream_end().saturating_sub(self.nxt)
    }

    /// True if data or a FIN waits for its first transmission.
    pub(crate) fn has_unsent(&self) -> bool {
        self.nxt < self.stream_end() + u64::from(self.closing)
    }

    /// End of the peer's window (`tcp_wnd_end`).
    pub(crate) fn window_end(&self) -> u64 {
        self.una + self.peer.bytes
    }

    /// True if something new waits and fits into the peer's window.
    pub(crate) fn has_sendable(&self) -> bool {
        self.has_unsent() && self.next_end() <= self.window_end()
    }

    /// End of the next new segment, its FIN included.
    pub(crate) fn next_end(&self) -> u64 {
        let end = self.nxt + self.unsent_bytes().min(u64::from(self.mss));
        end + u64::from(self.ends_with_fin(end))
    }

    /// True if data up to `end` is the last and a FIN follows it.
    pub(crate) fn ends_with_fin(&self, end: u64) -> bool {
        self.closing && end == self.stream_end()
    }

    /// The next segment with data or FIN.
    pub(crate) fn poll(&mut self, now: Time, timers: &mut TcpTimers) -> Option<OutgoingSegment> {
        if let Some(forced) = self.forced.take()
            && let Some(out) = self.send_forced(now, forced)
        {
            return Some(out);
        }
        if self.recovery.new_data_first {
            if let Some(out) = self.send_new(now, timers) {
                return Some(out);
            }
            if self.nxt > self.recovery.ends {
                self.end_burst(now, timers);
                return None;
            }
            self.abandon_frto();
        }
        if let Some(out) = self.send_lost(now, timers) {
            return Some(out);
        }
        if let Some(out) = self.send_new(now, timers) {
            return Some(out);
        }
        if let Some(out) = self.send_hole(now, timers) {
            return Some(out);
        }
        self.end_burst(now, timers);
        None
    }

    /// Nothing new can leave: data neither known to have arrived nor thought lost may be retransmitted.
    fn send_hole(&mut self, now: Time, timers: &mut TcpTimers) -> Option<OutgoingSegment> {
        let id = self.next_forward_retransmission()?;
        if self.board.in_flight() >= self.cwnd.cwnd() || self.is_held_back(now, timers) {
            return None;
        }
        Some(self.retransmit(now, id, timers))
    }

    /// The lowest segment that waits for its retransmission. Linux 6 looks for none while it counts as many retransmissions in flight as
    /// losses, and after a leak miscounts (`tcp_xmit_retransmit_queue`).
    pub(crate) fn next_lost(&self) -> Option<SegmentId> {
        let counts = self.config.loss_detection == LossDetection::Rack;
        let is_counted = self.board.retransmitted() >= self.board.lost();
        self.board.next_lost().filter(|_| !(counts && is_counted))
    }

    /// `tcp_xmit_retransmit_queue`
    fn send_lost(&mut self, now: Time, timers: &mut TcpTimers) -> Option<OutgoingSegment> {
        let id = self.next_lost().filter(|_| !self.recovery.is_testing())?;
        if self.board.in_flight() >= self.cwnd.cwnd() {
            return None;
        }
        let seq = self.board.get(id).seq;
        if seq >= self.window_end() && seq > self.una {
            return None;
        }
        if self.is_held_back(now, timers) {
            return None;
        }
        Some(self.retransmit(now, id, timers))
    }

    /// `tcp_retransmit_skb`
    fn retransmit(&mut self, now: Time, id: SegmentId, timers: &mut TcpTimers) -> OutgoingSegment {
        let seq = self.board.get(id).seq;
        let is_head = self.board.head().is_some_and(|head| head.seq == seq);
        if is_head && !timers.is_armed(TcpTimer::Reordering) {
            timers.arm_sender(
                now,
                TcpTimer::Retransmit,
                now + self.rtt.rto() + self.pacing_delay(now),
            );
        }
        let cause = match self.recovery.state {
            CongestionState::Loss => RetransmitCause::Timeout,
            _ => RetransmitCause::FastRetransmit,
        };
        self.note_sending(now);
        self.board.mark_retransmitted(id, now);
        self.recovery.note_retransmission(now);
        self.repeat(now, id, cause)
    }

    /// Cuts a segment that was sent before.
    fn repeat(&mut self, now: Time, id: SegmentId, cause: RetransmitCause) -> OutgoingSegment {
        let sent = *self.board.get(id);
        let data_end = sent.end.min(self.stream_end());
        let seq = sent.seq.max(self.una);
        let len = data_end.saturating_sub(seq) as usize;
        let payload = self.buffer.cut(seq - 1, len);
        self.stats.retransmitted_segments += 1;
        self.stats.retransmitted_bytes += len as u64;
        self.retransmits.add(now, sent.first_at, seq, cause);
        self.note_paced(now, len, self.burst_segments());
        if let Some(rate) = &mut self.rate {
            rate.on_sent_again(sent.seq);
        }
        let push = data_end == self.stream_end();
        OutgoingSegment { seq, payload, fin: sent.end > data_end, push, is_new: false }
    }

    /// The next new segment, if both windows permit it.
    fn send_new(&mut self, now: Time, timers: &mut TcpTimers) -> Option<OutgoingSegment> {
        let end = self.next_granted(now, timers)?;
        let out = self.send_up_to(now, end);
        if self.starved && self.bursts.is_over(end) && self.board.in_flight() < self.cwnd.cwnd() {
            // `tcp_event_new_data_sent`: the buffer, not the window, may be the next limit.
            self.expand_buffer();
        }
        Some(out)
    }

    /// Nagle's algorithm as in Linux: a segment that is not full waits while another small one is
    /// unacknowledged (`tcp_nagle_check`, `tcp_minshall_check`).
    pub(crate) fn nagle_holds(&self) -> bool {
        self.config.nagle
            && !self.closing
            && self.unsent_bytes() < u64::from(self.mss)
            && self.small_end > self.una
    }

    fn send_up_to(&mut self, now: Time, end: u64) -> OutgoingSegment {
        let seq = self.nxt;
        let data_end = end.min(self.stream_end());
        let len = (data_end - seq) as usize;
        let payload = self.buffer.cut(seq - 1, len);
        self.note_idleness(now);
        self.note_sending(now);
        if !self.burst {
            self.burst = true;
            self.burst_from_idle = self.board.is_empty();
        }
        if let Some(rate) = &mut self.rate {
            rate.on_sent(seq, now, self.board.is_empty());
        }
        self.board.push(seq..end, now);
        self.nxt = end;
        self.count_before_restart(now);
        if len < self.mss as usize {
            self.small_end = end;
        }
        self.recovery.prr_sent += u32::from(self.recovery.is_reducing());
        self.stats.bytes += len as u64;
        let most = match self.config.tso_segments {
            TsoSegments::One => self.burst_segments(),
            TsoSegments::Autosized => self.bursts.segments_left(seq, self.mss),
        };
        self.note_paced(now, len, most);
        let push = data_end == self.stream_end() || self.bursts.pushes(end, self.mss);
        OutgoingSegment { seq, payload, fin: end > data_end, push, is_new: true }
    }

    /// `tcp_event_data_sent`
    fn note_sending(&mut self, now: Time) {
        if self.board.in_flight() == 0 {
            let app_limited = self.rate.as_ref().is_some_and(|rate| rate.is_app_limited());
            let resume = CarefulResume { now, idle: now - self.last_sent, app_limited };
            self.cwnd.controller.on_resume(&mut self.cwnd.window, &resume);
            if app_limited {
                self.update_pacing();
            }
        }
        self.last_sent = now;
    }

    fn send_forced(&mut self, now: Time, forced: Forced) -> Option<OutgoingSegment> {
        let out = match forced {
            Forced::NewData if self.has_sendable() => self.send_up_to(now, self.next_end()),
            Forced::NewData => return None,
            Forced::Tail => {
                let id = self.board.last()?;
                self.note_sending(now);
                self.board.note_sent_again(id, now);
                self.repeat(now, id, RetransmitCause::TailLossProbe)
            }
            Forced::Head => {
                let id = self.board.first()?;
                self.note_sending(now);
                self.board.mark_retransmitted(id, now);
                self.recovery.note_retransmission(now);
                return Some(self.repeat(now, id, RetransmitCause::Timeout));
            }
            Forced::PartialWindow => {
                let end = self.window_end().min(self.next_end());
                if end <= self.nxt {
                    return None;
                }
                return Some(self.send_up_to(now, end));
            }
            Forced::WindowProbe => {
                // An old sequence number is answered at once (`tcp_xmit_probe_skb`).
                let (seq, payload) = (self.una - 1, Payload::new());
                return Some(OutgoingSegment {
                    seq,
                    payload,
                    fin: false,
                    push: false,
                    is_new: false,
                });
            }
        };
        // The timeout is already running; new data must not replace it with another probe.
        self.probe = Some(TailProbe { ends: self.nxt, again: forced == Forced::Tail });
        self.burst = false;
        Some(out)
    }

    /// Nothing more may leave: sets the timers and evaluates the use of the window.
    fn end_burst(&mut self, now: Time, timers: &mut TcpTimers) {
        self.pacer.end_burst();
        self.restart_after_burst(now);
        let full = self.deferred || self.board.in_flight() >= self.cwnd.cwnd();
        if self.burst || (full && self.has_unsent()) {
            self.validate_window(now, full);
        }
        if std::mem::take(&mut self.burst) {
            if self.burst_from_idle || timers.is_armed(TcpTimer::LossProbe) {
                self.rearm_retransmission(now, timers);
            }
            let expiry = self.retransmission_due();
            self.schedule_probe(now, expiry, timers);
        }
        if self.board.is_empty() && self.has_unsent() && timers.sender_is_idle() {
            self.arm_persist(now, timers);
        }
        self.note_limit(now, full);
    }

    fn validate_window(&mut self, now: Time, full: bool) {
        let burst = Burst { full, sent: self.board.sent(), acknowledged: self.una, next: self.nxt };
        let patience = self.rtt.rto();
        let unused = match self.config.growth {
            Growth::PerAck => self.cwnd.validate_by_count(now, burst.sent, patience),
            Growth::PerSegment => self.cwnd.validate(now, &burst, patience),
        };
        if unused && self.config.slow_start_after_idle && !self.cwnd.is_rate_based() {
            let open = self.recovery.state == CongestionState::Open && !self.starved;
            self.cwnd.give_up_unused(now, open);
        }
    }

    /// Records what limits the connection (`tcp_chrono_*`), and lets the buffer grow
    /// if that is the limit (`tcp_should_expand_sndbuf`).
    fn note_limit(&mut self, now: Time, full: bool) {
        let limit = if self.has_unsent() && !full && !self.has_sendable() {
            Limit::ReceiveWindow
        } else if self.starved && !full && self.unsent_bytes() == 0 {
            self.expand_buffer();
            Limit::SendBuffer
        } else if self.board.is_empty() && !self.has_unsent() {
            Limit::Application
        } else {
            Limit::Network
        };
        self.limit.set(now, limit);
    }
}
