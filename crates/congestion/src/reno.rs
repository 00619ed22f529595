//! Reno (RFC 5681): one segment more a round trip, half on congestion.
//!
//! Source: Linux 6.18 `tcp_reno_cong_avoid`, `tcp_reno_ssthresh`.

use crate::{Ack, Controller, Window};

/// The Reno controller. It has no memory beyond the window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reno;

impl Controller for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let mut delivered = ack.growth;
        if window.in_slow_start() {
            delivered = window.slow_start(delivered);
        }
        if delivered > 0 {
            window.increase_additively(window.cwnd, delivered);
        }
    }

    fn on_congestion(&mut self, window: &Window) -> u32 {
        (window.cwnd >> 1).max(2)
    }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;

    #[test]
    fn grows_by_one_a_window_and_halves() {
        let mut window = Window::new(10);
        window.ssthresh = 2;
        let ack = Ack { now: Time::ZERO, rtt: None, growth: 1, acknowledged: 0, next: 0 };
        for _ in 0..10 {
            Reno.on_ack(&mut window, &ack);
        }
        assert_eq!(window.cwnd, 11);
        assert_eq!(Reno.on_congestion(&window), 5);
        assert_eq!(Reno.on_congestion(&Window::new(1)), 2);
    }
}
