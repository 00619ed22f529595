//! Loss recovery: the state machine, proportional rate reduction, F-RTO and undo.
//!
//! ```text
//!            something missing            loss proven
//!   Open <------------------> Disorder ---------------> Recovery ---+
//!    |  ^                        |                          |       | all of it acknowledged
//!    |  +------------------------+--------------------------+-------+
//!    |  |  timeout in any state: Loss, left the same way
//!    +--+  a tail loss probe repaired a loss: Cwr, left at once
//!          a congestion mark was echoed: Cwr, left when a round trip's worth is acknowledged
//! ```
//!
//! Source: Linux 6.18 `tcp_fastretrans_alert`, `tcp_cwnd_reduction` (RFC 6937), `tcp_process_loss`
//! (RFC 5682), `tcp_try_undo_*` (RFC 3522, RFC 2883). Left out: SACK reneging (our receiver never takes
//! back what it reported), path MTU probing.

use congestion::{Phase, Timeout};
use units::Time;

use crate::ack::Progress;
use crate::sender::Sender;
use crate::timers::{Timer, Timers};

/// Where loss recovery stands (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CongestionState {
    /// Nothing is amiss.
    Open,
    /// Something arrived out of order or twice.
    Disorder,
    /// The window is being reduced without a retransmission.
    Cwr,
    /// Fast retransmission.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// What a recovery must remember.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) state: CongestionState,
    /// The episode ends when this is acknowledged (`high_seq`).
    pub(crate) ends: u64,
    /// The window before the reduction.
    prior_cwnd: u32,
    /// The threshold before the reduction, if it may be restored.
    prior_ssthresh: Option<u32>,
    prr_delivered: u32,
    pub(crate) prr_sent: u32,
    /// What had been acknowledged when the episode began, while it may be undone (`undo_marker`).
    undo_from: Option<u64>,
    /// Retransmissions not yet reported as needless; none made so far: `None` (`undo_retrans`).
    undo_pending: Option<u32>,
    /// When the first retransmission of the episode left (`retrans_stamp`).
    pub(crate) first_retransmission: Option<Time>,
    /// F-RTO tests whether the timeout was spurious.
    frto: bool,
    /// F-RTO step 2b: send new data rather than retransmissions until the next acknowledgement.
    pub(crate) new_data_first: bool,
}

impl Recovery {
    pub(crate) fn new() -> Recovery {
        Recovery {
            state: CongestionState::Open,
            ends: 0,
            prior_cwnd: 0,
            prior_ssthresh: None,
            prr_delivered: 0,
            prr_sent: 0,
            undo_from: None,
            undo_pending: None,
            first_retransmission: None,
            frto: false,
            new_data_first: false,
        }
    }

    /// The window follows proportional rate reduction (`tcp_in_cwnd_reduction`).
    pub(crate) fn is_reducing(&self) -> bool {
        matches!(self.state, CongestionState::Cwr | CongestionState::Recovery)
    }

    /// The state as congestion controllers name it.
    pub(crate) fn phase(&self) -> Phase {
        match self.state {
            CongestionState::Open => Phase::Open,
            CongestionState::Disorder | CongestionState::Cwr => Phase::Disturbed,
            CongestionState::Recovery => Phase::Recovery,
            CongestionState::Loss => Phase::Loss,
        }
    }

    /// A retransmission left.
    pub(crate) fn note_retransmission(&mut self, now: Time) {
        self.first_retransmission.get_or_insert(now);
        *self.undo_pending.get_or_insert(0) += 1;
        self.prr_sent += u32::from(self.is_reducing());
    }

    /// The peer reports `count` duplicates of what ends at `end`.
    pub(crate) fn note_duplicates(&mut self, end: u64, count: u32) {
        if self.undo_from.is_some_and(|from| end > from)
            && let Some(pending) = &mut self.undo_pending
        {
            *pending = pending.saturating_sub(count);
        }
    }

    fn arm_undo(&mut self, acknowledged: u64, in_flight_again: u32) {
        self.undo_from = Some(acknowledged);
        self.undo_pending = (in_flight_again > 0).then_some(in_flight_again);
    }

    /// An acknowledgement echoes a time before the first retransmission: it was caused by the original
    /// (`tcp_packet_delayed`; RFC 3522).
    fn original_arrived(&self, echo: Option<Time>) -> bool {
        match self.first_retransmission {
            Some(at) => echo.is_some_and(|echo| echo < at),
            None => true,
        }
    }

    fn may_undo(&self, echo: Option<Time>) -> bool {
        self.undo_from.is_some() && (self.undo_pending == Some(0) || self.original_arrived(echo))
    }
}

impl Sender {
    /// Runs the state machine on an acknowledgement that is not plain (`tcp_fastretrans_alert`).
    pub(crate) fn alert(&mut self, now: Time, progress: &mut Progress, timers: &mut Timers) {
        use CongestionState::{Cwr, Loss, Open, Recovery};

        if progress.congestion_marked {
            // The reduction is called for: it is not to be undone.
            self.recovery.prior_ssthresh = None;
        }
        if self.recovery.state == Open {
            self.recovery.first_retransmission = None;
        } else if self.una >= self.recovery.ends {
            match self.recovery.state {
                Cwr if self.una != self.recovery.ends => {
                    self.end_reduction(now);
                    self.recovery.state = Open;
                }
                Recovery => {
                    self.try_undo_recovery(now, progress.echo);
                    self.end_reduction(now);
                }
                _ => {}
            }
        }
        match self.recovery.state {
            Recovery => {
                if progress.advanced && self.try_undo_partial(now, progress) {
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
                self.process_loss(now, progress);
                self.find_losses(now, progress, timers);
                if self.recovery.state == Open || progress.lost_again {
                    self.recover_or_settle(progress);
                }
            }
            _ => {
                if self.recovery.state <= CongestionState::Disorder {
                    self.try_undo_duplicates(now);
                }
                self.find_losses(now, progress, timers);
                self.recover_or_settle(progress);
            }
        }
    }

    fn recover_or_settle(&mut self, progress: &Progress) {
        if self.board.lost() > 0 {
            self.enter_recovery(progress.congestion_marked);
        } else {
            self.settle(progress);
        }
    }

    /// `tcp_identify_packet_loss`
    fn find_losses(&mut self, now: Time, progress: &mut Progress, timers: &mut Timers) {
        if self.board.is_empty() || !self.rack.take_advanced() {
            return;
        }
        let retransmitted = self.board.retransmitted();
        if let Some(wait) = self.mark_overdue(now) {
            self.arm_reordering(now, wait, timers);
            progress.rearm = false;
        }
        progress.lost_again |= retransmitted > self.board.retransmitted();
    }

    fn mark_overdue(&mut self, now: Time) -> Option<std::time::Duration> {
        let proven = self.recovery.state >= CongestionState::Recovery;
        let srtt = self.rtt.srtt().unwrap_or_default();
        let window = self.rack.window(proven, self.board.sacked(), self.min_rtt(), srtt);
        let (wait, marked) = self.rack.mark_losses(&mut self.board, now, window);
        self.losses += marked;
        wait
    }

    /// The reordering window closed (`tcp_rack_reo_timeout`).
    pub(crate) fn on_reordering_timeout(&mut self, now: Time, timers: &mut Timers) {
        let (in_flight, losses) = (self.board.in_flight(), self.losses);
        self.mark_overdue(now);
        if in_flight != self.board.in_flight() && self.recovery.state != CongestionState::Recovery {
            self.enter_recovery(false);
            if !self.cwnd.is_rate_based() {
                self.reduce(1, self.losses - losses, false);
            }
        }
        self.rearm_retransmission(now, timers);
    }

    /// `tcp_enter_recovery`; a reduction that a congestion mark asks for is not undone.
    fn enter_recovery(&mut self, congestion_marked: bool) {
        if !self.any_retransmission() {
            self.recovery.first_retransmission = None;
        }
        self.recovery.prior_ssthresh = None;
        self.arm_undo();
        if !self.recovery.is_reducing() {
            self.recovery.prior_ssthresh = (!congestion_marked).then(|| self.current_ssthresh());
            self.begin_reduction();
        }
        self.recovery.state = CongestionState::Recovery;
    }

    fn arm_undo(&mut self) {
        let probe = u32::from(self.probe.is_some_and(|probe| probe.again));
        self.recovery.arm_undo(self.una, self.board.retransmitted() + probe);
    }

    /// `tcp_init_cwnd_reduction`
    fn begin_reduction(&mut self) {
        let window = &mut self.cwnd.window;
        self.recovery.ends = self.nxt;
        self.probe = None;
        self.recovery.prior_cwnd = window.cwnd;
        (self.recovery.prr_delivered, self.recovery.prr_sent) = (0, 0);
        window.restart_counting();
        window.ssthresh = self.cwnd.controller.on_congestion(window);
        self.ecn.on_reduction();
    }

    /// A router marked a segment: the window is reduced once a round trip (`tcp_enter_cwr`; RFC 3168
    /// section 6.1.2).
    fn enter_cwr(&mut self) {
        self.recovery.prior_ssthresh = None;
        if self.recovery.state < CongestionState::Cwr {
            self.recovery.undo_from = None;
            self.begin_reduction();
            self.recovery.state = CongestionState::Cwr;
        }
    }

    /// Proportional rate reduction (RFC 6937; `tcp_cwnd_reduction`).
    pub(crate) fn reduce(&mut self, delivered: u32, newly_lost: u64, advanced: bool) {
        if delivered == 0 || self.recovery.prior_cwnd == 0 {
            return;
        }
        let recovery = &mut self.recovery;
        recovery.prr_delivered += delivered;
        let (ssthresh, in_flight) = (self.cwnd.window.ssthresh, self.board.in_flight());
        let sent = recovery.prr_sent;
        let mut may_send = if in_flight > ssthresh {
            let due = u64::from(ssthresh) * u64::from(recovery.prr_delivered);
            (due.div_ceil(u64::from(recovery.prior_cwnd)) as u32).saturating_sub(sent)
        } else {
            let owed = recovery.prr_delivered.saturating_sub(sent).max(delivered);
            (owed + u32::from(advanced && newly_lost == 0)).min(ssthresh - in_flight)
        };
        if sent == 0 {
            // The first retransmission of an episode always leaves.
            may_send = may_send.max(1);
        }
        self.cwnd.window.cwnd = in_flight + may_send;
    }

    /// `tcp_end_cwnd_reduction`
    fn end_reduction(&mut self, now: Time) {
        if self.cwnd.is_rate_based() {
            return;
        }
        let window = &mut self.cwnd.window;
        let stands =
            self.recovery.state == CongestionState::Cwr || self.recovery.undo_from.is_some();
        if window.ssthresh < congestion::INFINITE_SSTHRESH && stands {
            window.cwnd = window.ssthresh;
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

    /// `tcp_try_to_open`
    fn settle(&mut self, progress: &Progress) {
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

    /// `tcp_try_keep_open`
    fn keep_open(&mut self) {
        let amiss = self.board.sacked() + self.board.lost() > 0 || self.any_retransmission();
        let state = if amiss { CongestionState::Disorder } else { CongestionState::Open };
        if self.recovery.state != state {
            self.recovery.state = state;
            self.recovery.ends = self.nxt;
        }
    }

    /// `tcp_any_retrans_done`
    fn any_retransmission(&self) -> bool {
        self.board.retransmitted() > 0
            || self.board.head().is_some_and(|head| head.ever_retransmitted)
    }

    /// The threshold to remember (`tcp_current_ssthresh`).
    pub(crate) fn current_ssthresh(&self) -> u32 {
        if self.recovery.is_reducing() {
            self.cwnd.window.ssthresh
        } else {
            self.cwnd.window.remembered_ssthresh()
        }
    }

    /// The retransmission timer expired (`tcp_enter_loss`).
    pub(crate) fn enter_loss(&mut self, now: Time) {
        let state = self.recovery.state;
        self.mark_all_lost(now);
        let unreduced = state <= CongestionState::Disorder
            || self.recovery.ends <= self.una
            || (state == CongestionState::Loss && self.timeouts == 0);
        if unreduced {
            self.recovery.prior_ssthresh = Some(self.current_ssthresh());
            self.recovery.prior_cwnd = self.cwnd.window.cwnd;
            self.cwnd.window.ssthresh = self.cwnd.controller.on_congestion(&self.cwnd.window);
            self.arm_undo();
        }
        self.cwnd.window.cwnd = self.board.in_flight() + 1;
        self.cwnd.window.restart_counting();
        self.cwnd.touch(now);
        if state <= CongestionState::Disorder
            && self.board.sacked() >= crate::rack::DUPLICATE_THRESHOLD
        {
            self.rack.forget_reordering();
        }
        self.recovery.state = CongestionState::Loss;
        let timeout = Timeout { now, next: self.nxt, lost: self.losses };
        self.cwnd.controller.on_timeout(&timeout);
        self.ecn.on_reduction();
        self.recovery.ends = self.nxt;
        self.probe = None;
        self.recovery.frto = state < CongestionState::Recovery || self.timeouts > 0;
        self.recovery.new_data_first = false;
    }

    /// Marks everything lost but what was sent too recently to know (`tcp_timeout_mark_lost`).
    fn mark_all_lost(&mut self, now: Time) {
        for (index, id) in self.board.ids().enumerate() {
            let sent = self.board.get(id);
            if sent.sacked || (index > 0 && self.rack.is_fresh(sent.at, now)) {
                continue;
            }
            self.board.mark_lost(id);
            self.losses += 1;
        }
    }

    /// F-RTO and the end of a Loss episode (`tcp_process_loss`; RFC 5682 section 3.1).
    fn process_loss(&mut self, now: Time, progress: &Progress) {
        let recovered = self.una >= self.recovery.ends;
        if progress.advanced && self.try_undo_loss(now, progress.echo, false) {
            return;
        }
        if self.recovery.frto {
            if progress.original && self.try_undo_loss(now, progress.echo, true) {
                return;
            }
            if self.nxt > self.recovery.ends {
                if progress.sacked || progress.is_duplicate {
                    self.recovery.frto = false;
                }
            } else if progress.advanced && !recovered {
                self.recovery.ends = self.nxt;
                if self.has_sendable() {
                    self.recovery.new_data_first = true;
                    return;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(now, progress.echo);
        }
    }

    /// F-RTO had nothing new to send: conventional recovery.
    pub(crate) fn abandon_frto(&mut self) {
        self.recovery.frto = false;
        self.recovery.new_data_first = false;
    }

    /// `tcp_undo_cwnd_reduction`
    fn undo(&mut self, now: Time, unmark: bool) {
        if unmark {
            self.board.unmark_all_lost();
        }
        if let Some(prior) = self.recovery.prior_ssthresh {
            let window = &mut self.cwnd.window;
            window.cwnd = self.cwnd.controller.undo(window, self.recovery.prior_cwnd);
            if prior > window.ssthresh {
                window.ssthresh = prior;
                self.ecn.on_undo();
            }
        }
        self.cwnd.touch(now);
        self.recovery.undo_from = None;
        self.rack.reexamine();
        self.stats.undone += 1;
    }

    fn try_undo_recovery(&mut self, now: Time, echo: Option<Time>) {
        if self.recovery.may_undo(echo) {
            self.undo(now, false);
        } else {
            self.rack.note_recovery();
        }
        self.recovery.state = CongestionState::Open;
    }

    fn try_undo_duplicates(&mut self, now: Time) -> bool {
        let needless = self.recovery.undo_from.is_some() && self.recovery.undo_pending == Some(0);
        if needless {
            self.rack.note_undo();
            self.undo(now, false);
        }
        needless
    }

    fn try_undo_loss(&mut self, now: Time, echo: Option<Time>, spurious: bool) -> bool {
        let undo = spurious || self.recovery.may_undo(echo);
        if undo {
            if spurious {
                self.retransmits.judge_timeout(self.recovery.first_retransmission);
            }
            self.undo(now, true);
            self.timeouts = 0;
            self.recovery.state = CongestionState::Open;
        }
        undo
    }

    /// A hole was filled by the original (`tcp_try_undo_partial`); true if there is no more to do.
    fn try_undo_partial(&mut self, now: Time, progress: &Progress) -> bool {
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

    fn arm_reordering(&mut self, now: Time, wait: std::time::Duration, timers: &mut Timers) {
        let wait = (wait + crate::sender::TIMER_SLACK).min(self.rtt.rto());
        timers.arm_sender(now, Timer::Reordering, now + wait);
    }
}
