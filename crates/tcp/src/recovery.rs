//! Loss recovery: its states, and the data that it keeps.
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
//! The states are moved by `by_time` (Linux 6, with RACK) or `by_count` (Linux 3, with FACK or duplicates), as losses are found;
//! `loss` is entered by a timeout, which `rfc4138` may test first; `reduction` and `undo` move the
//! window. Left out: SACK reneging (our receiver never takes back its reports), path MTU probing.

mod by_count;
mod by_time;
mod reduction;
mod rto;

use congestion::RecoveryPhase;
use serde::{Deserialize, Serialize};
use units::Time;

use crate::ack::AckProgress;
use crate::config::LossDetection;
use crate::sender::Sender;
use crate::timers::TcpTimers;
use rto::SpuriousTest;

/// State of loss recovery (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionState {
    /// No loss is suspected.
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

impl CongestionState {
    /// Its name, as the kernel writes it.
    pub fn name(self) -> &'static str {
        match self {
            CongestionState::Open => "open",
            CongestionState::Disorder => "disorder",
            CongestionState::Cwr => "cwr",
            CongestionState::Recovery => "recovery",
            CongestionState::Loss => "loss",
        }
    }
}

/// State of a recovery episode.
#[derive(Debug)]
pub(crate) struct RecoveryEpisode {
    pub(crate) state: CongestionState,
    /// The episode ends when this is acknowledged (`high_seq`).
    pub(crate) ends: u64,
    /// The window before the reduction.
    prior_cwnd: u32,
    /// The threshold before the reduction, if it may be restored.
    prior_ssthresh: Option<u32>,
    prr_delivered: u32,
    pub(crate) prr_sent: u32,
    /// Acknowledged data when the episode began, while it may be undone (`undo_marker`).
    undo_from: Option<u64>,
    /// Retransmissions not yet reported as spurious; `None` if none was made so far (`undo_retrans`).
    undo_pending: Option<u32>,
    /// Time of the first retransmission of the episode (`retrans_stamp`).
    pub(crate) first_retransmission: Option<Time>,
    /// Rate halving: the next acknowledgement takes one segment (`snd_cwnd_cnt`).
    halving: bool,
    /// F-RTO tests whether the timeout was spurious, in the Loss state.
    frto: bool,
    /// The same before that state is entered (RFC 4138).
    test: Option<SpuriousTest>,
    /// F-RTO step 2b: send new data rather than retransmissions until the next acknowledgement.
    pub(crate) new_data_first: bool,
}

impl RecoveryEpisode {
    pub(crate) fn new() -> RecoveryEpisode {
        RecoveryEpisode {
            state: CongestionState::Open,
            ends: 0,
            prior_cwnd: 0,
            prior_ssthresh: None,
            prr_delivered: 0,
            prr_sent: 0,
            undo_from: None,
            undo_pending: None,
            first_retransmission: None,
            halving: false,
            frto: false,
            test: None,
            new_data_first: false,
        }
    }

    /// True while a timeout is being tested: nothing is retransmitted then.
    pub(crate) fn is_testing(&self) -> bool {
        self.test.is_some()
    }

    /// True if the window is being reduced (`tcp_in_cwnd_reduction`).
    pub(crate) fn is_reducing(&self) -> bool {
        matches!(self.state, CongestionState::Cwr | CongestionState::Recovery)
    }

    /// The state in the terms of congestion controllers.
    pub(crate) fn phase(&self) -> RecoveryPhase {
        match self.state {
            CongestionState::Open => RecoveryPhase::Open,
            CongestionState::Disorder | CongestionState::Cwr => RecoveryPhase::Disturbed,
            CongestionState::Recovery => RecoveryPhase::Recovery,
            CongestionState::Loss => RecoveryPhase::Loss,
        }
    }

    /// A retransmission left.
    pub(crate) fn note_retransmission(&mut self, now: Time) {
        self.first_retransmission.get_or_insert(now);
        *self.undo_pending.get_or_insert(0) += 1;
        self.prr_sent += u32::from(self.is_reducing());
    }

    /// The peer reports `count` duplicates of data that ends at `end`.
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

    /// True if an acknowledgement echoes a time before the first retransmission: it was caused by the original
    /// (`tcp_packet_delayed`; RFC 3522).
    fn original_arrived(&self, echo: Option<Time>) -> bool {
        match self.first_retransmission {
            Some(at) => echo.is_some_and(|echo| echo < at),
            None => true,
        }
    }

    /// Segments that the reduction may still send (RFC 6937).
    fn prr_owed(&self) -> u32 {
        self.prr_delivered.saturating_sub(self.prr_sent)
    }

    /// True if evidence that the episode was spurious would still be used.
    fn may_still_undo(&self) -> bool {
        self.undo_from.is_some()
    }

    fn forbid_undo(&mut self) {
        self.undo_from = None;
    }

    fn may_undo(&self, echo: Option<Time>) -> bool {
        self.undo_from.is_some() && (self.undo_pending == Some(0) || self.original_arrived(echo))
    }
}

impl Sender {
    /// Runs the state machine on an acknowledgement that is not plain (`tcp_fastretrans_alert`).
    pub(crate) fn alert(&mut self, now: Time, progress: &mut AckProgress, timers: &mut TcpTimers) {
        if progress.congestion_marked {
            // The reduction is justified: it is not to be undone.
            self.recovery.prior_ssthresh = None;
        }
        match self.config.loss_detection {
            LossDetection::Rack => self.alert_by_time(now, progress, timers),
            LossDetection::Fack | LossDetection::Duplicates => {
                self.alert_by_count(now, progress, timers);
            }
        }
    }

    /// Expiry of the timer shared by RACK's reordering window and the delay of early retransmit.
    pub(crate) fn on_reordering_timeout(&mut self, now: Time, timers: &mut TcpTimers) {
        match self.config.loss_detection {
            LossDetection::Rack => self.on_reordering_window_over(now),
            LossDetection::Fack | LossDetection::Duplicates => self.retransmit_early(now),
        }
        self.rearm_retransmission(now, timers);
    }

    /// Without SACK a duplicate acknowledgement reports that one more segment arrived, but not which (`tcp_add_reno_sack`).
    fn presume_arrival(&mut self, progress: &mut AckProgress) {
        if self.sack || !progress.is_duplicate {
            return;
        }
        progress.delivered += 1;
        if self.board.presume_arrival() {
            self.note_surplus();
        }
    }

    /// Outside of a recovery progress clears the presumed arrivals.
    fn presume_in_order(&mut self, progress: &mut AckProgress) {
        if !self.sack && progress.advanced {
            self.board.forget_presumed();
        }
        self.presume_arrival(progress);
    }

    /// After a timeout duplicates report data sent since, if there is any (`tcp_process_loss`).
    fn presume_in_loss(&mut self, progress: &mut AckProgress) {
        if self.sack {
            return;
        }
        if self.nxt > self.recovery.ends && progress.is_duplicate {
            self.presume_arrival(progress);
        } else if progress.advanced {
            self.board.forget_presumed();
        }
    }

    /// More duplicates than segments: the network reorders (`tcp_check_reno_reordering`).
    pub(crate) fn note_surplus(&mut self) {
        self.rack.note_reordering(u64::from(self.board.sent()) * u64::from(self.mss), self.mss);
    }

    /// `tcp_enter_recovery`; a reduction because of a congestion mark is not undone.
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
}
