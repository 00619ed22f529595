//! Round trip samples of an acknowledgement, and the choice among them.
//!
//! Linux 6 (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`) times data sent only once, and takes the echoed timestamp
//! if there is none. Linux 3 (`tcp_ack_saw_tstamp`, `tcp_ack_no_tstamp`) takes the echo of every acknowledgement that
//! advances; without timestamps it times data sent only once, from its transmission to its cumulative acknowledgement
//! even if it had been SACKed long before.

use std::time::Duration;

use units::Time;

use crate::ack::Progress;
use crate::config::{Clock, RttSampling};
use crate::sender::Sender;

/// Transmission times of the first and the last of some segments.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Samples(Option<(Time, Time)>);

impl Samples {
    pub(crate) fn note(&mut self, at: Time) {
        self.0 = Some((self.0.map_or(at, |(first, _)| first), at));
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.is_none()
    }

    /// The round trip of the first.
    pub(crate) fn first(self, clock: Clock, now: Time) -> Option<Duration> {
        self.0.map(|(first, _)| clock.span(first, now))
    }

    /// The round trip of the last.
    pub(crate) fn last(self, now: Time) -> Option<Duration> {
        self.0.map(|(_, last)| now - last)
    }
}

/// Transmissions covered by an acknowledgement.
#[derive(Debug, Default)]
pub(crate) struct Covered {
    /// Cumulatively acknowledged, sent only once and never SACKed.
    pub(crate) acked: Samples,
    /// Cumulatively acknowledged, sent only once.
    pub(crate) passed: Samples,
    /// Newly SACKed, sent only once.
    pub(crate) selected: Samples,
    /// Something cumulatively acknowledged had been retransmitted.
    pub(crate) retransmission: bool,
    /// Of these, one that was not the first.
    pub(crate) later_retransmission: bool,
}

impl Sender {
    /// Updates the estimators; returns the sample used.
    pub(crate) fn sample_rtt(&mut self, now: Time, progress: &Progress) -> Option<Duration> {
        let (sample, newest) = match self.config.rtt_sampling {
            RttSampling::Transmissions => self.time_transmissions(now, progress),
            RttSampling::Echo => self.time_echo(now, progress),
        };
        self.latest_rtt = newest;
        let sample = sample?;
        if let Some(newest) = newest
            && !(progress.maybe_delayed && self.rtt.min().is_some_and(|min| newest > min))
        {
            self.rtt.observe_min(now, newest);
        }
        self.rtt.sample(sample, self.una, self.nxt);
        Some(sample)
    }

    /// The round trip for the timeout, and that of the newest segment. Retransmitted data gives no sample (Karn), unless
    /// a timestamp identifies the transmission that arrived.
    fn time_transmissions(
        &self,
        now: Time,
        progress: &Progress,
    ) -> (Option<Duration>, Option<Duration>) {
        let (covered, clock) = (&progress.covered, self.config.clock);
        let acked = if covered.retransmission { Samples::default() } else { covered.acked };
        let mut newest = acked.last(now);
        let mut smooth = acked.first(clock, now);
        if let Some(first) = covered.selected.first(clock, now) {
            newest = covered.selected.last(now);
            smooth = smooth.or(Some(first));
        }
        if smooth.is_none() && progress.advanced {
            smooth = progress.echo.map(|echo| clock.span(echo, now));
            newest = smooth;
        }
        (smooth, newest)
    }

    fn time_echo(&self, now: Time, progress: &Progress) -> (Option<Duration>, Option<Duration>) {
        let (covered, clock) = (&progress.covered, self.config.clock);
        let passed = if covered.retransmission { Samples::default() } else { covered.passed };
        let sample = match progress.echo.filter(|_| progress.advanced) {
            Some(echo) => Some(clock.span(echo, now)),
            None => passed.first(clock, now),
        };
        (sample, passed.last(now))
    }
}
