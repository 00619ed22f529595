//! CUBIC (RFC 9438) with the constants and the integer arithmetic of Linux.
//!
//! Source: Linux 6.18 `net/ipv4/tcp_cubic.c` (`bictcp_update` and its neighbours). Time inside the cubic function is
//! counted in 1/1024 s, as there; a "jiffy" is 1 ms (HZ = 1000). C = 410/1024 segments/s^3,
//! beta = 717/1024.

use std::time::Duration;

use units::Time;

use crate::hystart::Hystart;
use crate::{Ack, Controller, Window};

/// Multiplicative decrease: beta * 1024.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// C * 1024, with the nominal 100 ms round trip folded in (`bic_scale * 10`, `cube_rtt_scale`).
const CUBE_RTT_SCALE: u64 = 410;
/// 2^40 / 410: turns segments into (1/1024 s)^3 (`cube_factor`).
const CUBE_FACTOR: u64 = (1 << 40) / CUBE_RTT_SCALE;
/// Acknowledged segments for each of Reno's, times 8 over the window (`beta_scale`).
const FRIENDLY_SCALE: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Nothing is recomputed this soon while the window stands still (`HZ / 32`).
const THROTTLE: Duration = Duration::from_millis(31);
/// After a recovery began, delays still show the old queue for so long.
const DELAY_HOLDOFF: Duration = Duration::from_secs(1);
const JIFFY: u64 = 1_000_000;

/// One period of growth, from a reduction to the next.
#[derive(Debug, Clone)]
struct Epoch {
    began: Time,
    /// When the cubic function reaches its origin, in 1/1024 s after `began`.
    k: u64,
    /// The window at the plateau.
    origin: u64,
    /// Acknowledged segments not yet credited to `reno`.
    acked: u64,
    /// The window that Reno would have by now.
    reno: u64,
}

/// The CUBIC controller.
#[derive(Debug, Clone)]
pub struct Cubic {
    epoch: Option<Epoch>,
    /// The window at the last reduction; none before the first (`last_max_cwnd`).
    last_max: Option<u32>,
    /// Deliveries needed for the next segment of growth (`cnt`).
    per_increase: u64,
    updated: Option<(u32, Time)>,
    smallest_rtt: Option<Duration>,
    hystart: Option<Hystart>,
}

impl Cubic {
    /// As Linux ships it.
    pub fn with_hystart() -> Cubic {
        Cubic { hystart: Some(Hystart::new()), ..Cubic::without_hystart() }
    }

    /// With slow start until the first loss.
    pub fn without_hystart() -> Cubic {
        Cubic {
            epoch: None,
            last_max: None,
            per_increase: 0,
            updated: None,
            smallest_rtt: None,
            hystart: None,
        }
    }

    /// `cubictcp_acked`: follows the smallest delay and asks HyStart whether slow start is over.
    fn observe_delay(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if self.epoch.as_ref().is_some_and(|epoch| ack.now - epoch.began < DELAY_HOLDOFF) {
            return;
        }
        let rtt = rtt.max(Duration::from_micros(1));
        let base = self.smallest_rtt.map_or(rtt, |base| base.min(rtt));
        self.smallest_rtt = Some(base);
        let Some(hystart) = &mut self.hystart else { return };
        if window.in_slow_start() && hystart.sample(ack, rtt, base, window.cwnd) {
            window.ssthresh = window.cwnd;
        }
    }

    /// `bictcp_update`: how many deliveries one more segment costs now.
    fn update(&mut self, now: Time, cwnd: u32, acked: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += u64::from(acked);
        }
        if let Some((window, at)) = self.updated
            && self.epoch.is_some()
        {
            if window == cwnd && now - at <= THROTTLE {
                return;
            }
            if jiffies(now) == jiffies(at) {
                self.bound_increase(cwnd);
                return;
            }
        }
        self.updated = Some((cwnd, now));
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(now, cwnd, acked, last_max));
        let target = epoch.target(now, self.smallest_rtt.unwrap_or_default());
        let cwnd_wide = u64::from(cwnd);
        self.per_increase = match target.checked_sub(cwnd_wide) {
            Some(gap) if gap > 0 => cwnd_wide / gap,
            _ => 100 * cwnd_wide,
        };
        if last_max.is_none() {
            // Before the first loss nothing is known: at least 5 % a round trip.
            self.per_increase = self.per_increase.min(20);
        }
        self.bound_increase(cwnd);
    }

    /// Never slower than Reno would be, never faster than half as much again a round trip.
    fn bound_increase(&mut self, cwnd: u32) {
        if let Some(epoch) = &mut self.epoch
            && let Some(ahead) = epoch.reno_ahead_of(u64::from(cwnd))
        {
            self.per_increase = self.per_increase.min(u64::from(cwnd) / ahead);
        }
        self.per_increase = self.per_increase.max(2);
    }
}

impl Epoch {
    fn begin(now: Time, cwnd: u32, acked: u32, last_max: Option<u32>) -> Epoch {
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

    /// The window that the cubic function wants one round trip from now.
    fn target(&self, now: Time, rtt: Duration) -> u64 {
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

    /// By how much Reno's window would exceed `cwnd`, if it would (RFC 9438 section 4.3).
    fn reno_ahead_of(&mut self, cwnd: u64) -> Option<u64> {
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

fn jiffies(time: Time) -> u64 {
    time.as_nanos() / JIFFY
}

/// `span` in 1/1024 s.
fn ticks(span: Duration) -> u64 {
    u64::try_from(span.as_nanos() * 1024 / 1_000_000_000).unwrap_or(u64::MAX)
}

impl Controller for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.observe_delay(window, ack);
        let mut delivered = ack.growth;
        if window.in_slow_start() {
            delivered = window.slow_start(delivered);
        }
        if delivered == 0 {
            return;
        }
        self.update(ack.now, window.cwnd, delivered);
        let per = u32::try_from(self.per_increase).unwrap_or(u32::MAX);
        window.increase_additively(per, delivered);
    }

    fn on_congestion(&mut self, window: &Window) -> u32 {
        self.epoch = None;
        let cwnd = u64::from(window.cwnd);
        let falling = self.last_max.is_some_and(|last| window.cwnd < last);
        // Fast convergence (RFC 9438 section 4.7): a flow that shrinks leaves room for a new one.
        let last_max = if falling { cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { cwnd };
        self.last_max = Some(last_max as u32);
        ((cwnd * BETA / BETA_SCALE) as u32).max(2)
    }

    fn on_timeout(&mut self, now: Time, next: u64) {
        let hystart = self.hystart.take().map(|mut hystart| {
            hystart.reset(now, next);
            hystart
        });
        *self = Cubic { hystart, ..Cubic::without_hystart() };
    }

    fn on_resume(&mut self, now: Time, idle: Duration) {
        // Idle time is not time in which the network could have been probed.
        if let Some(epoch) = &mut self.epoch {
            epoch.began = (epoch.began + idle).min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Acknowledges whole windows, a segment at a time, evenly over each round trip; returns when the
    /// window first reached `goal`.
    fn grow_to(cubic: &mut Cubic, window: &mut Window, mut now: Time, goal: u32) -> Time {
        let (mut acknowledged, end) = (0, now + Duration::from_secs(60));
        while window.cwnd < goal && now < end {
            now += RTT / window.cwnd;
            acknowledged += 1;
            let next = acknowledged + u64::from(window.cwnd);
            cubic.on_ack(window, &Ack { now, rtt: Some(RTT), growth: 1, acknowledged, next });
        }
        now
    }

    #[test]
    fn a_loss_at_100_comes_back_to_100_after_k() {
        let mut cubic = Cubic::without_hystart();
        cubic.smallest_rtt = Some(RTT);
        let mut window = Window::new(100);
        window.ssthresh = cubic.on_congestion(&window);
        assert_eq!(window.ssthresh, 70);
        window.cwnd = 70;
        let start = Time::from_millis(10_000);
        let reached = grow_to(&mut cubic, &mut window, start, 99);
        let epoch = cubic.epoch.as_ref().expect("growing");
        let k = epoch.k as f64 / 1024.0;
        assert!((k / 4.2159 - 1.0).abs() < 0.001, "K = cbrt(30 / 0.4004) = 4.216 s, not {k}");
        // The plateau itself is approached asymptotically; one segment below it is 1.36 s earlier.
        let expected = 4.216 - 0.1 - (1.0f64 / 0.4004).cbrt();
        let took = (reached - start).as_secs_f64();
        assert!((took - expected).abs() < 0.45, "{took} s, expected about {expected} s");
    }

    #[test]
    fn the_target_follows_the_cubic_function() {
        let epoch = Epoch::begin(Time::ZERO, 70, 1, Some(100));
        let at = |ms| epoch.target(Time::from_millis(ms), Duration::ZERO);
        assert_eq!(at(4217), 100);
        assert_eq!(at(4217 + 2000), 103, "0.4004 * 2^3");
        assert_eq!(at(4217 - 2000), 97);
        assert_eq!(epoch.target(Time::from_millis(4117), RTT), 100, "looks one round trip ahead");
    }

    #[test]
    fn fast_convergence_and_the_floor() {
        let mut cubic = Cubic::without_hystart();
        assert_eq!(cubic.on_congestion(&Window::new(100)), 70);
        assert_eq!(cubic.on_congestion(&Window::new(80)), 56);
        assert_eq!(cubic.last_max, Some(68));
        assert_eq!(cubic.on_congestion(&Window::new(10)), 7);
        assert_eq!(cubic.on_congestion(&Window::new(1)), 2);
    }

    #[test]
    fn never_faster_than_half_a_window_a_round_trip() {
        let mut cubic = Cubic::without_hystart();
        let mut window = Window::new(10);
        window.ssthresh = 10;
        cubic.on_resume(Time::ZERO, Duration::ZERO);
        for round in 1..4u64 {
            let before = window.cwnd;
            for n in 0..u64::from(before) {
                let now = Time::from_millis(round * 1000) + Duration::from_micros(n);
                let ack = Ack { now, rtt: None, growth: 1, acknowledged: n, next: n };
                cubic.on_ack(&mut window, &ack);
            }
            assert!(window.cwnd <= before + before / 2 + 1, "{before} -> {}", window.cwnd);
        }
    }

    #[test]
    fn idleness_shifts_the_epoch() {
        let mut cubic = Cubic::without_hystart();
        cubic.epoch = Some(Epoch::begin(Time::from_millis(1000), 70, 1, Some(100)));
        cubic.on_resume(Time::from_millis(9000), Duration::from_millis(7000));
        assert_eq!(cubic.epoch.as_ref().map(|e| e.began), Some(Time::from_millis(8000)));
        cubic.on_resume(Time::from_millis(9000), Duration::from_millis(7000));
        assert_eq!(cubic.epoch.map(|e| e.began), Some(Time::from_millis(9000)));
    }

    #[test]
    fn a_timeout_forgets_everything() {
        let mut cubic = Cubic::with_hystart();
        cubic.on_congestion(&Window::new(100));
        cubic.smallest_rtt = Some(RTT);
        cubic.on_timeout(Time::ZERO, 0);
        assert_eq!((cubic.last_max, cubic.smallest_rtt), (None, None));
        assert!(cubic.hystart.is_some());
    }

    #[test]
    fn hystart_sets_the_threshold_to_the_window() {
        let mut cubic = Cubic::with_hystart();
        let mut window = Window::new(20);
        for n in 0..9 {
            let now = Time::from_millis(1000 + 3 * n);
            let rtt = if n == 0 { RTT } else { RTT * 2 };
            let next = 1000;
            // The first sample sets the base and opens a round; the risen ones fall into the next.
            let acknowledged = if n == 0 { 1 } else { 2000 };
            cubic.on_ack(
                &mut window,
                &Ack { now, rtt: Some(rtt), growth: 1, acknowledged, next: next * (1 + n) },
            );
        }
        assert!(window.in_slow_start());
        for n in 9..12 {
            let now = Time::from_millis(1000 + 3 * n);
            cubic.on_ack(
                &mut window,
                &Ack { now, rtt: Some(RTT * 2), growth: 1, acknowledged: 2000, next: 9000 },
            );
        }
        assert!(!window.in_slow_start());
    }
}
