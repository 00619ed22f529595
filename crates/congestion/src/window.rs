//! The congestion window and the arithmetic shared by all controllers.
//!
//! Source: Linux 6.18 `net/ipv4/tcp_cong.c` and `tcp_output.c`. Unit: segments.

use std::time::Duration;

/// The threshold before any congestion was seen (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// A congestion window in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Maximum number of segments in flight.
    pub cwnd: u32,
    /// Below this the window is in slow start.
    pub ssthresh: u32,
    /// Segments delivered since the last additive increase (`snd_cwnd_cnt`).
    counted: u32,
}

impl Window {
    /// A window of `initial` segments that has never seen congestion.
    pub fn new(initial: u32) -> Window {
        Window { cwnd: initial, ssthresh: INFINITE_SSTHRESH, counted: 0 }
    }

    /// True if the window still grows exponentially.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// As [`in_slow_start`](Window::in_slow_start), for Linux 3: also true at the threshold.
    pub(crate) fn is_up_to_threshold(&self) -> bool {
        self.cwnd <= self.ssthresh
    }

    /// Grows by the segments delivered, up to the threshold; returns the rest for congestion
    /// avoidance (`tcp_slow_start`).
    pub(crate) fn slow_start(&mut self, delivered: u32) -> u32 {
        let grown = self.cwnd.saturating_add(delivered).min(self.ssthresh);
        let used = grown - self.cwnd;
        self.cwnd = grown;
        delivered - used
    }

    /// Grows by one segment for each `per` delivered (`tcp_cong_avoid_ai`).
    pub(crate) fn increase_additively(&mut self, per: u32, delivered: u32) {
        if self.counted >= per {
            // Credits gathered at a slower pace must not come out as a burst.
            self.counted = 0;
            self.cwnd += 1;
        }
        self.counted += delivered;
        if self.counted >= per {
            self.cwnd += self.counted / per;
            self.counted %= per;
        }
    }

    /// Grows by one segment when `per` acknowledgements were counted; this is one more
    /// (`tcp_cong_avoid_ai` of Linux 3).
    pub(crate) fn increase_after(&mut self, per: u32) {
        if self.counted >= per {
            self.cwnd += 1;
            self.counted = 0;
        } else {
            self.counted += 1;
        }
    }

    /// Forgets partial progress towards the next additive increase; part of any reduction.
    pub fn restart_counting(&mut self) {
        self.counted = 0;
    }

    /// The threshold to remember when the window is given up without congestion: three
    /// quarters of the working window (`tcp_current_ssthresh` outside a reduction; RFC 2861 section 3).
    pub fn remembered_ssthresh(&self) -> u32 {
        self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2))
    }

    /// Decays the window after idleness: halved once for each retransmission timeout that passed
    /// after the first, not below `restart` segments (`tcp_cwnd_restart`; RFC 2861 section 3.2).
    pub fn decay(&mut self, idle: Duration, rto: Duration, restart: u32) {
        let restart = restart.min(self.cwnd);
        let mut left = idle.saturating_sub(rto);
        while !left.is_zero() && self.cwnd > restart {
            self.cwnd >>= 1;
            left = left.saturating_sub(rto);
        }
        self.cwnd = self.cwnd.max(restart);
    }

    /// Moves half way towards the window that the application really used
    /// (`tcp_cwnd_application_limited`; RFC 2861 section 3.2).
    pub fn approach(&mut self, used: u32) {
        if used < self.cwnd {
            self.ssthresh = self.remembered_ssthresh();
            self.cwnd = (self.cwnd + used) >> 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let mut window = Window { ssthresh: 14, ..Window::new(10) };
        assert_eq!(window.slow_start(3), 0);
        assert_eq!(window.slow_start(3), 2);
        assert_eq!(window.cwnd, 14);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn additive_increase_counts_delivered_segments() {
        let mut window = Window { ssthresh: 5, ..Window::new(10) };
        window.increase_additively(10, 9);
        assert_eq!(window.cwnd, 10);
        window.increase_additively(10, 1);
        assert_eq!(window.cwnd, 11);
        window.increase_additively(4, 9);
        assert_eq!(window.cwnd, 13);
    }

    #[test]
    fn a_window_of_64_idle_for_three_timeouts_becomes_16() {
        let rto = Duration::from_millis(300);
        let decayed = |idle: Duration| {
            let mut window = Window::new(64);
            window.decay(idle, rto, 10);
            window.cwnd
        };
        let just_over = Duration::from_nanos(1);
        assert_eq!(decayed(rto), 64);
        assert_eq!(decayed(rto + just_over), 32);
        assert_eq!(decayed(3 * rto), 16, "at exactly three timeouts nothing is left of the third");
        assert_eq!(decayed(3 * rto + just_over), 10, "8 is below the restart window");
        assert!(Window { ssthresh: 2, ..Window::new(64) }.remembered_ssthresh() >= 48);
    }

    #[test]
    fn an_unused_window_is_approached_from_above() {
        let mut window = Window { ssthresh: 20, ..Window::new(40) };
        window.approach(10);
        assert_eq!((window.cwnd, window.ssthresh), (25, 30));
        window.approach(30);
        assert_eq!(window.cwnd, 25);
    }
}
