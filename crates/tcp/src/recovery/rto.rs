//! The retransmission timeout, the Loss state that follows it, and the F-RTO of RFC 4138.
//!
//! Source: `tcp_enter_loss`, `tcp_timeout_mark_lost`, `tcp_process_loss` (RFC 5682 section 3.1) of Linux 3.0.27, 3.10.17 and 6.18.

use congestion::Timeout;
use units::Time;

use crate::ack::AckProgress;
use crate::config::{Frto, LossDetection, LossWindow, Reduction, SpuriousResponse};
use crate::rack::DUPLICATE_THRESHOLD;
use crate::recovery::CongestionState;
use crate::scoreboard::SegmentId;
use crate::sender::{Forced, Sender};

/// Verdict of RFC 5682 on an acknowledgement.
#[derive(PartialEq, Eq)]
enum FrtoVerdict {
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
        if self.next_lost() != self.board.first() {
            // `tcp_retransmit_timer` repeats the head in any case.
            self.forced = Some(Forced::Head);
        }
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
            self.losses += u64::from(self.board.mark_lost(id));
        }
    }

    /// Marks everything lost, and assumes that no retransmission is under way.
    fn mark_all(&mut self) {
        for id in self.board.ids() {
            self.mark_afresh(id);
        }
    }

    pub(super) fn mark_afresh(&mut self, id: SegmentId) {
        // A segment that was retransmitted without having been thought lost still counts as in flight.
        self.board.forget_retransmission(id);
        if !self.board.get(id).sacked {
            self.board.mark_lost(id);
            self.losses += 1;
        }
    }

    /// F-RTO and the end of a Loss episode, in the order of Linux 6.
    pub(super) fn process_loss_by_time(&mut self, now: Time, progress: &AckProgress) {
        let recovered = self.una >= self.recovery.ends;
        if progress.advanced && self.try_undo_loss(now, progress.echo, false) {
            return;
        }
        if self.judge_timeout(now, progress) == FrtoVerdict::Conventional && recovered {
            self.try_undo_recovery(now, progress.echo);
        }
    }

    /// The same in the order of Linux 3.10. Rate halving comes with a limit on bursts even here.
    pub(super) fn process_loss_by_count(&mut self, now: Time, progress: &AckProgress) {
        let recovered = self.una >= self.recovery.ends;
        if self.judge_timeout(now, progress) != FrtoVerdict::Conventional {
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
    fn judge_timeout(&mut self, now: Time, progress: &AckProgress) -> FrtoVerdict {
        if !self.recovery.frto {
            return FrtoVerdict::Conventional;
        }
        if progress.original && self.try_undo_loss(now, progress.echo, true) {
            return FrtoVerdict::Spurious;
        }
        if self.nxt > self.recovery.ends {
            if progress.sacked || progress.is_duplicate {
                self.recovery.frto = false;
            }
        } else if progress.advanced && self.una < self.recovery.ends {
            self.recovery.ends = self.nxt;
            if self.has_sendable() {
                self.recovery.new_data_first = true;
                return FrtoVerdict::Pending;
            }
            self.recovery.frto = false;
        }
        FrtoVerdict::Conventional
    }

    /// F-RTO had nothing new to send: conventional recovery.
    pub(crate) fn abandon_frto(&mut self) {
        self.recovery.frto = false;
        self.recovery.new_data_first = false;
    }
}

// F-RTO as of RFC 4138: a timeout is tested before anything is considered lost.
//
// ```text
//     timeout: head again, window to in flight + 1
//        |  first acknowledgement that advances: two new segments
//        v
//     second: advances again, or SACKs only data sent once --> spurious: the response
//        |  anything else
//        v
//     Loss: all is marked, the window is in flight + 3
// ```
//
// Source: Linux 3.0.27 `tcp_use_frto`, `tcp_enter_frto`, `tcp_process_frto`, `tcp_enter_frto_loss`; appendix B of RFC 4138 with
// SACK. The default response does not undo: the threshold stays reduced and the window comes
// down to it, so each spurious timeout costs a reduction. A timeout after the first acknowledgement computes the
// threshold as if the window were two segments.

/// A test under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpuriousTest {
    /// End of the data sent when the timer expired (`frto_highmark`).
    highmark: u64,
    /// The first acknowledgement came (`frto_counter` is 2 or 3).
    advanced: bool,
}

impl Sender {
    /// Without SACK, nothing but the head may have been retransmitted (`tcp_use_frto`).
    pub(super) fn may_test_timeout(&self) -> bool {
        if self.config.frto != Frto::Rfc4138 {
            return false;
        }
        let mut others = self.board.ids().skip(1).map(|id| self.board.get(id));
        self.sack
            || (self.board.retransmitted() <= 1
                && others.next().is_none_or(|sent| !sent.ever_retransmitted))
    }

    /// The timer expired (`tcp_enter_frto`).
    pub(super) fn test_timeout(&mut self) {
        let (state, testing) = (self.recovery.state, self.recovery.is_testing());
        let first_of_head = (state == CongestionState::Loss || testing) && self.timeouts == 0;
        if (!testing && state <= CongestionState::Disorder)
            || self.una == self.recovery.ends
            || first_of_head
        {
            self.recovery.prior_ssthresh = Some(self.current_ssthresh());
            self.recovery.prior_cwnd = self.cwnd.cwnd();
            self.reduce_threshold(testing);
        }
        self.recovery.arm_undo(self.una, 0);
        if let Some(head) = self.board.first() {
            if self.board.get(head).ever_retransmitted {
                self.recovery.undo_from = None;
            }
            self.board.forget_retransmission(head);
        }
        self.cwnd.window.cwnd = self.cwnd.cwnd().min(self.board.in_flight() + 1);
        let recovering = testing || state >= CongestionState::Recovery;
        let episode = self.sack && recovering && self.recovery.ends > self.una;
        let highmark = if episode { self.recovery.ends } else { self.nxt };
        self.recovery.state = CongestionState::Disorder;
        self.recovery.ends = self.nxt;
        self.recovery.test = Some(SpuriousTest { highmark, advanced: false });
        self.forced = Some(Forced::Head);
    }

    /// An unfinished test leaves the window too large for the computation: it counts as two.
    fn reduce_threshold(&mut self, testing: bool) {
        let window = &mut self.cwnd.window;
        let cwnd = window.cwnd;
        if testing {
            window.cwnd = 2;
        }
        window.ssthresh = self.cwnd.controller.on_congestion(window);
        window.cwnd = cwnd;
    }

    /// Judges an acknowledgement; returns true if the window may not grow by it (`tcp_process_frto`).
    pub(crate) fn judge_test(&mut self, now: Time, progress: &AckProgress) -> bool {
        let Some(test) = self.recovery.test else { return false };
        if progress.covered.later_retransmission
            || (test.advanced && progress.covered.retransmission)
        {
            self.recovery.undo_from = None;
        }
        if self.una >= test.highmark {
            // Everything is acknowledged: no evidence is left.
            let allowed = if test.advanced { 3 } else { 2 };
            self.fail_test(now, test, progress, allowed);
            return true;
        }
        let fails = if self.sack {
            test.advanced && !progress.shows_only_originals()
        } else {
            !progress.advanced
        };
        if !progress.advanced && !test.advanced && self.sack {
            // Nothing new leaves before the first acknowledgement advances.
            self.cwnd.window.cwnd = self.cwnd.cwnd().min(self.board.in_flight());
            return true;
        }
        if fails {
            let says_nothing = !progress.advanced && !progress.sacked;
            if says_nothing && !progress.is_duplicate {
                return true;
            }
            let allowed = if !self.sack && !test.advanced { 0 } else { 3 };
            self.fail_test(now, test, progress, allowed);
            return true;
        }
        if test.advanced {
            self.respond_to_spurious_timeout(now);
            return false;
        }
        self.cwnd.window.cwnd = self.board.in_flight() + 2;
        self.recovery.test = Some(SpuriousTest { advanced: true, ..test });
        if !self.may_send_new() {
            self.fail_test(now, test, progress, 2);
        }
        true
    }

    /// The timeout was real, as far as can be known: conventional recovery (`tcp_enter_frto_loss`).
    fn fail_test(&mut self, now: Time, test: SpuriousTest, progress: &AckProgress, allowed: u32) {
        let head_in_flight = !test.advanced && !progress.advanced;
        self.board.forget_presumed();
        for (index, id) in self.board.ids().enumerate() {
            let sent = *self.board.get(id);
            if index == 0 && head_in_flight {
                // The retransmission that the timer ordered is still under way.
                self.losses += u64::from(self.board.mark_missing(id));
                continue;
            }
            if sent.ever_retransmitted {
                self.recovery.undo_from = None;
            }
            self.mark_afresh(id);
        }
        self.cwnd.window.cwnd = self.board.in_flight() + allowed;
        self.rack.forget_reordering();
        self.recovery.test = None;
        self.begin_loss(now);
    }

    fn respond_to_spurious_timeout(&mut self, now: Time) {
        self.retransmits.judge_timeout(self.recovery.first_retransmission);
        match self.config.spurious_response {
            SpuriousResponse::RateHalving => self.halve_after_spurious_timeout(),
            SpuriousResponse::Conservative => {
                self.cwnd.window.cwnd = self.cwnd.cwnd().min(self.cwnd.window.ssthresh);
                self.cwnd.window.restart_counting();
                self.moderate_burst();
            }
            SpuriousResponse::Undo => self.undo(now, false),
        }
        self.recovery.test = None;
        self.recovery.undo_from = None;
    }

    /// `tcp_enter_cwr` without a new threshold.
    fn halve_after_spurious_timeout(&mut self) {
        self.recovery.prior_ssthresh = None;
        if self.recovery.state < CongestionState::Cwr {
            self.restart_reduction();
            self.cwnd.window.cwnd = self.cwnd.cwnd().min(self.board.in_flight() + 1);
            self.recovery.ends = self.nxt;
            self.recovery.state = CongestionState::Cwr;
        }
    }
}
