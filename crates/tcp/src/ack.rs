//! Processing of acknowledgements by the sender.
//!
//! Source: Linux 6.18 `tcp_ack`, `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`, `tcp_process_tlp_ack`,
//! `tcp_cong_control`.

use congestion::{Ack, RateSample};
use units::Time;

use crate::config::Growth;
use crate::rate::Circumstances;
use crate::rtt::Covered;
use crate::segment::Segment;
use crate::sender::Sender;
use crate::timers::{TcpTimer, TcpTimers};

/// Effects of one acknowledgement (the `FLAG_*` bits and `tcp_sacktag_state`).
#[derive(Debug, Default)]
pub(crate) struct AckProgress {
    /// `snd_una` before.
    pub(crate) prior_una: u64,
    /// The end of the highest selectively acknowledged data before.
    pub(crate) prior_highest: u64,
    /// More is cumulatively acknowledged.
    pub(crate) advanced: bool,
    /// More is selectively acknowledged.
    pub(crate) sacked: bool,
    /// Data of this episode that was sent only once arrived.
    pub(crate) original: bool,
    /// It carries nothing new.
    pub(crate) is_duplicate: bool,
    /// It reports data that arrived twice.
    reports_duplicate: bool,
    /// The duplicate was the tail loss probe.
    probe_was_needless: bool,
    /// The retransmission timer is to be rearmed.
    pub(crate) rearm: bool,
    /// A retransmission was lost.
    pub(crate) lost_again: bool,
    /// The time echoed by the peer.
    pub(crate) echo: Option<Time>,
    /// Segments delivered, in order or not, duplicates included.
    pub(crate) delivered: u32,
    /// Of these, reported as duplicates.
    repeated: u32,
    /// A SACK block ends beyond the episode.
    selects_beyond: bool,
    /// Fast recovery began with this acknowledgement.
    pub(crate) entered_recovery: bool,
    /// Of these, acknowledged in order.
    in_order: u32,
    /// In flight before this acknowledgement.
    prior_in_flight: u32,
    /// The peer probably delayed it.
    pub(crate) maybe_delayed: bool,
    /// It reports a congestion mark (`FLAG_ECE`).
    pub(crate) congestion_marked: bool,
    pub(crate) covered: Covered,
    /// The lowest data that arrived late without having been retransmitted.
    reordered: Option<u64>,
}

impl AckProgress {
    /// Progress of one segment, for estimates made by a timer.
    pub(crate) fn of_one_segment() -> AckProgress {
        AckProgress { delivered: 1, ..AckProgress::default() }
    }

    /// Segments that were not known to be delivered before; Linux 3 leaves duplicates out.
    pub(crate) fn newly_delivered(&self) -> u32 {
        self.delivered - self.repeated
    }

    /// True if something arrived, in order or not, once or twice (`FLAG_ANY_PROGRESS | FLAG_DSACKING_ACK`).
    pub(crate) fn says_anything(&self) -> bool {
        self.advanced || self.sacked || self.reports_duplicate
    }

    /// True if something arrived, and if out of order, then only data that was sent once, before the episode's end
    /// (`FLAG_ONLY_ORIG_SACKED`).
    pub(crate) fn shows_only_originals(&self) -> bool {
        let originals = !self.covered.selected.is_empty() && !self.selects_beyond;
        (self.advanced || self.sacked) && (!self.sacked || originals)
    }
}

impl Sender {
    /// Processes the acknowledgement in `segment`.
    pub(crate) fn on_ack(&mut self, now: Time, segment: &Segment, timers: &mut TcpTimers) {
        if segment.ack > self.nxt {
            // RFC 9293 section 3.10.7.4: it acknowledges data never sent.
            return;
        }
        let idle = self.board.is_empty();
        let losses = self.losses;
        let mut progress = AckProgress {
            prior_una: self.una,
            prior_highest: self.board.highest_sacked().unwrap_or(self.una),
            advanced: segment.ack > self.una,
            echo: segment.timestamps.map(|timestamps| timestamps.echo),
            prior_in_flight: self.board.in_flight(),
            ..AckProgress::default()
        };
        self.recovery.new_data_first = false;
        if segment.ack < self.una {
            // Old, but its SACK blocks may still be news.
            if !segment.sack.is_empty() {
                self.take_sack(now, segment, &mut progress);
                self.alert(now, &mut progress, timers);
                self.add_unsampled(&progress);
            }
            return;
        }
        progress.congestion_marked = self.ecn.is_echoed_by(segment);
        let window_changed = self.update_window(segment);
        if progress.advanced {
            self.una = segment.ack;
            self.timeouts = 0;
        }
        self.probes = 0;
        if !segment.sack.is_empty() {
            self.take_sack(now, segment, &mut progress);
        }
        if idle {
            self.ack_while_idle(now, &mut progress, timers);
            return;
        }
        self.take_cumulative(now, &mut progress);
        progress.is_duplicate = !(progress.advanced
            || window_changed
            || progress.reports_duplicate
            || !segment.payload.is_empty());
        self.rack.adapt_window(self.una, self.nxt);
        self.judge_probe(now, &progress);
        let held = self.judge_test(now, &progress);
        if !self.grows_by_segment() {
            self.grow_by_ack(now, &progress, held);
        }
        let plain = !progress.is_duplicate
            && !progress.sacked
            && !progress.reports_duplicate
            && !progress.congestion_marked
            && self.recovery.state == crate::CongestionState::Open;
        if !plain {
            self.alert(now, &mut progress, timers);
        }
        if progress.rearm {
            self.set_timer(now, timers);
        }
        self.control(now, &progress, self.losses - losses);
    }

    /// An acknowledgement while nothing is in flight (`tcp_ack`, label `no_queue`).
    fn ack_while_idle(&mut self, now: Time, progress: &mut AckProgress, timers: &mut TcpTimers) {
        if progress.reports_duplicate {
            self.alert(now, progress, timers);
            self.add_unsampled(progress);
        }
        if self.has_unsent() && timers.is_armed(TcpTimer::Persist) {
            timers.stop_sender();
            if self.has_sendable() {
                self.probe_backoff = 0;
            } else {
                self.arm_persist(now, timers);
            }
        }
        self.judge_probe(now, progress);
    }

    /// `tcp_ack_update_window` (RFC 9293 section 3.10.7.4)
    fn update_window(&mut self, segment: &Segment) -> bool {
        let window = &mut self.peer;
        let newer = segment.ack > self.una
            || segment.seq > window.updated_by
            || (segment.seq == window.updated_by
                && (segment.window_bytes > window.bytes || segment.window_bytes == 0));
        if !newer {
            return false;
        }
        window.updated_by = segment.seq;
        let changed = window.bytes != segment.window_bytes;
        window.bytes = segment.window_bytes;
        window.most = window.most.max(window.bytes);
        changed
    }

    /// `tcp_sacktag_write_queue`
    fn take_sack(&mut self, now: Time, segment: &Segment, progress: &mut AckProgress) {
        let mut blocks = segment.sack.iter().peekable();
        if let Some(first) = segment.sack.iter().next() {
            let second = segment.sack.iter().nth(1);
            let inside =
                second.is_some_and(|outer| outer.start <= first.start && first.end <= outer.end);
            // RFC 2883 section 4: below the acknowledgement, or within the next block.
            if first.start < segment.ack || inside {
                blocks.next();
                self.take_duplicate(first, progress);
            }
        }
        let (una, episode) = (self.una, self.recovery.ends);
        let min_rtt = self.min_rtt();
        for block in blocks.filter(|block| block.end <= self.nxt) {
            progress.selects_beyond |= block.end > episode;
            let highest = self.board.highest_sacked().unwrap_or(una);
            let (rack, rate) = (&mut self.rack, &mut self.rate);
            self.board.sack(block.start.max(una)..block.end, |sent| {
                rack.advance(now, sent, min_rtt);
                if let Some(rate) = rate {
                    rate.on_delivered(sent);
                }
                progress.sacked = true;
                progress.delivered += 1;
                if sent.ever_retransmitted {
                    return;
                }
                if sent.seq < highest {
                    progress.reordered =
                        Some(progress.reordered.map_or(sent.seq, |at| at.min(sent.seq)));
                }
                progress.original |= sent.end <= episode;
                progress.covered.selected.note(sent.at);
            });
        }
        if let Some(lowest) = progress.reordered.take() {
            self.note_reordering(lowest, self.board.highest_sacked().unwrap_or(una));
        }
    }

    /// The peer received something twice (`tcp_check_dsack`, `tcp_dsack_seen`).
    fn take_duplicate(&mut self, block: std::ops::Range<u64>, progress: &mut AckProgress) {
        let len = block.end.saturating_sub(block.start);
        if len == 0 || len > self.peer.most {
            return;
        }
        let segments = len.div_ceil(u64::from(self.mss)).max(1) as u32;
        let of_probe =
            self.probe.is_some_and(|probe| probe.ends == block.end) && len <= u64::from(self.mss);
        self.duplicates += u64::from(segments);
        if self.duplicates > self.stats.retransmitted_segments {
            // The copy was made by the network, not by this sender.
            return;
        }
        self.retransmits.judge_duplicate(&block);
        if of_probe {
            progress.probe_was_needless = true;
        } else {
            self.rack.note_duplicate();
        }
        progress.reports_duplicate = true;
        progress.delivered += segments;
        progress.repeated += segments;
        if block.end <= progress.prior_una {
            self.recovery.note_duplicates(block.end, segments);
        } else {
            let needless = self.board.duplicate(block.clone());
            self.recovery.note_duplicates(block.end, needless.max(1));
        }
    }

    /// `tcp_clean_rtx_queue`
    fn take_cumulative(&mut self, now: Time, progress: &mut AckProgress) {
        let prior_sacked = self.board.sacked();
        let min_rtt = self.min_rtt();
        let mut popped = 0;
        while let Some(sent) = self.board.pop_acked(self.una) {
            popped += 1;
            if let Some(rate) = &mut self.rate {
                rate.on_delivered(&sent);
            }
            if sent.ever_retransmitted {
                progress.covered.retransmission = true;
                progress.covered.later_retransmission |= popped > 1;
                self.retransmits.judge_acknowledged(&(sent.seq..sent.end), progress.echo);
            } else {
                progress.covered.passed.note(sent.at);
                if !sent.sacked {
                    progress.covered.acked.note(sent.at);
                    progress.reordered.get_or_insert(sent.seq);
                    progress.original |= sent.end <= self.recovery.ends;
                }
            }
            if !sent.sacked {
                progress.delivered += 1;
                // An echo older than the retransmission shows that the original arrived.
                let spurious =
                    sent.ever_retransmitted && progress.echo.is_some_and(|echo| echo < sent.at);
                if !spurious {
                    self.rack.advance(now, &sent, min_rtt);
                }
            }
        }
        self.board.trim_covered(self.una);
        if progress.advanced {
            self.buffer.release(self.una - 1);
            if let Some(rate) = &mut self.rate {
                rate.release(self.una);
            }
        }
        progress.in_order = popped;
        self.settle_presumed(progress, prior_sacked);
        let lone =
            popped == 1 && prior_sacked == 0 && self.una - progress.prior_una < u64::from(self.mss);
        progress.maybe_delayed = lone && progress.delivered == 1 && !progress.sacked;
        let sample = self.sample_rtt(now, progress);
        if popped > 0 {
            progress.rearm = true;
            if let Some(lowest) =
                progress.reordered.filter(|lowest| *lowest < progress.prior_highest)
            {
                self.note_reordering(lowest, progress.prior_highest);
            }
        } else if let (Some(head), Some(_)) = (self.board.head(), sample) {
            // SACKed data that was sent before the head's last transmission: the path is alive.
            let first = progress.covered.selected.first(self.config.clock, now);
            progress.rearm = first.is_some_and(|first| first > now - head.at);
        }
    }

    /// Without SACK: the number of segments that had been delivered before is known by count alone
    /// (`tcp_remove_reno_sacks`).
    fn settle_presumed(&mut self, progress: &mut AckProgress, presumed: u32) {
        if self.sack || progress.in_order == 0 {
            return;
        }
        progress.delivered = progress.in_order.saturating_sub(presumed).max(1);
        if self.board.settle_presumed(progress.in_order) {
            self.note_surplus();
        }
    }

    /// `tcp_process_tlp_ack`
    fn judge_probe(&mut self, now: Time, progress: &AckProgress) {
        let Some(probe) = self.probe.filter(|probe| self.una >= probe.ends) else { return };
        if !probe.again || progress.probe_was_needless {
            self.probe = None;
        } else if self.una > probe.ends {
            self.reduce_after_probe(now);
        } else if progress.is_duplicate && !progress.sacked {
            self.probe = None;
        }
    }

    /// Late data that was never retransmitted: reordering in the network.
    pub(crate) fn note_reordering(&mut self, lowest: u64, highest: u64) {
        if lowest < highest {
            self.rack.note_reordering(highest - lowest, self.mss);
        }
    }

    /// Linux 3 lets the window grow before it looks for losses (`tcp_cong_avoid`); `held`: this acknowledgement may not grow it.
    fn grow_by_ack(&mut self, now: Time, progress: &AckProgress, held: bool) {
        let mut growth = 0;
        if progress.in_order > 0 && !held && !self.recovery.is_reducing() {
            let reordering = self.rack.reordering();
            let limiting =
                self.cwnd.was_nearly_full(progress.prior_in_flight, self.mss, reordering);
            growth = u32::from(limiting);
            self.cwnd.touch(now);
        }
        self.inform(now, progress, 0, growth);
    }

    /// Moves the window (`tcp_cong_control`).
    fn control(&mut self, now: Time, progress: &AckProgress, newly_lost: u64) {
        self.stats.delivered += u64::from(progress.delivered);
        let mut growth = 0;
        if self.cwnd.is_rate_based() {
            // The controller needs no permission to grow and no help to shrink.
        } else if self.recovery.is_reducing() {
            self.reduce(progress, newly_lost);
        } else if self.grows_by_segment() && self.may_grow(progress) {
            growth = if self.cwnd.is_limiting() { progress.delivered } else { 0 };
            self.cwnd.touch(now);
        }
        if self.grows_by_segment() {
            self.inform(now, progress, newly_lost, growth);
        }
    }

    /// True if the window grows per segment: always with a controller that models the path, which comes from Linux 6.
    fn grows_by_segment(&self) -> bool {
        self.config.growth == Growth::PerSegment || self.cwnd.is_rate_based()
    }

    /// Reports the acknowledgement to the controller.
    fn inform(&mut self, now: Time, progress: &AckProgress, newly_lost: u64, growth: u32) {
        let sample = self.sample_rate(now, progress, newly_lost);
        let ack = Ack {
            now,
            rtt: self.latest_rtt,
            growth,
            acked: progress.in_order,
            phase: self.recovery.phase(),
            acknowledged: self.una,
            next: self.nxt,
            rate: sample.as_ref(),
        };
        self.cwnd.controller.on_ack(&mut self.cwnd.window, &ack);
        self.update_pacing();
    }

    /// The delivery rate, for a controller that uses it (`tcp_rate_gen`).
    fn sample_rate(
        &mut self,
        now: Time,
        progress: &AckProgress,
        newly_lost: u64,
    ) -> Option<RateSample> {
        let rate = self.rate.as_mut()?;
        Some(rate.sample(
            now,
            &Circumstances {
                newly_delivered: progress.delivered,
                newly_lost: u32::try_from(newly_lost).unwrap_or(u32::MAX),
                lost: self.losses,
                prior_in_flight: progress.prior_in_flight,
                in_flight: self.board.in_flight(),
                is_ack_delayed: progress.maybe_delayed,
                srtt: self.rtt.srtt(),
                min_rtt: self.rtt.min(),
                departure: self.pacer.departure(now),
            },
        ))
    }

    /// Counts deliveries of an acknowledgement that gives no sample.
    fn add_unsampled(&mut self, progress: &AckProgress) {
        if let Some(rate) = &mut self.rate {
            rate.add(progress.delivered);
        }
    }

    /// `tcp_may_raise_cwnd`: on in-order delivery, or on any delivery if reordering is common.
    fn may_grow(&self, progress: &AckProgress) -> bool {
        let reordering = self.rack.reordering() > crate::rack::DUPLICATE_THRESHOLD;
        progress.advanced || (reordering && progress.sacked)
    }
}
