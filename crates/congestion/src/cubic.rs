//! CUBIC (RFC 9438) with the constants and the integer arithmetic of Linux.
//!
//! Source: `net/ipv4/tcp_cubic.c` (`bictcp_update` and its neighbours) of Linux 6.18, 3.10.17 and 3.0.27. C =
//! 410/1024 segments/s^3, beta = 717/1024. Differences between the kernels:
//!
//! | | Linux 3 | Linux 6 |
//! |---|---|---|
//! | growth counts | acknowledgements, corrected by their mean size | delivered segments |
//! | fastest growth | a segment per two acknowledgements | half a window per round trip |
//! | idle time | counts: the window leaps after it | shifts the curve |
//! | undo | 3.0: to the last maximum, which a timeout forgets; 3.10: to the window before | as 3.10 |
//! | clock | jiffies; round trips in 1/8 ms | jiffies; round trips in microseconds |
//!
//! Left out: the kernel's approximation of the cube root (0.2 % off; `libm`'s is used), and the wrapping of 64
//! bits after 6 minutes without a loss or, in Linux 3, of idleness.

mod growth;

use std::time::Duration;

use units::Time;

use crate::hystart::Hystart;
use crate::{
    Ack, CarefulResume, Controller, ControllerSettings, Era, RecoveryPhase, Timeout, Window,
};
use growth::{AckRatio, Epoch};

/// Multiplicative decrease: beta * 1024.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// Time after the beginning of a recovery for which delays still show the old queue.
const DELAY_HOLDOFF: Duration = Duration::from_secs(1);

/// The last update of the curve.
#[derive(Debug, Clone, Copy)]
struct Update {
    cwnd: u32,
    at: Time,
}

/// The CUBIC controller.
#[derive(Debug, Clone)]
pub struct Cubic {
    settings: ControllerSettings,
    /// Minimum time between updates while the window does not change (`HZ / 32`).
    throttle: Duration,
    epoch: Option<Epoch>,
    /// The window at the last reduction; none before the first (`last_max_cwnd`).
    last_max: Option<u32>,
    /// The window before the last reduction, which a timeout does not clear (`loss_cwnd`).
    before_loss: u32,
    /// Deliveries, or acknowledgements, needed for the next segment of growth (`cnt`).
    per_increase: u64,
    updated: Option<Update>,
    smallest_rtt: Option<Duration>,
    ack_ratio: AckRatio,
    hystart: Option<Hystart>,
}

impl Cubic {
    /// CUBIC as shipped by Linux.
    pub(crate) fn with_hystart(settings: &ControllerSettings) -> Cubic {
        Cubic { hystart: Some(Hystart::new(settings)), ..Cubic::without_hystart(settings) }
    }

    /// CUBIC with slow start until the first loss.
    pub(crate) fn without_hystart(settings: &ControllerSettings) -> Cubic {
        Cubic {
            settings: *settings,
            throttle: throttle(settings.tick),
            epoch: None,
            last_max: None,
            before_loss: 0,
            per_increase: 0,
            updated: None,
            smallest_rtt: None,
            ack_ratio: AckRatio::new(),
            hystart: None,
        }
    }

    fn era(&self) -> Era {
        self.settings.era
    }

    /// The time in the kernel's arithmetic: the jiffy that it falls into (`tcp_jiffies32`).
    fn stamp(&self, now: Time) -> Time {
        Time::from_nanos(now.as_nanos() - now.as_nanos() % nanos(self.settings.tick))
    }

    /// Lookahead of the cubic function: one smallest round trip, in whole jiffies (`usecs_to_jiffies`, before
    /// Linux 5 `msecs_to_jiffies`).
    fn look_ahead(&self) -> Duration {
        let rtt = self.smallest_rtt.unwrap_or_default();
        let rtt = match self.era() {
            Era::Linux6 => rtt,
            _ => Duration::from_millis(rtt.as_millis() as u64),
        };
        Duration::from_nanos((rtt.as_nanos() as u64).next_multiple_of(nanos(self.settings.tick)))
    }

    /// `bictcp_acked`: tracks the smallest delay and asks HyStart whether slow start is over.
    fn observe_delay(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let now = self.stamp(ack.now);
        if self.epoch.as_ref().is_some_and(|epoch| now - epoch.began < DELAY_HOLDOFF) {
            return;
        }
        let rtt = match self.era() {
            Era::Linux6 => rtt.max(Duration::from_micros(1)),
            _ => Hystart::in_eighths(rtt),
        };
        let base = self.smallest_rtt.map_or(rtt, |base| base.min(rtt));
        self.smallest_rtt = Some(base);
        let slow = self.in_slow_start(window);
        let Some(hystart) = &mut self.hystart else { return };
        if slow && hystart.sample(ack, rtt, base, window.cwnd) {
            window.ssthresh = window.cwnd;
        }
    }

    fn in_slow_start(&self, window: &Window) -> bool {
        match self.era() {
            Era::Linux6 => window.in_slow_start(),
            _ => window.is_up_to_threshold(),
        }
    }

    /// `bictcp_update`: deliveries needed for one more segment of growth.
    fn update(&mut self, now: Time, cwnd: u32, acked: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += u64::from(acked);
        }
        let stamp = self.stamp(now);
        if let Some(last) = self.updated
            && (self.epoch.is_some() || self.era() != Era::Linux6)
        {
            if last.cwnd == cwnd && stamp - last.at <= self.throttle {
                return;
            }
            if self.era() == Era::Linux6 && last.at == stamp {
                self.bound_increase(cwnd);
                return;
            }
        }
        self.updated = Some(Update { cwnd, at: stamp });
        let (last_max, look_ahead) = (self.last_max, self.look_ahead());
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(stamp, cwnd, acked, last_max));
        let target = epoch.target(stamp, look_ahead);
        let cwnd_wide = u64::from(cwnd);
        self.per_increase = match target.checked_sub(cwnd_wide) {
            Some(gap) if gap > 0 => cwnd_wide / gap,
            _ => 100 * cwnd_wide,
        };
        if last_max.is_none() {
            // Before the first loss nothing is known: at least 5 % per round trip.
            self.per_increase = self.per_increase.min(20);
        }
        self.bound_increase(cwnd);
    }

    /// Never slower than Reno; and never faster than half a window per round trip or, in
    /// Linux 3, than a segment per two acknowledgements.
    fn bound_increase(&mut self, cwnd: u32) {
        if let Some(epoch) = &mut self.epoch
            && let Some(ahead) = epoch.reno_ahead_of(u64::from(cwnd))
        {
            self.per_increase = self.per_increase.min(u64::from(cwnd) / ahead);
        }
        self.per_increase = match self.era() {
            Era::Linux6 => self.per_increase.max(2),
            _ => self.ack_ratio.acknowledgements(self.per_increase),
        };
    }

    /// `bictcp_cong_avoid` of Linux 6: deliveries not used by slow start count towards avoidance.
    fn grow_by_segments(&mut self, window: &mut Window, ack: &Ack) {
        let mut delivered = ack.growth;
        if window.in_slow_start() {
            delivered = window.slow_start(delivered);
        }
        if delivered > 0 {
            self.update(ack.now, window.cwnd, delivered);
            window.increase_additively(self.per(), delivered);
        }
    }

    /// `bictcp_cong_avoid` of Linux 3.
    fn grow_by_acknowledgements(&mut self, window: &mut Window, ack: &Ack) {
        if ack.growth == 0 {
            return;
        }
        if window.is_up_to_threshold() {
            if let Some(hystart) = &mut self.hystart {
                hystart.note_growth(ack);
            }
            window.cwnd += 1;
        } else {
            self.update(ack.now, window.cwnd, 1);
            window.increase_after(self.per());
        }
    }

    fn per(&self) -> u32 {
        u32::try_from(self.per_increase).unwrap_or(u32::MAX)
    }
}

fn nanos(tick: Duration) -> u64 {
    (tick.as_nanos() as u64).max(1)
}

/// `HZ / 32`, in whole ticks.
fn throttle(tick: Duration) -> Duration {
    let tick = nanos(tick);
    Duration::from_nanos(1_000_000_000 / tick / 32 * tick)
}

impl Controller for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked > 0 && ack.phase == RecoveryPhase::Open && self.era() != Era::Linux6 {
            self.ack_ratio.observe(ack.acked);
        }
        self.observe_delay(window, ack);
        match self.era() {
            Era::Linux6 => self.grow_by_segments(window, ack),
            _ => self.grow_by_acknowledgements(window, ack),
        }
    }

    fn on_congestion(&mut self, window: &Window) -> u32 {
        self.epoch = None;
        self.before_loss = window.cwnd;
        let cwnd = u64::from(window.cwnd);
        let falling = self.last_max.is_some_and(|last| window.cwnd < last);
        // Fast convergence (RFC 9438 section 4.7): a flow that shrinks leaves room for a new one.
        let last_max = if falling { cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { cwnd };
        self.last_max = Some(last_max as u32);
        ((cwnd * BETA / BETA_SCALE) as u32).max(2)
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        let hystart = self.hystart.take().map(|mut hystart| {
            hystart.reset(timeout.now, timeout.next);
            hystart
        });
        let before_loss = self.before_loss;
        *self = Cubic { hystart, before_loss, ..Cubic::without_hystart(&self.settings) };
    }

    fn on_resume(&mut self, _window: &mut Window, resume: &CarefulResume) {
        // Idle time is no time for probing the network.
        let now = self.stamp(resume.now);
        let idle = now - self.stamp(resume.now - resume.idle);
        if let Some(epoch) = &mut self.epoch
            && self.settings.era == Era::Linux6
        {
            epoch.began = (epoch.began + idle).min(now);
        }
    }

    fn undo(&mut self, window: &Window, prior_cwnd: u32) -> u32 {
        let before = match self.era() {
            Era::Linux3_0 => self.last_max.unwrap_or(0),
            Era::Linux3_10 => self.before_loss,
            Era::Linux6 => prior_cwnd,
        };
        window.cwnd.max(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn linux6() -> Cubic {
        Cubic::without_hystart(&ControllerSettings::default())
    }

    fn resume(now_ms: u64, idle_ms: u64) -> CarefulResume {
        let (now, idle) = (Time::from_millis(now_ms), Duration::from_millis(idle_ms));
        CarefulResume { now, idle, app_limited: true }
    }

    /// Acknowledges whole windows, a segment at a time, evenly over each round trip; returns the time at which the
    /// window first reached `goal`.
    fn grow_to(cubic: &mut Cubic, window: &mut Window, mut now: Time, goal: u32) -> Time {
        let (mut acknowledged, end) = (0, now + Duration::from_secs(60));
        while window.cwnd < goal && now < end {
            now += RTT / window.cwnd;
            acknowledged += 1;
            let next = acknowledged + u64::from(window.cwnd);
            cubic.on_ack(window, &Ack { rtt: Some(RTT), acknowledged, next, ..Ack::at(now) });
        }
        now
    }

    #[test]
    fn a_loss_at_100_comes_back_to_100_after_k() {
        let mut cubic = linux6();
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
    fn fast_convergence_and_the_floor() {
        let mut cubic = linux6();
        assert_eq!(cubic.on_congestion(&Window::new(100)), 70);
        assert_eq!(cubic.on_congestion(&Window::new(80)), 56);
        assert_eq!(cubic.last_max, Some(68));
        assert_eq!(cubic.on_congestion(&Window::new(10)), 7);
        assert_eq!(cubic.on_congestion(&Window::new(1)), 2);
    }

    #[test]
    fn never_faster_than_half_a_window_a_round_trip() {
        let mut cubic = linux6();
        let mut window = Window::new(10);
        window.ssthresh = 10;
        cubic.on_resume(&mut window, &resume(0, 0));
        for round in 1..4u64 {
            let before = window.cwnd;
            for n in 0..u64::from(before) {
                let now = Time::from_millis(round * 1000) + Duration::from_micros(n);
                let ack = Ack { acknowledged: n, next: n, ..Ack::at(now) };
                cubic.on_ack(&mut window, &ack);
            }
            assert!(window.cwnd <= before + before / 2 + 1, "{before} -> {}", window.cwnd);
        }
    }

    #[test]
    fn idleness_shifts_the_epoch() {
        let mut cubic = linux6();
        cubic.epoch = Some(Epoch::begin(Time::from_millis(1000), 70, 1, Some(100)));
        cubic.on_resume(&mut Window::new(70), &resume(9000, 7000));
        assert_eq!(cubic.epoch.as_ref().map(|e| e.began), Some(Time::from_millis(8000)));
        cubic.on_resume(&mut Window::new(70), &resume(9000, 7000));
        assert_eq!(cubic.epoch.map(|e| e.began), Some(Time::from_millis(9000)));
    }

    #[test]
    fn a_timeout_forgets_everything() {
        let mut cubic = Cubic::with_hystart(&ControllerSettings::default());
        cubic.on_congestion(&Window::new(100));
        cubic.smallest_rtt = Some(RTT);
        cubic.on_timeout(&Timeout { now: Time::ZERO, next: 0, lost: 1 });
        assert_eq!((cubic.last_max, cubic.smallest_rtt), (None, None));
        assert!(cubic.hystart.is_some());
    }

    #[test]
    fn hystart_sets_the_threshold_to_the_window() {
        let mut cubic = Cubic::with_hystart(&ControllerSettings::default());
        let mut window = Window::new(20);
        for n in 0..9 {
            let now = Time::from_millis(1000 + 3 * n);
            let rtt = if n == 0 { RTT } else { RTT * 2 };
            let next = 1000;
            // The first sample sets the base and opens a round; the increased ones fall into the next.
            let acknowledged = if n == 0 { 1 } else { 2000 };
            cubic.on_ack(
                &mut window,
                &Ack { rtt: Some(rtt), acknowledged, next: next * (1 + n), ..Ack::at(now) },
            );
        }
        assert!(window.in_slow_start());
        for n in 9..12 {
            let now = Time::from_millis(1000 + 3 * n);
            cubic.on_ack(
                &mut window,
                &Ack { rtt: Some(RTT * 2), acknowledged: 2000, next: 9000, ..Ack::at(now) },
            );
        }
        assert!(!window.in_slow_start());
    }

    fn of(era: Era) -> Cubic {
        let settings = ControllerSettings { era, tick: Duration::from_millis(4), paced: false };
        Cubic::without_hystart(&settings)
    }

    #[test]
    fn undo_after_a_timeout_returns_to_what_each_kernel_remembers() {
        let undone = |era, windows: &[u32], timeout| {
            let mut cubic = of(era);
            for cwnd in windows {
                cubic.on_congestion(&Window::new(*cwnd));
            }
            if timeout {
                cubic.on_timeout(&Timeout { now: Time::ZERO, next: 0, lost: 1 });
            }
            cubic.undo(&Window::new(7), *windows.last().expect("a window"))
        };
        let eras = [Era::Linux3_0, Era::Linux3_10, Era::Linux6];
        assert_eq!(eras.map(|era| undone(era, &[100], false)), [100, 100, 100]);
        // Fast convergence lowers the last maximum to 68, which Linux 3.0 takes for the window.
        assert_eq!(eras.map(|era| undone(era, &[100, 80], false)), [68, 80, 80]);
        assert_eq!(eras.map(|era| undone(era, &[100], true)), [7, 100, 100]);
    }

    /// Idle time lets the curve of Linux 3 run away: the window then grows by one on every second
    /// acknowledgement, which is the time to count to one there.
    #[test]
    fn only_linux_6_leaves_idle_time_out() {
        for (era, grown) in [(Era::Linux3_10, 11), (Era::Linux6, 0)] {
            let mut cubic = of(era);
            let mut window = Window::new(100);
            window.ssthresh = cubic.on_congestion(&window);
            window.cwnd = 71;
            cubic.on_ack(&mut window, &Ack::at(Time::from_millis(1000)));
            cubic.on_resume(&mut window, &resume(31_000, 30_000));
            for n in 0..21 {
                cubic.on_ack(&mut window, &Ack::at(Time::from_millis(31_000 + n)));
            }
            assert_eq!(window.cwnd - 71, grown, "{era:?}");
        }
    }

    /// With a tick of 4 ms nothing is recomputed for `HZ / 32` = 7 ticks.
    #[test]
    fn linux_3_recomputes_every_eighth_tick_at_most() {
        let mut cubic = of(Era::Linux3_0);
        assert_eq!(cubic.throttle, Duration::from_millis(28));
        let mut recomputed = Vec::new();
        for ms in 1000..1100 {
            cubic.update(Time::from_millis(ms), 100, 1);
            let Update { at, .. } = cubic.updated.expect("updated");
            if recomputed.last() != Some(&at) {
                recomputed.push(at);
            }
        }
        assert_eq!(recomputed, [1000, 1032, 1064, 1096].map(Time::from_millis));
        assert_eq!(linux6().throttle, Duration::from_millis(31));
    }
}
