//! CUBIC's growth from one reduction to the next: the cubic function, Reno's window beside it, and the ACK ratio.
//!
//! Source: Linux `bictcp_update`, the same in 3.0 and 6.18. Time inside the function is counted in 1/1024 s.

use std::time::Duration;

use units::Time;

use super::{BETA, BETA_SCALE};

/// C * 1024, with the nominal 100 ms round trip folded in (`bic_scale * 10`, `cube_rtt_scale`).
const CUBE_RTT_SCALE: u64 = 410;
/// 2^40 / 410: turns segments into (1/1024 s)^3 (`cube_factor`).
const CUBE_FACTOR: u64 = (1 << 40) / CUBE_RTT_SCALE;
/// Acknowledged segments for each segment of Reno's growth, times 8 over the window (`beta_scale`).
const FRIENDLY_SCALE: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// A period of growth.
#[derive(Debug, Clone)]
pub(super) struct Epoch {
    pub(super) began: Time,
    /// Time at which the cubic function reaches its origin, in 1/1024 s after `began`.
    pub(super) k: u64,
    /// The window at the plateau.
    origin: u64,
    /// Acknowledged segments not yet credited to `reno`.
    pub(super) acked: u64,
    /// The window that Reno would have by now.
    reno: u64,
}

impl Epoch {
    pub(super) fn begin(now: Time, cwnd: u32, acked: u32, last_max: Option<u32>) -> Epoch {
        let origin = last_max.unwrap_or(0).max(cwnd);
        let gap = u64::from(origin - cwnd);
        Epoch {
            began: now,
            k: libm::round(libm::cbrt((CUBE_FACTOR * gap) as f64)) as u64,
            origin: u64::from(origin),
            acked: u64::from(acked),
            reno: u64::from(cwnd),
        }
    }

    /// The target of the cubic function one round trip from now.
    pub(super) fn target(&self, now: Time, rtt: Duration) -> u64 {
        let t = ticks(now - self.began + rtt);
        let offset = u128::from(t.abs_diff(self.k));
        let delta = (u128::from(CUBE_RTT_SCALE) * offset * offset * offset) >> 40;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        }
    }

    /// Excess of Reno's window over `cwnd`, if any (RFC 9438 section 4.3).
    pub(super) fn reno_ahead_of(&mut self, cwnd: u64) -> Option<u64> {
        let per = (cwnd * FRIENDLY_SCALE) >> 3;
        if per > 0 && self.acked > per {
            // As many whole steps as leave the remainder positive, like the kernel's loop.
            let steps = (self.acked - 1) / per;
            self.acked -= steps * per;
            self.reno += steps;
        }
        self.reno.checked_sub(cwnd).filter(|ahead| *ahead > 0)
    }
}

/// `span` in 1/1024 s.
fn ticks(span: Duration) -> u64 {
    u64::try_from(span.as_nanos() * 1024 / 1_000_000_000).unwrap_or(u64::MAX)
}

// Average number of segments covered by an acknowledgement.
//
// Linux 3 counts acknowledgements while CUBIC's growth is in segments, and corrects by this ratio. Source:
// Linux 3.0 `bictcp_acked` (`delayed_ack`). Unit: sixteenths of a segment.

const SHIFT: u32 = 4;
/// A receiver that acknowledges every second segment.
const INITIAL: u32 = 2 << SHIFT;
/// `ACK_RATIO_LIMIT`
const LIMIT: u32 = 32 << SHIFT;

/// The running mean.
#[derive(Debug, Clone)]
pub(super) struct AckRatio(u32);

impl AckRatio {
    pub(super) fn new() -> AckRatio {
        AckRatio(INITIAL)
    }

    /// An acknowledgement covered `acked` segments: `ratio = 15/16 ratio + acked`.
    pub(super) fn observe(&mut self, acked: u32) {
        self.0 = (self.0 - (self.0 >> SHIFT) + acked).min(LIMIT);
    }

    /// Number of acknowledgements that report `segments`, at least one.
    pub(super) fn acknowledgements(&self, segments: u64) -> u64 {
        ((segments << SHIFT) / u64::from(self.0)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_follows_the_cubic_function() {
        let epoch = Epoch::begin(Time::ZERO, 70, 1, Some(100));
        let at = |ms| epoch.target(Time::from_millis(ms), Duration::ZERO);
        assert_eq!(at(4217), 100);
        assert_eq!(at(4217 + 2000), 103, "0.4004 * 2^3");
        assert_eq!(at(4217 - 2000), 97);
        let rtt = Duration::from_millis(100);
        assert_eq!(epoch.target(Time::from_millis(4117), rtt), 100, "looks one round trip ahead");
    }

    #[test]
    fn the_ratio_converges_and_scales() {
        let mut ratio = AckRatio::new();
        assert_eq!(ratio.acknowledgements(100), 50);
        for _ in 0..100 {
            ratio.observe(1);
        }
        // From above the mean of ones stays at 31/16: the shift loses fractions below a sixteenth.
        assert_eq!((ratio.0, ratio.acknowledgements(100)), (31, 51));
        for _ in 0..1000 {
            ratio.observe(1000);
        }
        assert_eq!(ratio.acknowledgements(100), 3);
        assert_eq!(ratio.acknowledgements(1), 1);
    }
}
