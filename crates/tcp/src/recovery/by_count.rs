//! The state machine of Linux 3, which finds losses by counting out-of-order arrivals.
//!
//! With FACK the distance from the head to the highest data that arrived counts, holes included; it is given up for good
//! when the network is seen to reorder. Without FACK, segments that arrived count (RFC 6675), and without SACK
//! duplicates (RFC 6582). Source: Linux 3.0.27 and 3.10.17 `tcp_fastretrans_alert`, `tcp_time_to_recover`,
//! `tcp_update_scoreboard`, `tcp_mark_lost_retrans`, `tcp_try_to_open`, `tcp_pause_early_retransmit`. Left out: the rules for
//! thin streams (off by default), and `FLAG_DATA_LOST`, up to 3.2: the same acknowledgement marks the same data anyway, except
//! if that acknowledgement undoes the episode.

use std::time::Duration;

use units::Time;

use crate::ack::AckProgress;
use crate::config::{LossDetection, Reduction};
use crate::rack::DUPLICATE_THRESHOLD;
use crate::recovery::CongestionState;
use crate::scoreboard::SegmentId;
use crate::sender::Sender;
use crate::timers::{TcpTimer, TcpTimers};

/// Minimum wait of early retransmit for reordered data (`tcp_pause_early_retransmit`).
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
/// Early retransmit is for flights smaller than this (RFC 5827 section 2.1).
const SMALL_FLIGHT: u32 = 4;

impl Sender {
    pub(super) fn alert_by_count(
        &mut self,
        now: Time,
        progress: &mut AckProgress,
        timers: &mut TcpTimers,
    ) {
        let threshold = self.rack.reordering();
        let mut examine =
            progress.is_duplicate || (progress.sacked && self.board.facked() > threshold);
        self.mark_overtaken_retransmissions();
        if self.recovery.state == CongestionState::Open {
            self.recovery.first_retransmission = None;
        } else if self.una >= self.recovery.ends && self.leave_by_count(now, progress) {
            return;
        }
        if self.recovery.state == CongestionState::Recovery {
            if progress.advanced {
                examine = self.repairs_go_on(now, progress);
            } else {
                self.presume_arrival(progress);
            }
        } else {
            if self.recovery.state == CongestionState::Loss {
                self.presume_in_loss(progress);
                self.process_loss_by_count(now, progress);
                if self.recovery.state != CongestionState::Open {
                    return;
                }
            }
            self.presume_in_order(progress);
            self.try_undo_late(now);
            if !self.is_time_to_recover(now, progress, timers) {
                self.settle_by_count(progress);
                return;
            }
            self.begin_recovery(progress.congestion_marked);
            progress.entered_recovery = true;
        }
        if examine || self.head_is_overdue(now) {
            self.mark_by_count(now, progress.entered_recovery);
        }
    }

    /// All of the episode is acknowledged. Returns true if there is no more to do.
    fn leave_by_count(&mut self, now: Time, progress: &AckProgress) -> bool {
        match self.recovery.state {
            CongestionState::Cwr if self.una != self.recovery.ends => {
                self.end_reduction(now);
                self.recovery.state = CongestionState::Open;
            }
            CongestionState::Recovery => {
                self.board.forget_presumed();
                if self.try_undo_recovery(now, progress.echo) {
                    self.moderate_burst();
                    return true;
                }
                self.end_reduction(now);
            }
            CongestionState::Disorder if self.awaits_late_duplicates() => {
                self.try_undo_duplicates(now);
                // Duplicates of the episode may still be reported until something newer is acknowledged.
                if !self.recovery.may_still_undo() || !self.sack || self.una != self.recovery.ends {
                    self.recovery.forbid_undo();
                    self.recovery.state = CongestionState::Open;
                }
            }
            _ => {}
        }
        false
    }

    /// True if a finished recovery stays in Disorder for as long as it may be undone: up to Linux 3.2.
    fn awaits_late_duplicates(&self) -> bool {
        matches!(self.config.reduction, Reduction::RateHalving | Reduction::Prr32)
    }

    fn try_undo_late(&mut self, now: Time) {
        let state = self.recovery.state;
        if state == CongestionState::Disorder
            || (state == CongestionState::Open && !self.awaits_late_duplicates())
        {
            self.try_undo_duplicates(now);
        }
    }

    /// `tcp_enter_recovery`, the same in 3.0: an episode begins anew there even if the window is already being reduced.
    fn begin_recovery(&mut self, congestion_marked: bool) {
        self.enter_recovery(congestion_marked);
        if self.awaits_late_duplicates() {
            self.recovery.ends = self.nxt;
            self.restart_reduction();
        }
    }

    /// `tcp_try_to_open`
    fn settle_by_count(&mut self, progress: &AckProgress) {
        if !self.recovery.is_testing() && !self.any_retransmission() {
            self.recovery.first_retransmission = None;
        }
        if progress.congestion_marked {
            self.enter_cwr();
        }
        if self.recovery.state == CongestionState::Cwr {
            return;
        }
        self.keep_open();
        if self.awaits_late_duplicates() && self.recovery.may_still_undo() {
            self.recovery.state = CongestionState::Disorder;
        }
        if self.awaits_late_duplicates() || self.recovery.state != CongestionState::Open {
            self.moderate_burst();
        }
    }

    /// True if FACK is in use: until the network is seen to reorder.
    fn uses_fack(&self) -> bool {
        self.sack
            && self.config.loss_detection == LossDetection::Fack
            && !self.rack.has_exceeded_threshold()
    }

    /// Degree of disorder of the arrivals (`tcp_dupack_heuristics`).
    fn disorder(&self) -> u32 {
        if self.uses_fack() { self.board.facked() } else { self.board.sacked() + 1 }
    }

    /// With FACK, an old head is lost whatever arrived (`tcp_head_timedout`).
    fn head_is_overdue(&self, now: Time) -> bool {
        self.uses_fack() && self.board.head().is_some_and(|head| now - head.at > self.rtt.rto())
    }

    /// `tcp_may_send_now`
    pub(super) fn may_send_new(&self) -> bool {
        self.has_sendable() && self.board.in_flight() < self.cwnd.cwnd()
    }

    /// `tcp_time_to_recover`
    fn is_time_to_recover(
        &self,
        now: Time,
        progress: &mut AckProgress,
        timers: &mut TcpTimers,
    ) -> bool {
        if self.recovery.is_testing() {
            return false;
        }
        let (threshold, sent) = (self.rack.reordering(), self.board.sent());
        if self.board.lost() > 0 || self.disorder() > threshold || self.head_is_overdue(now) {
            return true;
        }
        // Nothing can follow that would provoke more duplicates.
        let enough = self.board.sacked() >= (sent / 2).max(DUPLICATE_THRESHOLD);
        if sent <= threshold && enough && !self.may_send_new() {
            return true;
        }
        self.may_retransmit_early() && !self.pause(now, progress, timers)
    }

    /// RFC 5827: a small flight cannot provoke three duplicates.
    fn may_retransmit_early(&self) -> bool {
        let (sent, sacked) = (self.board.sent(), self.board.sacked());
        self.config.early_retransmit
            && !self.rack.has_exceeded_threshold()
            && self.board.retransmitted() == 0
            && sacked > 0
            && sent > sacked
            && sent < SMALL_FLIGHT
            && !self.may_send_new()
    }

    /// Waits a quarter of a round trip for reordered data, unless the timeout is sooner; returns false if it does not
    /// (`tcp_pause_early_retransmit`).
    fn pause(&self, now: Time, progress: &mut AckProgress, timers: &mut TcpTimers) -> bool {
        let Some(srtt) = self.rtt.srtt() else { return false };
        let until = now + (srtt / 4).max(SHORTEST_PAUSE);
        let timeout =
            if progress.rearm { now + self.rtt.rto() } else { timers.due(TcpTimer::Retransmit) };
        if timeout <= until {
            return false;
        }
        timers.arm_sender(now, TcpTimer::Reordering, until);
        progress.rearm = false;
        true
    }

    /// The pause is over (`tcp_resume_early_retransmit`).
    pub(super) fn retransmit_early(&mut self, now: Time) {
        if self.config.early_retransmit && !self.board.is_empty() {
            self.begin_recovery(false);
            self.mark_by_count(now, true);
        }
    }

    /// `tcp_update_scoreboard`; `first` of the episode: at least the head is marked.
    fn mark_by_count(&mut self, now: Time, first: bool) {
        let (threshold, limit) = (self.rack.reordering(), self.recovery.ends);
        let board = &mut self.board;
        let marked = if !self.sack {
            board.first().map_or(0, |head| u64::from(board.mark_missing(head)))
        } else if self.config.loss_detection == LossDetection::Fack
            && !self.rack.has_exceeded_threshold()
        {
            let count = board.facked().saturating_sub(threshold).max(1);
            board.mark_before(count, limit, |_| true)
        } else if let Some(count) = board.sacked().checked_sub(threshold) {
            board.mark_before(count, limit, |sent| sent.sacked)
        } else if first {
            board.mark_before(1, limit, |_| true)
        } else {
            0
        };
        self.losses += marked;
        if self.head_is_overdue(now) {
            self.mark_overdue_run(now);
        }
    }

    /// Marks the head and its successors as long as they are older than the timeout (`tcp_timeout_skbs`).
    fn mark_overdue_run(&mut self, now: Time) {
        let rto = self.rtt.rto();
        for id in self.board.ids() {
            if now - self.board.get(id).at <= rto {
                break;
            }
            self.losses += u64::from(self.board.mark_missing(id));
        }
    }

    /// With FACK a retransmission is lost if data first sent after it has arrived (`tcp_mark_lost_retrans`).
    fn mark_overtaken_retransmissions(&mut self) {
        if self.recovery.state != CongestionState::Recovery || !self.uses_fack() {
            return;
        }
        for id in self.board.overtaken_retransmissions() {
            self.mark_afresh(id);
        }
    }

    /// Segment that may be retransmitted for lack of new data, in a recovery (`tcp_can_forward_retransmit`).
    pub(crate) fn next_forward_retransmission(&self) -> Option<SegmentId> {
        let by_count = self.config.loss_detection != LossDetection::Rack;
        if !by_count || !self.sack || self.recovery.state != CongestionState::Recovery {
            return None;
        }
        self.board.next_hole()
    }
}
