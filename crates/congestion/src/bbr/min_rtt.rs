//! The smallest round trip of the last ten seconds, and its refresh.
//!
//! Source: Linux 6.18 `bbr_update_min_rtt`.

use std::time::Duration;

use units::Time;

use super::bandwidth::micros;

/// Lifetime of a minimum (`bbr_min_rtt_win_sec`).
const WINDOW: Duration = Duration::from_secs(10);
/// Minimum duration of the small window, besides one round, while the queue drains (`bbr_probe_rtt_mode_ms`).
const DIP: Duration = Duration::from_millis(200);

/// The estimate.
#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    micros: Option<u64>,
    /// Time of its measurement, or of the end of the last dip.
    at: Time,
}

impl MinRtt {
    pub(super) fn new(now: Time, rtt: Option<Duration>) -> MinRtt {
        MinRtt { micros: rtt.map(micros), at: now }
    }

    /// The minimum in microseconds; none before the first sample.
    pub(super) fn micros(&self) -> Option<u64> {
        self.micros
    }

    /// Adds a sample; returns true if the estimate had expired.
    pub(super) fn observe(&mut self, now: Time, rtt: Option<Duration>, delayed: bool) -> bool {
        let expired = now > self.at + WINDOW;
        if let Some(rtt) = rtt.map(micros)
            && (self.micros.is_none_or(|least| rtt < least) || (expired && !delayed))
        {
            self.micros = Some(rtt);
            self.at = now;
        }
        expired
    }

    /// A dip ended: the estimate is valid for another ten seconds.
    pub(super) fn renew(&mut self, now: Time) {
        self.at = now;
    }
}

/// A window cut to a few segments so that the queue drains and the round trip shows (ProbeRTT).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Dip {
    /// Earliest end; none until few enough segments are in flight.
    until: Option<Time>,
    round_done: bool,
}

impl Dip {
    /// Few enough segments are in flight: the time counts from now. Returns false if it already did.
    pub(super) fn reach_bottom(&mut self, now: Time) -> bool {
        let first = self.until.is_none();
        if first {
            self.until = Some(now + DIP);
        }
        first
    }

    pub(super) fn has_reached_bottom(&self) -> bool {
        self.until.is_some()
    }

    /// A round ended since the bottom was reached.
    pub(super) fn on_round(&mut self) {
        self.round_done = true;
    }

    /// True if a whole round has seen the small window.
    pub(super) fn round_is_done(&self) -> bool {
        self.round_done
    }

    /// True if its time is over.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}
