//! Timing of acknowledgements: at once, after a delay, with the next data, or, in a stream, less often.
//!
//! Source: Linux 6.18 `tcp_event_data_recv`, `tcp_measure_rcv_mss`, `__tcp_ack_snd_check`,
//! `tcp_send_delayed_ack`, `tcp_delack_timer_handler`, `__tcp_cleanup_rbuf`. The delay adapts to the gaps
//! between segments; a connection that replies within it is interactive and piggybacks its acknowledgements
//! on the replies. Left out: aggregation of arrivals (GRO) before acknowledging; and the delay of a full segment with PSH
//! before Linux 6.6, like that of any other. Additions of other systems are in `stretch`.

use std::time::Duration;

use units::Time;

use crate::config::{AckPolicy, StretchAcks};
use crate::rtt::RttEstimator;
use crate::timers::{TcpTimer, TcpTimers};

/// The peer's segment size until a larger one arrives (`TCP_MSS_DEFAULT`).
const SMALLEST_MSS: u64 = 536;
/// Maximum delay without an estimate of the round trip (`HZ / 2`), unless data was pushed.
const LONGEST_GAP: Duration = Duration::from_millis(500);
/// Out-of-order arrivals acknowledged before any are held back (`TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED: u32 = 3;

/// The state of delayed acknowledgement (`icsk_ack`).
#[derive(Debug)]
pub(crate) struct AckClock {
    policy: AckPolicy,
    /// The delay, none before the first data (`ato`).
    delay: Option<Duration>,
    /// Segments still to be acknowledged at once (`quick`).
    quick: u32,
    /// Replies sent within the delay (`pingpong`).
    answers: u32,
    last_data: Time,
    /// Estimated size of the peer's full segments (`rcv_mss`).
    rcv_mss: u64,
    last_small: u64,
    /// Something arrived that has not been acknowledged (`ICSK_ACK_SCHED`).
    owed: bool,
    /// The acknowledgement has to leave now (`ICSK_ACK_NOW`, or the decision to send).
    due: bool,
    /// Ends of writes received since the last acknowledgement, up to two (`ICSK_ACK_PUSHED*`).
    pushed: u8,
    /// Out-of-order arrivals at this sequence number (`dup_ack_counter`, `compressed_ack_rcv_nxt`).
    overtaken: (u64, u32),
    /// Acknowledgements held back (`compressed_ack`).
    compressed: u32,
    /// Detector of streams, if the policy has one.
    stream: Option<StreamDetector>,
}

/// Receiver state on which the decision depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// The next number expected.
    pub(crate) next: u64,
    /// Bytes in order that have not been acknowledged.
    pub(crate) unacknowledged: u64,
    /// The window to advertise is at least as large as the current one.
    pub(crate) window_holds: bool,
    /// Data waits behind a gap.
    pub(crate) gap: bool,
    /// The smaller of the two estimates of the round trip.
    pub(crate) rtt: Option<Duration>,
}

impl AckClock {
    pub(crate) fn new(policy: AckPolicy, now: Time) -> AckClock {
        AckClock {
            policy,
            delay: None,
            quick: 0,
            answers: 0,
            last_data: now,
            rcv_mss: SMALLEST_MSS,
            last_small: 0,
            owed: false,
            due: false,
            pushed: 0,
            overtaken: (0, 0),
            compressed: 0,
            stream: policy.stretch.map(|stretch| StreamDetector::new(stretch, now)),
        }
    }

    pub(crate) fn rcv_mss(&self) -> u64 {
        self.rcv_mss
    }

    /// True if an acknowledgement must leave now.
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// Demands an acknowledgement now, whatever the policy.
    pub(crate) fn demand(&mut self) {
        self.owed = true;
        self.due = true;
    }

    /// Notes that an acknowledgement is owed, at some time.
    pub(crate) fn owe(&mut self) {
        self.owed = true;
    }

    fn is_interactive(&self) -> bool {
        self.answers >= self.policy.interactive_after
    }

    /// Makes the connection interactive: a reply, the FIN, is expected soon.
    pub(crate) fn expect_answer(&mut self) {
        self.answers = self.answers.max(self.policy.interactive_after);
    }

    /// Data arrived in order (`tcp_event_data_recv`).
    pub(crate) fn on_data(&mut self, now: Time, len: u64, push: bool, window: u64, rto: Duration) {
        self.owed = true;
        self.measure(len, push);
        self.due |= push && self.policy.push_at_once;
        if let Some(stream) = &mut self.stream {
            stream.on_data(now, len, push, self.rcv_mss);
        }
        let gap = now - self.last_data;
        self.last_data = now;
        let Some(delay) = self.delay else {
            self.hurry(window);
            self.delay = Some(self.policy.min_delay);
            return;
        };
        if gap <= self.policy.min_delay / 2 {
            self.delay = Some(delay / 2 + self.policy.min_delay / 2);
        } else if gap < delay {
            self.delay = Some((delay / 2 + gap).min(rto));
        } else if gap > rto {
            // The sender may have restarted its window: quick acknowledgements help it grow.
            self.hurry(window);
        }
    }

    /// Data arrived out of order.
    pub(crate) fn on_gap(&mut self, now: Time, len: u64, push: bool) {
        self.owed = true;
        self.measure(len, push);
        self.end_stream(now);
    }

    /// Notes that arrivals are not a stream, or no longer.
    fn end_stream(&mut self, now: Time) {
        if let Some(stream) = &mut self.stream {
            stream.reset(now);
        }
    }

    /// Number of bytes above which an acknowledgement leaves at once: those of one segment, or in a stream of all but one of several.
    fn patience(&self) -> u64 {
        let segments = self.stream.as_ref().map_or(2, StreamDetector::segments);
        u64::from(segments - 1) * self.rcv_mss
    }

    /// Something arrived again: its acknowledgement was lost or late (`tcp_enter_quickack_mode`).
    pub(crate) fn on_duplicate(&mut self, window: u64) {
        self.owed = true;
        self.hurry(window);
        self.answers = 0;
        self.delay = Some(self.policy.min_delay);
    }

    /// A congestion mark arrived: the sender's window may be small (`tcp_enter_quickack_mode` with 2).
    pub(crate) fn on_mark(&mut self, now: Time) {
        self.end_stream(now);
        self.quick = self.quick.max(2);
        self.answers = 0;
        self.delay = Some(self.policy.min_delay);
    }

    /// The window opened: one more quick acknowledgement (`tcp_grow_window`).
    pub(crate) fn on_growth(&mut self) {
        self.quick |= 1;
    }

    /// The window is tight (`__tcp_select_window`).
    pub(crate) fn on_shortage(&mut self) {
        // A policy of unlimited quick acknowledgements keeps them.
        if self.policy.quick_acks.0 < u32::MAX {
            self.quick = 0;
        }
    }

    /// `tcp_incr_quickack`
    fn hurry(&mut self, window: u64) {
        let (least, most) = self.policy.quick_acks;
        let segments = u32::try_from(window / (2 * self.rcv_mss)).unwrap_or(u32::MAX);
        self.quick = self.quick.max(segments.max(least).min(most));
    }

    /// `tcp_measure_rcv_mss`
    fn measure(&mut self, len: u64, push: bool) {
        let previous = std::mem::take(&mut self.last_small);
        if len >= self.rcv_mss {
            self.rcv_mss = len;
            if push {
                self.pushed = self.pushed.max(1);
            }
            return;
        }
        if len >= SMALLEST_MSS {
            self.last_small = len;
            if len == previous {
                self.rcv_mss = len;
                return;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
    }

    /// Decides after a segment was received (`__tcp_ack_snd_check`).
    pub(crate) fn decide(
        &mut self,
        now: Time,
        situation: &Situation,
        rtt: &RttEstimator,
        timers: &mut TcpTimers,
    ) {
        if !self.owed || self.due {
            return;
        }
        let full = situation.unacknowledged > self.patience() && situation.window_holds;
        if full || (self.quick > 0 && !self.is_interactive()) {
            self.due = true;
        } else if situation.gap {
            self.compress(now, situation, timers);
        } else {
            self.delay_ack(now, rtt, timers);
        }
    }

    /// Out-of-order data: the first three acknowledgements leave at once, then a few together.
    fn compress(&mut self, now: Time, situation: &Situation, timers: &mut TcpTimers) {
        if self.overtaken.0 != situation.next {
            self.overtaken = (situation.next, 0);
        }
        let plain = self.policy.compression_delay.is_zero()
            || self.compressed >= self.policy.compression_limit;
        if plain || self.overtaken.1 < UNCOMPRESSED {
            self.overtaken.1 = (self.overtaken.1 + 1).min(UNCOMPRESSED);
            self.due = true;
            return;
        }
        self.compressed += 1;
        if !timers.is_armed(TcpTimer::CompressedAck) {
            let twentieth = situation.rtt.unwrap_or_default() / 20;
            let wait = twentieth.min(self.policy.compression_delay);
            timers.arm(now, TcpTimer::CompressedAck, now + wait);
        }
    }

    /// `tcp_send_delayed_ack`
    fn delay_ack(&mut self, now: Time, rtt: &RttEstimator, timers: &mut TcpTimers) {
        let mut delay = self.delay.unwrap_or_default();
        if delay > self.policy.min_delay {
            let hurried = self.is_interactive() || self.pushed > 0;
            let mut most = if hurried { self.policy.max_delay } else { LONGEST_GAP };
            if let Some(srtt) = rtt.srtt() {
                most = most.min(srtt.max(self.policy.min_delay));
            }
            delay = delay.min(most);
        }
        delay = delay.min(self.policy.max_delay);
        let pending = timers.due(TcpTimer::DelayedAck);
        if pending != Time::NEVER && pending <= now + delay / 4 {
            self.due = true;
            return;
        }
        timers.arm(now, TcpTimer::DelayedAck, pending.min(now + delay));
    }

    /// The delay is over (`tcp_delack_timer_handler`).
    pub(crate) fn on_delay_over(&mut self, now: Time, rto: Duration) {
        if !self.owed {
            return;
        }
        if let Some(stream) = &mut self.stream {
            stream.on_delay_over(now);
        }
        if self.is_interactive() {
            self.answers = 0;
            self.delay = Some(self.policy.min_delay);
        } else {
            self.delay = self.delay.map(|delay| (2 * delay).min(rto));
        }
        self.due = true;
    }

    /// The compression timer expired.
    pub(crate) fn on_compression_over(&mut self) {
        if self.compressed > 0 {
            self.demand();
        }
    }

    /// The application read everything available, or much of it (`__tcp_cleanup_rbuf`).
    pub(crate) fn on_read(&mut self, unacknowledged: u64, emptied: bool) {
        let small = self.pushed > 1 || (self.pushed > 0 && !self.is_interactive());
        if self.owed && (unacknowledged > self.patience() || (small && emptied)) {
            self.due = true;
        }
    }

    /// An acknowledgement left, alone or with data (`tcp_event_ack_sent`, `tcp_dec_quickack_mode`).
    pub(crate) fn on_ack_sent(&mut self, timers: &mut TcpTimers) {
        if self.quick > 0 {
            self.quick -= u32::from(self.owed);
            if self.quick == 0 {
                self.delay = self.delay.map(|_| self.policy.min_delay);
            }
        }
        self.owed = false;
        self.due = false;
        self.pushed = 0;
        self.compressed = 0;
        timers.stop(TcpTimer::DelayedAck);
        timers.stop(TcpTimer::CompressedAck);
    }

    /// Data left: a reply, if soon enough (`tcp_event_data_sent`).
    pub(crate) fn on_data_sent(&mut self, now: Time) {
        if self.delay.is_some_and(|delay| now - self.last_data < delay) {
            self.answers = self.answers.saturating_add(1);
        }
    }
}

// Detection of streams, whose receiver may acknowledge less often.
//
// Source: XNU, `bsd/netinet/tcp_input.c` (`tcp_stretch_ack_enable`, `tcp_reset_stretch_ack`, and their callers) and
// `tcp_timer.c`, with `net.inet.tcp.delayed_ack=3`. Left out: headers, which the kernel counts with the bytes of a window; the kernel's
// end of stretching on a connection whose delayed acknowledgements were late too often; merged arrivals (LRO).

/// The detector of one connection.
#[derive(Debug)]
pub(crate) struct StreamDetector {
    stretch: StretchAcks,
    /// End of the current window (`rcv_unackwin`),
    ends: Time,
    /// and the bytes that arrived in it (`rcv_by_unackwin`).
    bytes: u64,
    /// Segments since the beginning or the last loss, until a stream was found (`rcv_waitforss`, `TF_RCVUNACK_WAITSS`).
    waited: Option<u32>,
    streams: bool,
}

impl StreamDetector {
    pub(crate) fn new(stretch: StretchAcks, now: Time) -> StreamDetector {
        let ends = now + stretch.window;
        StreamDetector { stretch, ends, bytes: 0, waited: Some(0), streams: false }
    }

    /// Number of segments per acknowledgement.
    pub(crate) fn segments(&self) -> u32 {
        if self.streams { self.stretch.segments } else { 2 }
    }

    /// Data arrived in order; the end of a write is not part of a stream.
    pub(crate) fn on_data(&mut self, now: Time, len: u64, push: bool, mss: u64) {
        self.waited = self.waited.map(|segments| segments.saturating_add(1));
        let many = self.bytes >= u64::from(self.stretch.segments) * mss && now <= self.ends;
        let begun = self.waited.is_none_or(|segments| segments >= self.stretch.slow_start_segments);
        self.streams = many && !push && begun;
        if self.streams {
            self.waited = None;
        }
        if now < self.ends {
            self.bytes += len;
        } else {
            (self.ends, self.bytes) = (now + self.stretch.window, len);
        }
    }

    /// The delay of an acknowledgement is over: fewer segments come than in a stream.
    pub(crate) fn on_delay_over(&mut self, now: Time) {
        if self.streams {
            self.reset(now);
        }
    }

    /// Something was lost, overtaken or marked: the sender's window is small.
    pub(crate) fn reset(&mut self, now: Time) {
        *self = StreamDetector::new(self.stretch, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckPolicy;

    const MSS: u64 = 1448;

    fn detector() -> StreamDetector {
        StreamDetector::new(AckPolicy::IOS_9.stretch.unwrap(), Time::ZERO)
    }

    /// Feeds this number of segments, one per millisecond, from `from` on. Returns the time of their end.
    fn feed(detector: &mut StreamDetector, from: u64, segments: u64) -> u64 {
        for at in from..from + segments {
            detector.on_data(Time::from_millis(at), MSS, false, MSS);
        }
        from + segments
    }

    #[test]
    fn a_stream_is_one_after_512_segments_while_eight_come_in_a_tenth_of_a_second() {
        let mut detector = detector();
        let at = feed(&mut detector, 0, 511);
        assert_eq!(detector.segments(), 2);
        let at = feed(&mut detector, at, 1);
        assert_eq!(detector.segments(), 8);
        // After a second of silence the next segment opens a new window, which has too little in it at first.
        let at = feed(&mut detector, at + 1000, 8);
        assert_eq!(detector.segments(), 2);
        feed(&mut detector, at, 1);
        assert_eq!(detector.segments(), 8, "slow start is not waited for again");
    }

    #[test]
    fn a_push_interrupts_and_a_loss_ends_it() {
        let mut detector = detector();
        let at = feed(&mut detector, 0, 600);
        detector.on_data(Time::from_millis(at), MSS, true, MSS);
        assert_eq!(detector.segments(), 2);
        let at = feed(&mut detector, at + 1, 100);
        assert_eq!(detector.segments(), 8);
        detector.reset(Time::from_millis(at));
        let at = feed(&mut detector, at, 511);
        assert_eq!(detector.segments(), 2);
        feed(&mut detector, at, 100);
        assert_eq!(detector.segments(), 8);
    }

    #[test]
    fn seven_in_a_tenth_of_a_second_are_none() {
        let mut detector = detector();
        for number in 0..2000 {
            detector.on_data(Time::from_millis(number * 15), MSS, false, MSS);
            assert_eq!(detector.segments(), 2, "{number}");
        }
    }
}
