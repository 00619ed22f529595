//! Minimum rate of request bodies.
//!
//! A client that sends a byte now and then is never idle and holds its connection indefinitely ("slowloris"). So a body
//! has a time allowance, to which every byte adds; only time in which the server waits for the client is counted.

use std::time::Duration;

use units::Time;

/// The lowest rate of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The initial allowance of any body.
    pub grace: Duration,
    /// Number of bytes that add a second.
    pub bytes_a_second: u32,
}

impl Pace {
    /// Apache's (`mod_reqtimeout`: `body=20,MinRate=500`).
    pub const APACHE: Pace = Pace { grace: Duration::from_secs(20), bytes_a_second: 500 };

    /// Time allowed for `bytes`.
    fn allowance(self, bytes: u64) -> Duration {
        let earned = bytes / u64::from(self.bytes_a_second.max(1));
        self.grace.saturating_add(Duration::from_secs(earned))
    }
}

/// The allowance of one body.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    waited: Duration,
    since: Option<Time>,
    bytes: u64,
}

impl Patience {
    /// Starts a wait at `now`; returns its longest duration.
    pub(crate) fn wait(&mut self, now: Time, pace: Option<Pace>, idle: Duration) -> Duration {
        self.stop(now);
        self.since = Some(now);
        let left = pace.map(|pace| pace.allowance(self.bytes).saturating_sub(self.waited));
        left.map_or(idle, |left| left.min(idle))
    }

    /// Ends a wait: `bytes` have come.
    pub(crate) fn took(&mut self, now: Time, bytes: usize) {
        self.stop(now);
        self.bytes += bytes as u64;
    }

    fn stop(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.waited += now.since(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_earns_time_by_its_bytes_and_spends_it_waiting() {
        let idle = Duration::from_secs(75);
        let pace = Some(Pace::APACHE);
        let (at, secs) = (Time::from_millis, Duration::from_secs);
        let mut patience = Patience::default();
        assert_eq!(patience.wait(at(0), pace, idle), secs(20));
        patience.took(at(15_000), 1_000);
        // The server was busy in between.
        assert_eq!(patience.wait(at(60_000), pace, idle), secs(7));
        patience.took(at(67_000), 1);
        assert_eq!(patience.wait(at(67_000), pace, idle), Duration::ZERO);
        assert_eq!(patience.wait(at(67_000), None, idle), idle);
        patience.took(at(67_000), 100_000);
        assert_eq!(patience.wait(at(67_000), pace, idle), idle);
    }
}
