//! The retransmission timeout, and the Loss state that follows it.
//!
//! Source: `tcp_enter_loss`, `tcp_timeout_mark_lost`, `tcp_process_loss` (RFC 5682 section 3.1) of Linux 3.0.27, 3.10.17 and 6.18.

use congestion::Timeout;
use units::Time;

use crate::ack::Progress;
use crate::config::{Frto, LossDetection, LossWindow, Reduction};
use crate::rack::DUPLICATE_THRESHOLD;
use crate::recovery::CongestionState;
use crate::scoreboard::Id;
use crate::sender::Sender;

/// Verdict of RFC 5682 on an acknowledgement.
#[derive(PartialEq, Eq)]
enum Verdict {
    /// The timeout was spurious, and is undone.
    Spurious,
    /// New data leaves; the next acknowledgement decides.
    Pending,
    /// No verdict, or the timeout was real.
    Conventional,
}

impl Sender {
    /// The retransmission timer expired.
    pub(crate) fn enter_loss(&mut self, now: Time) {
        let state = self.recovery.state;
        if self.may_test_timeout() {
            self.test_timeout();
            return;
        }
        self.recovery.test = None;
        self.board.forget_presumed();
        match self.config.loss_window {
            LossWindow::InFlightPlusOne => self.mark_all_but_fresh(now),
            LossWindow::One => self.mark_all(),
        }
        let unreduced = state <= CongestionState::Disorder
            || self.recovery.ends <= self.una
            || (state == CongestionState::Loss && self.timeouts == 0);
        if unreduced {
            self.recovery.prior_ssthresh = Some(self.current_ssthresh());
            self.recovery.prior_cwnd = self.cwnd.window.cwnd;
            self.cwnd.window.ssthresh = self.cwnd.controller.on_congestion(&self.cwnd.window);
        }
        self.arm_undo_of_timeout(unreduced);
        self.cwnd.window.cwnd = match self.config.loss_window {
            LossWindow::InFlightPlusOne => self.board.in_flight() + 1,
            LossWindow::One => 1,
        };
        self.lower_reordering(state);
        self.begin_loss(now);
        self.recovery.frto = self.config.frto == Frto::Rfc5682
            && (state < CongestionState::Recovery || self.timeouts > 0);
    }

    /// The part common to both ways into the state.
    pub(super) fn begin_loss(&mut self, now: Time) {
        self.cwnd.window.restart_counting();
        self.cwnd.touch(now);
        self.recovery.state = CongestionState::Loss;
        let timeout = Timeout { now, next: self.nxt, lost: self.losses };
        self.cwnd.controller.on_timeout(&timeout);
        self.ecn.on_reduction();
        self.recovery.ends = self.nxt;
        self.probe = None;
        self.recovery.frto = false;
        self.recovery.new_data_first = false;
    }

    /// Arms the undo: Linux 6 may undo its own reduction; Linux 3 any timeout before which nothing was retransmitted.
    fn arm_undo_of_timeout(&mut self, unreduced: bool) {
        match self.config.loss_window {
            LossWindow::InFlightPlusOne if unreduced => self.arm_undo(),
            LossWindow::InFlightPlusOne => {}
            LossWindow::One => {
                self.arm_undo();
                if self.board.ids().any(|id| self.board.get(id).ever_retransmitted) {
                    self.recovery.undo_from = None;
                }
            }
        }
    }

    /// The degree of reordering was overestimated: Linux 3 always assumes so, Linux 6 after many duplicates.
    fn lower_reordering(&mut self, state: CongestionState) {
        let duplicates =
            state <= CongestionState::Disorder && self.board.sacked() >= DUPLICATE_THRESHOLD;
        if duplicates || self.config.loss_detection != LossDetection::Rack {
            self.rack.forget_reordering();
        }
    }

    /// Marks everything lost except data sent too recently to know (`tcp_timeout_mark_lost`).
    fn mark_all_but_fresh(&mut self, now: Time) {
        for (index, id) in self.board.ids().enumerate() {
            let sent = self.board.get(id);
            if sent.sacked || (index > 0 && self.rack.is_fresh(sent.at, now)) {
                continue;
            }
            self.board.mark_lost(id);
            self.losses += 1;
        }
    }

    /// Marks everything lost, and assumes that no retransmission is under way.
    fn mark_all(&mut self) {
        for id in self.board.ids() {
            self.mark_afresh(id);
        }
    }

    pub(super) fn mark_afresh(&mut self, id: Id) {
        if self.board.get(id).sacked {
            // A segment that was retransmitted without having been thought lost still counts as in flight.
            self.board.forget_retransmission(id);
        } else {
            self.board.mark_lost(id);
            self.losses += 1;
        }
    }

    /// F-RTO and the end of a Loss episode, in the order of Linux 6.
    pub(super) fn process_loss_by_time(&mut self, now: Time, progress: &Progress) {
        let recovered = self.una >= self.recovery.ends;
        if progress.advanced && self.try_undo_loss(now, progress.echo, false) {
            return;
        }
        if self.judge_timeout(now, progress) == Verdict::Conventional && recovered {
            self.try_undo_recovery(now, progress.echo);
        }
    }

    /// The same in the order of Linux 3.10. Rate halving comes with a limit on bursts even here.
    pub(super) fn process_loss_by_count(&mut self, now: Time, progress: &Progress) {
        let recovered = self.una >= self.recovery.ends;
        if self.judge_timeout(now, progress) != Verdict::Conventional {
            return;
        }
        if recovered {
            if self.try_undo_recovery(now, progress.echo) {
                self.moderate_burst();
            }
        } else if !self.try_undo_loss(now, progress.echo, false)
            && matches!(self.config.reduction, Reduction::RateHalving | Reduction::Prr32)
        {
            self.moderate_burst();
        }
    }

    /// F-RTO (RFC 5682 section 3.1): data that was never retransmitted arrives.
    fn judge_timeout(&mut self, now: Time, progress: &Progress) -> Verdict {
        if !self.recovery.frto {
            return Verdict::Conventional;
        }
        if progress.original && self.try_undo_loss(now, progress.echo, true) {
            return Verdict::Spurious;
        }
        if self.nxt > self.recovery.ends {
            if progress.sacked || progress.is_duplicate {
                self.recovery.frto = false;
            }
        } else if progress.advanced && self.una < self.recovery.ends {
            self.recovery.ends = self.nxt;
            if self.has_sendable() {
                self.recovery.new_data_first = true;
                return Verdict::Pending;
            }
            self.recovery.frto = false;
        }
        Verdict::Conventional
    }

    /// F-RTO had nothing new to send: conventional recovery.
    pub(crate) fn abandon_frto(&mut self) {
        self.recovery.frto = false;
        self.recovery.new_data_first = false;
    }
}
