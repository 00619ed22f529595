//! F-RTO as of RFC 4138: a timeout is tested before anything is considered lost.
//!
//! ```text
//!   timeout: head again, window to in flight + 1
//!     |  first acknowledgement that advances: two new segments
//!     v
//!   second: advances again, or SACKs only data sent once --> spurious: the response
//!     |  anything else
//!     v
//!   Loss: all is marked, the window is in flight + 3
//! ```
//!
//! Source: Linux 3.0.27 `tcp_use_frto`, `tcp_enter_frto`, `tcp_process_frto`, `tcp_enter_frto_loss`; appendix B of RFC 4138 with
//! SACK. The default response does not undo: the threshold stays reduced and the window comes
//! down to it, so each spurious timeout costs a reduction. A timeout after the first acknowledgement computes the
//! threshold as if the window were two segments.

use units::Time;

use crate::ack::Progress;
use crate::config::{Frto, SpuriousResponse};
use crate::recovery::CongestionState;
use crate::sender::{Forced, Sender};

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
    pub(crate) fn judge_test(&mut self, now: Time, progress: &Progress) -> bool {
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
    fn fail_test(&mut self, now: Time, test: SpuriousTest, progress: &Progress, allowed: u32) {
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
