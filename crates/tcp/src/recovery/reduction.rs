//! Reduction of the window to the threshold, and its undo.
//!
//! Linux 6 and 3.10: proportional rate reduction (RFC 6937; `tcp_cwnd_reduction`), the latter with one segment of slack where
//! the former does slow start only while nothing more is lost. 3.2: the same in fast recovery
//! (`tcp_update_cwnd_in_recovery`). Earlier, and in 3.2 outside of fast recovery: rate halving (`tcp_cwnd_down`).

use congestion::Algorithm;
use units::Time;

use crate::ack::AckProgress;
use crate::config::{LossDetection, Reduction};
use crate::recovery::CongestionState;
use crate::sender::Sender;

impl Sender {
    /// `tcp_init_cwnd_reduction`
    pub(super) fn begin_reduction(&mut self) {
        self.recovery.ends = self.nxt;
        self.probe = None;
        self.restart_reduction();
        let window = &mut self.cwnd.window;
        window.ssthresh = self.cwnd.controller.on_congestion(window);
        self.ecn.on_reduction();
    }

    /// Restarts counting, and keeps the threshold.
    pub(super) fn restart_reduction(&mut self) {
        let recovery = &mut self.recovery;
        recovery.prior_cwnd = self.cwnd.cwnd();
        (recovery.prr_delivered, recovery.prr_sent, recovery.halving) = (0, 0, false);
        self.cwnd.window.restart_counting();
    }

    /// A router marked a segment: the window is reduced once per round trip (`tcp_enter_cwr`; RFC 3168
    /// section 6.1.2).
    pub(super) fn enter_cwr(&mut self) {
        self.recovery.prior_ssthresh = None;
        if self.recovery.state < CongestionState::Cwr {
            self.recovery.undo_from = None;
            self.begin_reduction();
            self.recovery.state = CongestionState::Cwr;
            if self.halves() {
                self.cwnd.window.cwnd = self.cwnd.cwnd().min(self.board.in_flight() + 1);
            }
        }
    }

    fn halves(&self) -> bool {
        match self.config.reduction {
            Reduction::RateHalving => true,
            Reduction::Prr32 => self.recovery.state != CongestionState::Recovery,
            Reduction::Prr310 | Reduction::Prr6 => false,
        }
    }

    /// Moves the window during a reduction.
    pub(crate) fn reduce(&mut self, progress: &AckProgress, newly_lost: u64) {
        match self.config.reduction {
            _ if self.halves() => self.halve(progress),
            Reduction::Prr6 => self.reduce_proportionally_6(progress, newly_lost),
            _ => self.reduce_proportionally_3(progress),
        }
    }

    fn reduce_proportionally_6(&mut self, progress: &AckProgress, newly_lost: u64) {
        let delivered = progress.delivered;
        if delivered == 0 || self.recovery.prior_cwnd == 0 {
            return;
        }
        self.recovery.prr_delivered += delivered;
        let (ssthresh, in_flight) = (self.cwnd.window.ssthresh, self.board.in_flight());
        let mut may_send = if in_flight > ssthresh {
            self.proportional_share()
        } else {
            let owed = self.recovery.prr_owed().max(delivered);
            let repaired = progress.advanced && newly_lost == 0;
            (owed + u32::from(repaired)).min(ssthresh - in_flight)
        };
        if self.recovery.prr_sent == 0 {
            // The first retransmission of an episode always leaves.
            may_send = may_send.max(1);
        }
        self.cwnd.window.cwnd = in_flight + may_send;
    }

    fn reduce_proportionally_3(&mut self, progress: &AckProgress) {
        let uncounted = self.config.reduction == Reduction::Prr32 && !self.sack;
        let delivered = match progress.newly_delivered() {
            // 3.2 computes this before `tcp_add_reno_sack`.
            _ if uncounted && progress.is_duplicate => 0,
            delivered => delivered,
        };
        self.recovery.prr_delivered += delivered;
        let (ssthresh, in_flight) = (self.cwnd.window.ssthresh, self.board.in_flight());
        let may_send = if in_flight > ssthresh {
            self.proportional_share()
        } else {
            (self.recovery.prr_owed().max(delivered) + 1).min(ssthresh - in_flight)
        };
        self.cwnd.window.cwnd = in_flight + may_send.max(u32::from(progress.entered_recovery));
    }

    /// Share while the pipe is fuller than the threshold: data sent stays in proportion to data delivered.
    fn proportional_share(&self) -> u32 {
        let recovery = &self.recovery;
        let due = u64::from(self.cwnd.window.ssthresh) * u64::from(recovery.prr_delivered);
        let due = due.div_ceil(u64::from(recovery.prior_cwnd.max(1)));
        u32::try_from(due).unwrap_or(u32::MAX).saturating_sub(recovery.prr_sent)
    }

    /// One segment less on every second acknowledgement with news, and never more than one to send.
    fn halve(&mut self, progress: &AckProgress) {
        if !progress.says_anything() && (self.sack || !progress.is_duplicate) {
            return;
        }
        let (floor, in_flight) = (self.halving_floor(), self.board.in_flight());
        let window = &mut self.cwnd.window;
        let second = self.recovery.halving;
        self.recovery.halving = !second;
        if second && window.cwnd > floor {
            window.cwnd -= 1;
        }
        window.cwnd = window.cwnd.min(in_flight + 1);
    }

    /// Floor of rate halving (`tcp_cwnd_min`): the threshold, and half of it for Reno (`tcp_reno_min_cwnd`).
    fn halving_floor(&self) -> u32 {
        let ssthresh = self.cwnd.window.ssthresh;
        if self.config.congestion == Algorithm::Reno { ssthresh / 2 } else { ssthresh }
    }

    /// `tcp_end_cwnd_reduction`, `tcp_complete_cwr`
    pub(super) fn end_reduction(&mut self, now: Time) {
        if self.cwnd.is_rate_based() {
            return;
        }
        let undoable = self.recovery.undo_from.is_some();
        let window = &mut self.cwnd.window;
        let target = match self.config.reduction {
            // The result of rate halving stands if it is lower.
            Reduction::RateHalving => window.cwnd.min(window.ssthresh),
            Reduction::Prr32 if self.recovery.state == CongestionState::Cwr => {
                window.cwnd.min(window.ssthresh)
            }
            _ => window.ssthresh,
        };
        let stands = match self.config.reduction {
            Reduction::RateHalving | Reduction::Prr32 => undoable,
            _ => undoable || self.recovery.state == CongestionState::Cwr,
        };
        if window.ssthresh < congestion::INFINITE_SSTHRESH && stands {
            window.cwnd = target;
            self.cwnd.touch(now);
        }
    }

    /// A tail loss probe repaired a loss: reduce once, without an episode (`tcp_process_tlp_ack`).
    pub(crate) fn reduce_after_probe(&mut self, now: Time) {
        self.begin_reduction();
        self.recovery.state = CongestionState::Cwr;
        self.end_reduction(now);
        self.keep_open();
    }

    /// An acknowledgement in a doubtful situation must not release a burst (`tcp_moderate_cwnd`).
    pub(super) fn moderate_burst(&mut self) {
        if !self.cwnd.is_rate_based() {
            let most = self.board.in_flight() + self.rack.reordering();
            self.cwnd.window.cwnd = self.cwnd.cwnd().min(most);
        }
    }
}

// Undo of a reduction that proves spurious.
//
// Source: `tcp_undo_cwnd_reduction` (Linux 3: `tcp_undo_cwr`), `tcp_try_undo_recovery`, `tcp_try_undo_dsack`,
// `tcp_try_undo_loss`, `tcp_try_undo_partial`. The evidence is an echoed timestamp (RFC 3522), a report of duplicates for
// every retransmission (RFC 2883), or F-RTO's verdict.

impl Sender {
    pub(super) fn undo(&mut self, now: Time, unmark: bool) {
        if unmark {
            self.board.unmark_all_lost();
        }
        self.restore_window(true);
        self.cwnd.touch(now);
        self.recovery.undo_from = None;
        self.rack.reexamine();
        self.stats.undone += 1;
    }

    /// Restores the window and, if `threshold`, the threshold.
    fn restore_window(&mut self, threshold: bool) {
        let by_count = self.config.loss_detection != LossDetection::Rack;
        let window = &mut self.cwnd.window;
        if let Some(prior) = self.recovery.prior_ssthresh {
            window.cwnd = self.cwnd.controller.undo(window, self.recovery.prior_cwnd);
            if threshold && prior > window.ssthresh {
                window.ssthresh = prior;
                self.ecn.on_undo();
            }
        } else if by_count && window.ssthresh < congestion::INFINITE_SSTHRESH {
            window.cwnd = window.cwnd.max(window.ssthresh);
        }
    }

    /// An episode ends. Returns true if its state is to be held: without SACK, duplicates of its own
    /// retransmissions may still come (RFC 6582 section 5).
    pub(super) fn try_undo_recovery(&mut self, now: Time, echo: Option<Time>) -> bool {
        if self.recovery.may_undo(echo) {
            self.undo(now, false);
        } else {
            self.rack.note_recovery();
        }
        if !self.sack && self.una == self.recovery.ends {
            if !self.any_retransmission() {
                self.recovery.first_retransmission = None;
            }
            return true;
        }
        self.recovery.state = CongestionState::Open;
        false
    }

    pub(super) fn try_undo_duplicates(&mut self, now: Time) -> bool {
        let needless = self.recovery.undo_from.is_some() && self.recovery.undo_pending == Some(0);
        if needless {
            self.rack.note_undo();
            self.undo(now, false);
        }
        needless
    }

    pub(super) fn try_undo_loss(&mut self, now: Time, echo: Option<Time>, spurious: bool) -> bool {
        let undo = spurious || self.recovery.may_undo(echo);
        if undo {
            if spurious {
                self.retransmits.judge_timeout(self.recovery.first_retransmission);
            }
            self.undo(now, true);
            self.timeouts = 0;
            if spurious || self.sack {
                self.recovery.state = CongestionState::Open;
            }
        }
        undo
    }

    /// A hole was filled by the original; returns true if there is no more to do. Linux 6.
    pub(super) fn try_undo_partial(&mut self, now: Time, progress: &AckProgress) -> bool {
        if self.recovery.undo_from.is_none() || !self.recovery.original_arrived(progress.echo) {
            return false;
        }
        self.note_reordering(progress.prior_una, progress.prior_highest);
        if self.board.retransmitted() > 0 {
            return true;
        }
        if !self.any_retransmission() {
            self.recovery.first_retransmission = None;
        }
        self.undo(now, true);
        self.keep_open();
        false
    }

    /// More of the episode is acknowledged: returns true to look for further losses. If the original filled the hole, the
    /// window is restored, but not the threshold, and nothing more is marked for now. Linux 3.
    pub(super) fn repairs_go_on(&mut self, now: Time, progress: &AckProgress) -> bool {
        if !self.recovery.may_undo(progress.echo) {
            return !self.sack || self.board.facked() > self.rack.reordering();
        }
        if !self.any_retransmission() {
            self.recovery.first_retransmission = None;
        }
        self.note_reordering(progress.prior_una, progress.prior_highest);
        self.restore_window(false);
        self.cwnd.touch(now);
        self.stats.undone += 1;
        false
    }
}
