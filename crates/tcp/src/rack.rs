//! RACK: a segment sent well before one that arrived is lost (RFC 8985).
//!
//! Source: Linux 6.18 `tcp_recovery.c`, the only loss detection in that kernel for connections
//! with SACK. The classic threshold of three duplicates lives on as the rule that closes the reordering window.

use std::time::Duration;

use units::Time;

use crate::scoreboard::Scoreboard;

/// Duplicates that prove a loss while no reordering has been seen (`tcp_reordering`).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;
/// Maximum degree of reordering (`tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;
/// Recoveries for which a widened window is kept (`TCP_RACK_RECOVERY_THRESH`).
const KEPT_RECOVERIES: u8 = 16;

/// The state of RACK (`tp->rack`) and the reordering seen so far.
#[derive(Debug, Clone)]
pub(crate) struct Rack {
    /// Transmission time of the most recently sent segment among those delivered, and its end.
    newest: (Time, u64),
    /// The round trip of that segment.
    rtt: Duration,
    /// Something was delivered since the last look for losses.
    advanced: bool,
    /// The reordering window in quarters of the smallest round trip.
    steps: u8,
    kept: u8,
    duplicate_seen: bool,
    /// The window may widen again when this is acknowledged: once per round trip.
    round_ends: u64,
    /// Number of segments by which data was overtaken; the threshold for duplicates.
    reordering: u32,
    reordering_seen: bool,
    /// The degree has exceeded the threshold before.
    threshold_exceeded: bool,
}

impl Rack {
    pub(crate) fn new() -> Rack {
        Rack {
            newest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            advanced: false,
            steps: 1,
            kept: 0,
            duplicate_seen: false,
            round_ends: 0,
            reordering: DUPLICATE_THRESHOLD,
            reordering_seen: false,
            threshold_exceeded: false,
        }
    }

    /// A segment was delivered (`tcp_rack_advance`).
    pub(crate) fn advance(
        &mut self,
        now: Time,
        sent: &crate::scoreboard::SentSegment,
        min_rtt: Duration,
    ) {
        let rtt = now - sent.at;
        if sent.ever_retransmitted && rtt < min_rtt {
            // Too early for the retransmission: the original arrived, whose transmission time is unknown.
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max((sent.at, sent.end));
    }

    /// Makes the next opportunity look for losses, whatever arrives.
    pub(crate) fn reexamine(&mut self) {
        self.advanced = true;
    }

    /// Returns true if something was delivered since the last call.
    pub(crate) fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Time past its due time for which a segment is still awaited (`tcp_rack_reo_wnd`).
    pub(crate) fn window(
        &self,
        proven: bool,
        sacked: u32,
        min_rtt: Duration,
        srtt: Duration,
    ) -> Duration {
        if !self.reordering_seen && (proven || sacked >= self.reordering) {
            return Duration::ZERO;
        }
        (min_rtt / 4).saturating_mul(u32::from(self.steps)).min(srtt)
    }

    /// Marks everything lost that is overdue (`tcp_rack_detect_loss`); returns the time to wait for the rest
    /// and the number of segments marked.
    pub(crate) fn mark_losses(
        &self,
        board: &mut Scoreboard,
        now: Time,
        window: Duration,
    ) -> (Option<Duration>, u64) {
        let (mut wait, mut marked) = (None, 0);
        let mut candidate = board.oldest_sent();
        while let Some(id) = candidate {
            candidate = board.sent_after(id);
            let sent = board.get(id);
            if self.newest <= (sent.at, sent.end) {
                break;
            }
            let due = sent.at + (self.rtt + window);
            if due <= now {
                marked += u64::from(board.mark_lost(id));
                board.unlink(id);
            } else {
                wait = wait.max(Some(due - now));
            }
        }
        (wait, marked)
    }

    /// True if a segment sent at `at` may still arrive, without any allowance for reordering.
    pub(crate) fn is_fresh(&self, at: Time, now: Time) -> bool {
        at + self.rtt > now
    }

    /// Data arrived `distance` bytes late without having been retransmitted (`tcp_check_sack_reordering`).
    pub(crate) fn note_reordering(&mut self, distance: u64, mss: u32) {
        let segments = u32::try_from(distance.div_ceil(u64::from(mss))).unwrap_or(MAX_REORDERING);
        self.threshold_exceeded |= segments > self.reordering;
        self.reordering = self.reordering.max(segments.min(MAX_REORDERING));
        self.reordering_seen = true;
    }

    /// The retransmission timer expired after many duplicates: the degree was overestimated.
    pub(crate) fn forget_reordering(&mut self) {
        self.reordering = self.reordering.min(DUPLICATE_THRESHOLD);
    }

    /// Takes over the degree of reordering from an earlier connection (`tcp_init_metrics`).
    pub(crate) fn seed_reordering(&mut self, degree: u32) {
        self.threshold_exceeded |= degree != self.reordering;
        self.reordering = degree;
    }

    /// True if reordering has exceeded the threshold before: Linux 3 then gives up FACK and early retransmit
    /// (`tcp_update_reordering`).
    pub(crate) fn has_exceeded_threshold(&self) -> bool {
        self.threshold_exceeded
    }

    pub(crate) fn reordering(&self) -> u32 {
        self.reordering
    }

    /// A spurious retransmission was reported, other than a probe.
    pub(crate) fn note_duplicate(&mut self) {
        self.duplicate_seen |= self.reordering_seen;
    }

    /// Widens the window after spurious retransmissions (`tcp_rack_update_reo_wnd`).
    pub(crate) fn adapt_window(&mut self, acknowledged: u64, next: u64) {
        if acknowledged < self.round_ends {
            self.duplicate_seen = false;
        }
        if std::mem::take(&mut self.duplicate_seen) {
            self.steps = self.steps.saturating_add(1);
            self.round_ends = next;
            self.kept = KEPT_RECOVERIES;
        } else if self.kept == 0 {
            self.steps = 1;
        }
    }

    /// A recovery ended that was justified.
    pub(crate) fn note_recovery(&mut self) {
        self.kept = self.kept.saturating_sub(1);
    }

    /// A recovery was spurious.
    pub(crate) fn note_undo(&mut self) {
        self.kept = (self.kept + 1).min(KEPT_RECOVERIES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Five segments, 10 ms apart, with a round trip of 100 ms; those in `arrived` were reported.
    fn after(arrived: &[u64]) -> (Rack, Scoreboard, Time) {
        let (mut rack, mut board) = (Rack::new(), Scoreboard::new());
        for n in 0..5 {
            board.push(n..n + 1, Time::from_millis(10 * n));
        }
        let mut now = Time::ZERO;
        for n in arrived {
            now = Time::from_millis(10 * n + 100);
            board.sack(*n..n + 1, |sent| rack.advance(now, sent, 100 * MS));
        }
        (rack, board, now)
    }

    #[test]
    fn one_late_segment_is_awaited_for_a_quarter_round_trip() {
        let (rack, mut board, now) = after(&[1]);
        let window = rack.window(false, board.sacked(), 100 * MS, 100 * MS);
        assert_eq!(window, 25 * MS);
        assert_eq!(rack.mark_losses(&mut board, now, window), (Some(15 * MS), 0));
        assert_eq!(rack.mark_losses(&mut board, now + 15 * MS, window), (None, 1));
    }

    #[test]
    fn three_duplicates_prove_the_loss() {
        let (rack, mut board, now) = after(&[1, 2, 3]);
        let window = rack.window(false, board.sacked(), 100 * MS, 100 * MS);
        assert_eq!(window, Duration::ZERO);
        assert_eq!(rack.mark_losses(&mut board, now, window), (None, 1));
        assert_eq!((board.lost(), board.in_flight()), (1, 1), "the last one was sent later");
    }

    #[test]
    fn reordering_keeps_the_window_open_and_duplicates_widen_it() {
        let (mut rack, board, _) = after(&[1, 2, 3]);
        rack.note_reordering(4000, 1000);
        assert_eq!(rack.reordering(), 4);
        let window = |rack: &Rack| rack.window(true, board.sacked(), 100 * MS, 90 * MS);
        assert_eq!(window(&rack), 25 * MS);
        for n in 1..5 {
            rack.note_duplicate();
            rack.adapt_window(10 * n, 10 * n + 5);
        }
        assert_eq!(window(&rack), 90 * MS, "never beyond the smoothed round trip");
    }
}
