//! Reno (RFC 5681): one segment more per round trip, half on congestion.
//!
//! Source: `tcp_reno_cong_avoid`, `tcp_reno_ssthresh` of Linux 6.18, which counts segments, and of 3.x, which
//! counts acknowledgements and goes one segment beyond the threshold in slow start.

use crate::{Ack, Controller, Era, Window};

/// The Reno controller. It has no state beyond the window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reno {
    era: Era,
}

impl Reno {
    /// Reno as in that kernel.
    pub fn new(era: Era) -> Reno {
        Reno { era }
    }

    fn grow_by_segments(window: &mut Window, segments: u32) {
        let mut delivered = segments;
        if window.in_slow_start() {
            delivered = window.slow_start(delivered);
        }
        if delivered > 0 {
            window.increase_additively(window.cwnd, delivered);
        }
    }

    fn grow_by_acknowledgement(window: &mut Window) {
        if window.is_up_to_threshold() {
            window.cwnd += 1;
        } else {
            window.increase_after(window.cwnd);
        }
    }
}

impl Controller for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        match self.era {
            Era::Linux6 => Reno::grow_by_segments(window, ack.growth),
            _ if ack.growth > 0 => Reno::grow_by_acknowledgement(window),
            _ => {}
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
        let (mut reno, mut window) = (Reno::default(), Window::new(10));
        window.ssthresh = 2;
        for _ in 0..10 {
            reno.on_ack(&mut window, &Ack::at(Time::ZERO));
        }
        assert_eq!(window.cwnd, 11);
        assert_eq!(reno.on_congestion(&window), 5);
        assert_eq!(reno.on_congestion(&Window::new(1)), 2);
    }

    #[test]
    fn linux_3_counts_acknowledgements_and_passes_the_threshold() {
        let (mut reno, mut window) = (Reno::new(Era::Linux3_0), Window::new(10));
        window.ssthresh = 11;
        let ack = Ack { acked: 2, ..Ack::at(Time::ZERO) };
        for cwnd in [11, 12] {
            reno.on_ack(&mut window, &ack);
            assert_eq!(window.cwnd, cwnd, "one an acknowledgement, though it covers two segments");
        }
        for _ in 0..12 {
            reno.on_ack(&mut window, &ack);
            assert_eq!(window.cwnd, 12);
        }
        reno.on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 13, "the thirteenth: the count is compared before it is raised");
    }
}
