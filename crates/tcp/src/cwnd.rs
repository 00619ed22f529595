//! The congestion window together with the sender's use of it, and the effects of idleness.
//!
//! A window that is not filled proves nothing about the network, so it neither grows nor lasts (RFC 2861,
//! RFC 7661). Source: Linux 6.18 `tcp_cwnd_validate`, `tcp_is_cwnd_limited`, `tcp_cwnd_restart`.

use std::time::Duration;

use chance::RandomStream;
use congestion::{Controller, ControllerSettings, Window};
use units::Time;

use crate::config::IdleRestart;
use crate::sender::Sender;
use crate::{Config, Pacing};

/// The tick of a machine with exact timers (`CONFIG_HZ=1000`).
const JIFFY: Duration = Duration::from_millis(1);

/// Offload may hold back this fraction of the window (`tcp_tso_win_divisor`).
const OFFLOAD_DIVISOR: u32 = 3;
/// The largest burst of offload (`sk_gso_max_size`).
const OFFLOAD_BYTES: u32 = 65_536;

/// The window, its controller and its use.
#[derive(Debug)]
pub(crate) struct CongestionWindow {
    pub(crate) window: Window,
    pub(crate) controller: Box<dyn Controller>,
    initial: u32,
    /// The controller sets the window by itself ([`Controller::is_rate_based`]).
    rate_based: bool,
    /// The window was full at some time in this round (`is_cwnd_limited`).
    filled: bool,
    /// Maximum outstanding in this round, if the window was not full (`max_packets_out`).
    most_sent: u32,
    /// The round ends when this is acknowledged (`cwnd_usage_seq`).
    round_ends: u64,
    /// Maximum outstanding since `stamp` (`snd_cwnd_used`).
    used: u32,
    /// Time at which the window was last full or grew (`snd_cwnd_stamp`).
    stamp: Time,
}

impl CongestionWindow {
    /// A new window; `chance` is the controller's source of random numbers.
    pub(crate) fn new(config: &Config, chance: RandomStream, now: Time) -> CongestionWindow {
        let settings = ControllerSettings {
            era: config.congestion_era,
            tick: config.clock.hz().map_or(JIFFY, |hz| Duration::from_secs(1) / hz),
            paced: config.pacing != Pacing::Off,
        };
        let controller = config.congestion.controller(&settings, chance);
        CongestionWindow {
            window: Window::new(config.initial_window),
            rate_based: controller.is_rate_based(),
            controller,
            initial: config.initial_window,
            filled: false,
            most_sent: 0,
            round_ends: 0,
            used: 0,
            stamp: now,
        }
    }

    pub(crate) fn cwnd(&self) -> u32 {
        self.window.cwnd
    }

    /// True if the controller alone moves the window.
    pub(crate) fn is_rate_based(&self) -> bool {
        self.rate_based
    }

    pub(crate) fn touch(&mut self, now: Time) {
        self.stamp = now;
    }

    /// True if the sender uses enough of the window for it to grow (`tcp_is_cwnd_limited`).
    pub(crate) fn is_limiting(&self) -> bool {
        self.filled || (self.window.in_slow_start() && self.window.cwnd < 2 * self.most_sent)
    }

    /// True if enough was in flight for the window to grow, in Linux 3 (`tcp_is_cwnd_limited`): the share that offload may hold
    /// back for a larger burst does not count as unused.
    pub(crate) fn was_nearly_full(&self, in_flight: u32, mss: u32, reordering: u32) -> bool {
        let Some(left) = self.window.cwnd.checked_sub(in_flight).filter(|left| *left > 0) else {
            return true;
        };
        let deferrable = left.saturating_mul(OFFLOAD_DIVISOR) < self.window.cwnd
            && left.saturating_mul(mss) < OFFLOAD_BYTES;
        deferrable || left <= reordering
    }

    /// Records the segments outstanding at the end of a burst, in Linux 3. Returns true if the window has gone unused for
    /// `patience`.
    pub(crate) fn validate_by_count(&mut self, now: Time, sent: u32, patience: Duration) -> bool {
        if sent >= self.window.cwnd {
            self.used = 0;
            self.stamp = now;
            return false;
        }
        self.used = self.used.max(sent);
        now - self.stamp >= patience
    }

    /// Records the segments outstanding at the end of a burst (`tcp_cwnd_validate`). Returns true if the
    /// window has gone unused for `patience`.
    pub(crate) fn validate(&mut self, now: Time, burst: &Burst, patience: Duration) -> bool {
        let fuller = !self.filled && burst.sent > self.most_sent;
        if burst.acknowledged >= self.round_ends || burst.full || fuller {
            self.filled = burst.full;
            self.most_sent = burst.sent;
            self.round_ends = burst.next;
        }
        if self.is_limiting() {
            self.used = 0;
            self.stamp = now;
            return false;
        }
        self.used = self.used.max(burst.sent);
        now - self.stamp >= patience
    }

    /// Gives up half of the unused window (`tcp_cwnd_application_limited`).
    pub(crate) fn give_up_unused(&mut self, now: Time, allowed: bool) {
        if allowed {
            self.window.approach(self.used.max(self.initial));
            self.used = 0;
        }
        self.stamp = now;
    }

    /// Restarts after idleness (`tcp_cwnd_restart`); `ssthresh` is the threshold to remember.
    pub(crate) fn restart(&mut self, now: Time, idle: Duration, rto: Duration, ssthresh: u32) {
        self.window.ssthresh = ssthresh;
        self.window.decay(idle, rto, self.initial);
        self.stamp = now;
        self.used = 0;
    }
}

/// The state of the sender at the end of a burst.
#[derive(Debug)]
pub(crate) struct Burst {
    /// True if the window was exhausted.
    pub(crate) full: bool,
    /// Segments not cumulatively acknowledged.
    pub(crate) sent: u32,
    pub(crate) acknowledged: u64,
    pub(crate) next: u64,
}

// Effects of idleness on the window and the round trip.
//
// A window that has not been used for a timeout proves nothing (RFC 2861; `tcp_cwnd_restart`). Linux 6 cuts it when the application
// writes again (`tcp_slow_start_after_idle_check`), Linux 3 when the first burst has been handed to the device under the old
// window (`tcp_event_data_sent`): there the first buffer, of up to 64 KB, escapes.

/// Maximum size of one buffer (`sk_gso_max_size`).
const BUFFER_BYTES: u32 = 65_536;

/// A window that is to be cut after the first burst has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingRestart {
    idle: Duration,
    rto: Duration,
    /// Segments that may still leave before the cut.
    left: u32,
}

impl Sender {
    fn decays(&self, when: IdleRestart) -> bool {
        self.config.slow_start_after_idle
            && self.config.idle_restart == when
            && !self.cwnd.is_rate_based()
    }

    /// Time since the last transmission, if nothing is in flight and it is longer than the timeout.
    fn idle_time(&self, now: Time) -> Option<Duration> {
        let idle = now - self.last_sent;
        (self.board.is_empty() && idle > self.rtt.rto()).then_some(idle)
    }

    /// The application writes.
    pub(crate) fn restart_before_write(&mut self, now: Time) {
        if self.decays(IdleRestart::AtWrite)
            && let Some(idle) = self.idle_time(now)
        {
            self.restart_window(now, idle, self.rtt.rto());
        }
    }

    /// New data is about to leave.
    pub(crate) fn note_idleness(&mut self, now: Time) {
        let Some(idle) = self.idle_time(now) else { return };
        if self.decays(IdleRestart::AfterFirstBurst) {
            let left = (BUFFER_BYTES / self.mss).max(1);
            self.restart = Some(PendingRestart { idle, rto: self.rtt.rto(), left });
        }
        if let Some(rto) = self.config.reset_rtt_after_idle {
            self.rtt.forget(rto);
        }
    }

    /// New data has left.
    pub(crate) fn count_before_restart(&mut self, now: Time) {
        if let Some(restart) = &mut self.restart {
            restart.left -= 1;
            if restart.left == 0 {
                self.restart_after_burst(now);
            }
        }
    }

    /// The burst is over, for lack of data or window.
    pub(crate) fn restart_after_burst(&mut self, now: Time) {
        if let Some(restart) = self.restart.take() {
            self.restart_window(now, restart.idle, restart.rto);
        }
    }

    fn restart_window(&mut self, now: Time, idle: Duration, rto: Duration) {
        let ssthresh = self.current_ssthresh();
        self.cwnd.restart(now, idle, rto, ssthresh);
    }
}

#[cfg(test)]
mod tests {
    use congestion::Algorithm;

    use super::*;

    fn reno() -> CongestionWindow {
        let config = Config { congestion: Algorithm::Reno, ..Config::default() };
        CongestionWindow::new(&config, chance::RandomSource::new(0, 0).stream("test"), Time::ZERO)
    }

    fn burst(full: bool, sent: u32, acknowledged: u64) -> Burst {
        Burst { full, sent, acknowledged, next: acknowledged + u64::from(sent) }
    }

    #[test]
    fn slow_start_grows_while_half_of_the_window_is_used() {
        let mut cwnd = reno();
        assert!(!cwnd.is_limiting());
        cwnd.validate(Time::ZERO, &burst(false, 5, 0), Duration::from_secs(1));
        assert!(!cwnd.is_limiting());
        cwnd.validate(Time::ZERO, &burst(false, 6, 0), Duration::from_secs(1));
        assert!(cwnd.is_limiting());
        cwnd.window.ssthresh = 10;
        assert!(!cwnd.is_limiting(), "congestion avoidance wants it filled");
        cwnd.validate(Time::ZERO, &burst(true, 10, 0), Duration::from_secs(1));
        assert!(cwnd.is_limiting());
        cwnd.validate(Time::ZERO, &burst(false, 3, 5), Duration::from_secs(1));
        assert!(cwnd.is_limiting(), "it was full in this round");
        cwnd.validate(Time::ZERO, &burst(false, 3, 10), Duration::from_secs(1));
        assert!(!cwnd.is_limiting());
    }

    #[test]
    fn what_goes_unused_for_a_timeout_is_half_given_up() {
        let mut cwnd = reno();
        (cwnd.window.cwnd, cwnd.window.ssthresh) = (40, 20);
        let patience = Duration::from_millis(300);
        assert!(!cwnd.validate(Time::from_millis(299), &burst(false, 14, 0), patience));
        assert!(cwnd.validate(Time::from_millis(300), &burst(false, 12, 20), patience));
        cwnd.give_up_unused(Time::from_millis(300), true);
        assert_eq!((cwnd.cwnd(), cwnd.window.ssthresh), (27, 30), "half way from 40 to 14");
        assert!(!cwnd.validate(Time::from_millis(301), &burst(false, 12, 40), patience));
    }
}
