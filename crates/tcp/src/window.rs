//! The receive window: the value to advertise, and its autotuning.
//!
//! Source: Linux 6.18 `__tcp_select_window`, `tcp_select_window`, `tcp_grow_window`, `tcp_rcv_space_adjust`
//! (dynamic right-sizing), `tcp_rcvbuf_grow`, `tcp_rcv_rtt_update`. The buffer is counted in bytes of window. The
//! kernel counts memory and takes half of it for payload until it has measured the ratio on a full segment; here
//! that measurement always gives 5/8 (1448 bytes in a buffer of 2304), and does not change again. Linux 3 takes a fixed part
//! and allows neither for slow start nor for gaps.

use std::time::Duration;

use units::Time;

use crate::config::{Config, ReceiveTuning};

/// Maximum shift of the window scale option (RFC 7323 section 2.3).
const MAX_SCALE: u32 = 14;

/// Occupancy of the receive queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupancy {
    /// The next number expected.
    pub(crate) next: u64,
    /// In order, not yet read.
    pub(crate) ready: u64,
    /// Behind gaps.
    pub(crate) held: u64,
    /// The end of the data furthest ahead.
    pub(crate) highest: u64,
}

/// The window of one receiver.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    /// The buffer (`window_clamp`).
    clamp: u64,
    max: u64,
    /// Maximum to advertise so far (`rcv_ssthresh`).
    allowed: u64,
    tuning: ReceiveTuning,
    granularity: u64,
    scale: u8,
    /// Payload of a full segment (`advmss`).
    mss: u64,
    /// The last advertisement: its start, and its size (`rcv_wup`, `rcv_wnd`).
    from: u64,
    window: u64,
    /// Bytes read by the application in a round trip (`rcvq_space`).
    per_round: u64,
    round_from: u64,
    round_began: Time,
    rtt: ReceiverRtt,
    /// A full segment has shown how much payload the buffer's memory takes (`scaling_ratio`).
    measured: bool,
}

impl ReceiveWindow {
    pub(crate) fn new(config: &Config, now: Time) -> ReceiveWindow {
        let policy = config.receive_buffer;
        // Options count until the handshake has agreed on them (`tcp_select_initial_window`).
        let unit = u64::from(config.advertised_mss());
        let clamp = policy.initial_bytes;
        let whole = if clamp > unit { clamp / unit * unit } else { clamp };
        let first = policy.first_window.map_or(whole, |n| whole.min(u64::from(n) * unit));
        // The kernel scales for the whole of its memory, twice the window.
        let scale = (policy.max_bytes.max(clamp) * 2).ilog2().saturating_sub(15).min(MAX_SCALE);
        ReceiveWindow {
            clamp,
            max: policy.max_bytes.max(clamp),
            allowed: first,
            tuning: policy.tuning,
            granularity: 1 << scale,
            scale: scale as u8,
            mss: u64::from(config.mss),
            from: 0,
            window: first.min(0xffff),
            per_round: first.min(10 * u64::from(config.mss)),
            round_from: 0,
            round_began: now,
            rtt: ReceiverRtt::default(),
            measured: false,
        }
    }

    /// The window scale shift to offer in the SYN.
    pub(crate) fn scale(&self) -> u8 {
        self.scale
    }

    /// The handshake is over and `next` is the first sequence number of data.
    pub(crate) fn establish(&mut self, now: Time, next: u64) {
        self.from = next;
        self.round_from = next;
        self.round_began = now;
    }

    /// Rest of the last advertisement from `next` on (`tcp_receive_window`).
    pub(crate) fn remaining(&self, next: u64) -> u64 {
        (self.from + self.window).saturating_sub(next)
    }

    /// The number up to which everything was acknowledged when a window was last advertised.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.from
    }

    pub(crate) fn advertised(&self) -> u64 {
        self.window
    }

    pub(crate) fn clamp(&self) -> u64 {
        self.clamp
    }

    /// True if less than half of the buffer is free.
    pub(crate) fn is_tight(&self, occupancy: &Occupancy) -> bool {
        self.free(occupancy) < self.clamp / 2
    }

    fn free(&self, occupancy: &Occupancy) -> u64 {
        self.clamp.saturating_sub(occupancy.ready + occupancy.held)
    }

    /// Window that could be advertised (`__tcp_select_window`); `rcv_mss` is the size of the peer's segments.
    pub(crate) fn select(&self, occupancy: &Occupancy, rcv_mss: u64) -> u64 {
        let mut free = self.free(occupancy);
        if self.is_tight(occupancy) {
            free -= free % self.granularity;
            if free < self.clamp / 16 || free < rcv_mss.min(self.clamp) {
                return 0;
            }
        }
        free.min(self.allowed).next_multiple_of(self.granularity)
    }

    /// Window of a segment that leaves now: never less than advertised before
    /// (`tcp_select_window`).
    pub(crate) fn advertise(&mut self, occupancy: &Occupancy, rcv_mss: u64) -> u64 {
        let promised = self.remaining(occupancy.next).next_multiple_of(self.granularity);
        self.window = self.select(occupancy, rcv_mss).max(promised);
        self.from = occupancy.next;
        self.window
    }

    /// A segment arrived: the first full one shows the buffer to hold 5/8 of its memory instead of half
    /// (`tcp_measure_rcv_mss`, `tcp_set_window_clamp`).
    pub(crate) fn measure_ratio(&mut self, len: u64) {
        let measures = self.tuning == ReceiveTuning::Linux6;
        if measures && !self.measured && len > self.mss / 2 {
            self.measured = true;
            self.max = self.max * 5 / 4;
            self.clamp = self.clamp * 5 / 4;
            self.allowed = self.allowed.max(self.window.min(self.clamp));
        }
    }

    /// Lets the window open as data arrives (`tcp_grow_window`); returns true if it did.
    pub(crate) fn grow(&mut self, occupancy: &Occupancy, len: u64) -> bool {
        let room = self.clamp.min(self.free(occupancy)).saturating_sub(self.allowed);
        let step = (2 * self.mss).max(2 * len);
        self.allowed += room.min(step);
        room > 0
    }

    /// After a read: once per round trip, makes room for twice the data read by the application
    /// (`tcp_rcv_space_adjust`).
    pub(crate) fn adjust(&mut self, now: Time, occupancy: &Occupancy) {
        let Some(rtt) = self.rtt.estimate() else { return };
        if now - self.round_began < rtt {
            return;
        }
        let read = occupancy.next - occupancy.ready;
        let taken = (read - self.round_from).saturating_sub(occupancy.ready);
        if taken > self.per_round {
            self.enlarge(taken, occupancy);
        }
        self.round_from = read;
        self.round_began = now;
    }

    /// Data waits behind a gap: makes additional room for it (`tcp_data_queue_ofo`).
    pub(crate) fn allow_for_gap(&mut self, occupancy: &Occupancy) {
        if self.tuning == ReceiveTuning::Linux6 {
            self.enlarge(self.per_round, occupancy);
        }
    }

    /// `tcp_rcvbuf_grow`
    fn enlarge(&mut self, taken: u64, occupancy: &Occupancy) {
        let before = std::mem::replace(&mut self.per_round, taken).max(1);
        let mut wanted = 2 * taken;
        if self.tuning == ReceiveTuning::Linux6 {
            // In slow start the sender doubles its rate.
            let growth = u128::from(wanted) * u128::from(taken.saturating_sub(before));
            wanted += 2 * u64::try_from(growth / u128::from(before)).unwrap_or(self.max);
            wanted += occupancy.highest - occupancy.next;
        }
        self.clamp = self.clamp.max(wanted.min(self.max));
    }

    /// True if a segment that gives no round trip sample uses up the time that it echoes (since Linux 4.18).
    pub(crate) fn uses_up_echoes(&self) -> bool {
        self.tuning == ReceiveTuning::Linux6
    }

    /// Round trip sample from a segment that echoes a timestamp (`tcp_rcv_rtt_measure_ts`).
    pub(crate) fn sample_rtt(&mut self, rtt: Duration, queue_empty: bool) {
        self.rtt.smooth(rtt, queue_empty);
    }

    /// Round trip sample from the time that a window takes to fill (`tcp_rcv_rtt_measure`).
    pub(crate) fn measure_rtt(&mut self, now: Time, next: u64) {
        self.rtt.measure(now, next, self.window);
    }

    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.rtt.estimate()
    }
}

/// The receiver's own estimate of the round trip (`rcv_rtt_est`).
#[derive(Debug, Default)]
struct ReceiverRtt {
    /// Eight times the estimate, ns.
    rtt_8: Option<u64>,
    /// Start and end of the window's worth being awaited.
    awaited: Option<(Time, u64)>,
}

impl ReceiverRtt {
    fn estimate(&self) -> Option<Duration> {
        self.rtt_8.map(|rtt| Duration::from_nanos(rtt >> 3))
    }

    fn smooth(&mut self, rtt: Duration, queue_empty: bool) {
        let sample = nanos(rtt);
        self.rtt_8 = Some(match self.rtt_8 {
            Some(old) if 8 * sample >= old => {
                if !queue_empty {
                    return;
                }
                old - (old >> 3) + sample
            }
            _ => 8 * sample,
        });
    }

    fn measure(&mut self, now: Time, next: u64, window: u64) {
        if let Some((since, until)) = self.awaited {
            if next < until {
                return;
            }
            let sample = 8 * nanos(now - since).max(1);
            self.rtt_8 = Some(self.rtt_8.map_or(sample, |old| old.min(sample)));
        }
        self.awaited = Some((now, next + window));
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX >> 4).min(u64::MAX >> 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupancy(next: u64, ready: u64) -> Occupancy {
        Occupancy { next, ready, held: 0, highest: next }
    }

    #[test]
    fn starts_at_44_segments_and_never_takes_back_what_it_promised() {
        let mut window = ReceiveWindow::new(&Config::default(), Time::ZERO);
        assert_eq!((window.advertised(), window.scale()), (64_240, 10));
        window.establish(Time::ZERO, 1);
        assert_eq!(window.advertise(&occupancy(1, 0), 1448), 64_512, "rounded up to the scale");
        let shrunk = window.advertise(&occupancy(60_001, 60_000), 1448);
        assert!(60_001 + shrunk >= 64_513, "{shrunk}");
        assert_eq!(window.select(&occupancy(60_001, 64_000), 1448), 0);
    }

    #[test]
    fn doubles_what_the_application_takes_in_a_round_trip() {
        let mut window = ReceiveWindow::new(&Config::default(), Time::ZERO);
        window.establish(Time::ZERO, 1);
        window.sample_rtt(Duration::from_millis(100), true);
        window.adjust(Time::from_millis(99), &occupancy(100_001, 0));
        assert_eq!(window.clamp(), 65_536);
        window.adjust(Time::from_millis(100), &occupancy(100_001, 0));
        // 2 * 100000, and twice the growth over the first 10 segments.
        let growth = 2 * (200_000 * (100_000 - 14_480) / 14_480);
        assert_eq!(window.clamp(), 200_000 + growth);
    }

    #[test]
    fn a_fixed_buffer_stays() {
        let mut config = Config::default();
        config.receive_buffer.max_bytes = config.receive_buffer.initial_bytes;
        let mut window = ReceiveWindow::new(&config, Time::ZERO);
        window.establish(Time::ZERO, 1);
        window.sample_rtt(Duration::from_millis(100), true);
        window.adjust(Time::from_millis(200), &occupancy(1_000_001, 0));
        assert_eq!(window.clamp(), 65_536);
    }
}
