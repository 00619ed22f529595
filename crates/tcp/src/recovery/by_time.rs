//! The state machine of Linux 6, which looks for losses by time (RACK) on every acknowledgement.
//!
//! Source: Linux 6.18 `tcp_fastretrans_alert`, `tcp_identify_packet_loss`, `tcp_rack_reo_timeout`, and `tcp_newreno_mark_lost`
//! for peers without selective acknowledgements (RFC 6582).

use std::time::Duration;

use units::Time;

use crate::ack::AckProgress;
use crate::recovery::CongestionState;
use crate::sender::{Sender, TIMER_SLACK};
use crate::timers::{TcpTimer, TcpTimers};

impl Sender {
    pub(super) fn alert_by_time(
        &mut self,
        now: Time,
        progress: &mut AckProgress,
        timers: &mut TcpTimers,
    ) {
        use CongestionState::{Loss, Open, Recovery};

        if self.recovery.state == Open {
            self.recovery.first_retransmission = None;
        } else if self.una >= self.recovery.ends && self.leave_by_time(now, progress) {
            return;
        }
        match self.recovery.state {
            Recovery => {
                if !progress.advanced {
                    self.presume_arrival(progress);
                } else if self.try_undo_partial(now, progress) {
                    return;
                }
                if self.try_undo_duplicates(now) {
                    self.settle(progress);
                }
                self.find_losses(now, progress, timers);
                if self.recovery.state != Recovery && self.board.lost() > 0 {
                    self.enter_recovery(progress.congestion_marked);
                }
            }
            Loss => {
                self.presume_in_loss(progress);
                self.process_loss_by_time(now, progress);
                self.find_losses(now, progress, timers);
                if self.recovery.state == Open || progress.lost_again {
                    self.recover_or_settle(progress);
                }
            }
            _ => {
                self.presume_in_order(progress);
                if self.recovery.state <= CongestionState::Disorder {
                    self.try_undo_duplicates(now);
                }
                self.find_losses(now, progress, timers);
                self.recover_or_settle(progress);
            }
        }
    }

    /// All of the episode is acknowledged. Returns true if there is no more to do.
    fn leave_by_time(&mut self, now: Time, progress: &AckProgress) -> bool {
        match self.recovery.state {
            CongestionState::Cwr if self.una != self.recovery.ends => {
                self.end_reduction(now);
                self.recovery.state = CongestionState::Open;
            }
            CongestionState::Recovery => {
                self.board.forget_presumed();
                if self.try_undo_recovery(now, progress.echo) {
                    return true;
                }
                self.end_reduction(now);
            }
            _ => {}
        }
        false
    }

    fn recover_or_settle(&mut self, progress: &AckProgress) {
        if self.board.lost() > 0 {
            self.enter_recovery(progress.congestion_marked);
        } else {
            self.settle(progress);
        }
    }

    /// `tcp_try_to_open`
    fn settle(&mut self, progress: &AckProgress) {
        if !self.any_retransmission() {
            self.recovery.first_retransmission = None;
        }
        if progress.congestion_marked {
            self.enter_cwr();
        }
        if self.recovery.state != CongestionState::Cwr {
            self.keep_open();
        }
    }

    /// `tcp_identify_packet_loss`
    fn find_losses(&mut self, now: Time, progress: &mut AckProgress, timers: &mut TcpTimers) {
        if self.board.is_empty() {
            return;
        }
        if !self.sack {
            self.mark_head_by_duplicates(progress);
            return;
        }
        if !self.rack.take_advanced() {
            return;
        }
        let retransmitted = self.board.retransmitted();
        if let Some(wait) = self.mark_overdue(now) {
            self.arm_reordering(now, wait, timers);
            progress.rearm = false;
        }
        progress.lost_again |= retransmitted > self.board.retransmitted();
    }

    /// Enough duplicates, or in recovery a partial acknowledgement, show the first segment to be lost
    /// (`tcp_newreno_mark_lost`).
    fn mark_head_by_duplicates(&mut self, progress: &AckProgress) {
        let enough = self.recovery.state < CongestionState::Recovery
            && self.board.sacked() >= self.rack.reordering();
        let partial = self.recovery.state == CongestionState::Recovery && progress.advanced;
        if (enough || partial)
            && let Some(head) = self.board.first()
        {
            self.losses += u64::from(self.board.mark_missing(head));
        }
    }

    fn mark_overdue(&mut self, now: Time) -> Option<Duration> {
        let proven = self.recovery.state >= CongestionState::Recovery;
        let srtt = self.rtt.srtt().unwrap_or_default();
        let window = self.rack.window(proven, self.board.sacked(), self.min_rtt(), srtt);
        let (wait, marked) = self.rack.mark_losses(&mut self.board, now, window);
        self.losses += marked;
        wait
    }

    /// The reordering window closed (`tcp_rack_reo_timeout`).
    pub(super) fn on_reordering_window_over(&mut self, now: Time) {
        let (in_flight, losses) = (self.board.in_flight(), self.losses);
        self.mark_overdue(now);
        if in_flight != self.board.in_flight() && self.recovery.state != CongestionState::Recovery {
            self.enter_recovery(false);
            if !self.cwnd.is_rate_based() {
                self.reduce(&AckProgress::of_one_segment(), self.losses - losses);
            }
        }
    }

    fn arm_reordering(&mut self, now: Time, wait: Duration, timers: &mut TcpTimers) {
        let wait = (wait + TIMER_SLACK).min(self.rtt.rto());
        timers.arm_sender(now, TcpTimer::Reordering, now + wait);
    }
}
