//! Undo of a reduction that proves spurious.
//!
//! Source: `tcp_undo_cwnd_reduction` (Linux 3: `tcp_undo_cwr`), `tcp_try_undo_recovery`, `tcp_try_undo_dsack`,
//! `tcp_try_undo_loss`, `tcp_try_undo_partial`. The evidence is an echoed timestamp (RFC 3522), a report of duplicates for
//! every retransmission (RFC 2883), or F-RTO's verdict.

use units::Time;

use crate::ack::Progress;
use crate::config::LossDetection;
use crate::recovery::CongestionState;
use crate::sender::Sender;

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
    pub(super) fn try_undo_partial(&mut self, now: Time, progress: &Progress) -> bool {
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
    pub(super) fn repairs_go_on(&mut self, now: Time, progress: &Progress) -> bool {
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
