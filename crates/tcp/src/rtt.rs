//! Round-trip samples, their estimate, and the retransmission timeout.
//!
//! Source: Linux 6.18 `tcp_rtt_estimator`, `__tcp_set_rto` (RFC 6298 with two changes: a falling
//! round trip raises the deviation less, and the variance may shrink only once per round trip and never
//! below the minimum timeout; so RTO >= SRTT + 200 ms). Unit: nanoseconds, where the kernel has microseconds.

use std::time::Duration;

use units::Time;

use crate::ack::AckProgress;
use crate::config::{Clock, RttSampling};
use crate::sender::Sender;

/// Lifetime of the smallest round trip (`tcp_min_rtt_wlen`). The kernel keeps the
/// three best of the window; here the next sample takes over.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);
/// Timeout if the handshake gave no sample (`TCP_TIMEOUT_FALLBACK`).
pub(crate) const FALLBACK_RTO: Duration = Duration::from_secs(3);

/// The estimator of one connection.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    /// Eight times the smoothed round trip; zero before the first sample.
    srtt_8: i64,
    /// Four times the mean deviation.
    mdev_4: i64,
    /// The largest `mdev_4` of this round trip.
    mdev_max: i64,
    rttvar: i64,
    /// The round ends when this is acknowledged (`rtt_seq`).
    round_ends: u64,
    min: Option<(Duration, Time)>,
    rto: Duration,
    /// The timeout was doubled since the last sample (`icsk_backoff`).
    backed_off: bool,
    rto_min: Duration,
    rto_max: Duration,
}

impl RttEstimator {
    pub(crate) fn new(initial: Duration, min: Duration, max: Duration) -> RttEstimator {
        RttEstimator {
            srtt_8: 0,
            mdev_4: 0,
            mdev_max: 0,
            rttvar: 0,
            round_ends: 0,
            min: None,
            rto: initial,
            backed_off: false,
            rto_min: min,
            rto_max: max,
        }
    }

    /// Adds a sample and recomputes the timeout, which also ends back-off (RFC 6298 section 5.7).
    pub(crate) fn sample(&mut self, rtt: Duration, acknowledged: u64, next: u64) {
        let floor = nanos(self.rto_min);
        let m = nanos(rtt).max(1);
        if self.srtt_8 == 0 {
            self.srtt_8 = m << 3;
            self.mdev_4 = m << 1;
            self.rttvar = self.mdev_4.max(floor);
            self.mdev_max = self.rttvar;
            self.round_ends = next;
        } else {
            self.update(m);
            if acknowledged > self.round_ends {
                if self.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                }
                self.round_ends = next;
                self.mdev_max = floor;
            }
        }
        self.backed_off = false;
        self.recompute();
    }

    fn recompute(&mut self) {
        self.rto = span((self.srtt_8 >> 3) + self.rttvar).min(self.rto_max);
    }

    fn update(&mut self, m: i64) {
        let error = m - (self.srtt_8 >> 3);
        self.srtt_8 = (self.srtt_8 + error).max(1);
        let mut change = error.abs() - (self.mdev_4 >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.mdev_4 += change;
        if self.mdev_4 > self.mdev_max {
            self.mdev_max = self.mdev_4;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
    }

    /// Records a round trip that may be the smallest (`tcp_update_rtt_min`).
    pub(crate) fn observe_min(&mut self, now: Time, rtt: Duration) {
        let replace = self.min.is_none_or(|(min, at)| rtt <= min || now - at > MIN_RTT_WINDOW);
        if replace {
            self.min = Some((rtt, now));
        }
    }

    /// The handshake ended: without a sample the timeout becomes `fallback` (`tcp_init_metrics`).
    pub(crate) fn finish_handshake(&mut self, fallback: Duration) {
        if self.srtt_8 == 0 {
            self.rto = fallback.min(self.rto_max);
            self.rttvar = nanos(fallback);
            self.mdev_4 = self.rttvar;
            self.mdev_max = self.rttvar;
        }
    }

    /// Eight times the round trip and four times its deviation, if acknowledgements came in time.
    pub(crate) fn saved(&self) -> Option<(Duration, Duration)> {
        (self.srtt_8 > 0 && !self.backed_off).then(|| (span(self.srtt_8), span(self.mdev_4)))
    }

    /// Takes over larger estimates from an earlier connection; ignored if there is no sample yet.
    pub(crate) fn raise(&mut self, rtt_8: Duration, deviation_4: Duration) {
        if self.srtt_8 == 0 || rtt_8.is_zero() {
            return;
        }
        self.srtt_8 = self.srtt_8.max(nanos(rtt_8));
        if nanos(deviation_4) > self.mdev_4 {
            self.mdev_4 = nanos(deviation_4);
            self.rttvar = self.mdev_4.max(nanos(self.rto_min));
            self.mdev_max = self.rttvar;
        }
        self.recompute();
    }

    /// Takes only the first timeout from the round trip of an earlier connection, if that was larger.
    pub(crate) fn seed_timeout(&mut self, rtt: Duration) {
        if nanos(rtt) > self.srtt_8 >> 3 {
            self.rto = (rtt + (2 * rtt).max(self.rto_min)).min(self.rto_max);
        }
    }

    /// Starts anew, with the timeout `rto` until the next sample.
    pub(crate) fn forget(&mut self, rto: Duration) {
        (self.srtt_8, self.backed_off) = (0, false);
        self.rto = rto.min(self.rto_max);
    }

    /// Doubles the timeout after it expired (RFC 6298 section 5.5).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.rto_max);
        self.backed_off = true;
    }

    /// The current timeout, back-off included.
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    pub(crate) fn rto_min(&self) -> Duration {
        self.rto_min
    }

    pub(crate) fn rto_max(&self) -> Duration {
        self.rto_max
    }

    /// The smoothed round trip; none before the first sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        (self.srtt_8 > 0).then(|| span(self.srtt_8 >> 3))
    }

    /// The variance term of the timeout.
    pub(crate) fn rttvar(&self) -> Duration {
        span(self.rttvar)
    }

    /// The smallest recent round trip.
    pub(crate) fn min(&self) -> Option<Duration> {
        self.min.map(|(min, _)| min)
    }
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX >> 4).min(i64::MAX >> 4)
}

fn span(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.max(0) as u64)
}

// Round trip samples of an acknowledgement, and the choice among them.
//
// Linux 6 (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`) times data sent only once, and takes the echoed timestamp
// if there is none. Linux 3 (`tcp_ack_saw_tstamp`, `tcp_ack_no_tstamp`) takes the echo of every acknowledgement that
// advances; without timestamps it times data sent only once, from its transmission to its cumulative acknowledgement
// even if it had been SACKed long before.

/// Transmission times of the first and the last of some segments.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RttSamples(Option<(Time, Time)>);

impl RttSamples {
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
    pub(crate) acked: RttSamples,
    /// Cumulatively acknowledged, sent only once.
    pub(crate) passed: RttSamples,
    /// Newly SACKed, sent only once.
    pub(crate) selected: RttSamples,
    /// Something cumulatively acknowledged had been retransmitted.
    pub(crate) retransmission: bool,
    /// Of these, one that was not the first.
    pub(crate) later_retransmission: bool,
}

impl Sender {
    /// Updates the estimators; returns the sample used.
    pub(crate) fn sample_rtt(&mut self, now: Time, progress: &AckProgress) -> Option<Duration> {
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
        progress: &AckProgress,
    ) -> (Option<Duration>, Option<Duration>) {
        let (covered, clock) = (&progress.covered, self.config.clock);
        let acked = if covered.retransmission { RttSamples::default() } else { covered.acked };
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

    fn time_echo(&self, now: Time, progress: &AckProgress) -> (Option<Duration>, Option<Duration>) {
        let (covered, clock) = (&progress.covered, self.config.clock);
        let passed = if covered.retransmission { RttSamples::default() } else { covered.passed };
        let sample = match progress.echo.filter(|_| progress.advanced) {
            Some(echo) => Some(clock.span(echo, now)),
            None => passed.first(clock, now),
        };
        (sample, passed.last(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RttEstimator {
        RttEstimator::new(
            Duration::from_secs(1),
            Duration::from_millis(200),
            Duration::from_secs(120),
        )
    }

    #[test]
    fn the_first_sample_gives_three_times_itself_or_200_ms_more() {
        for (sample, rto) in [(100, 300), (150, 450), (620, 1860), (20, 220)] {
            let mut rtt = estimator();
            rtt.sample(Duration::from_millis(sample), 1, 1);
            assert_eq!(rtt.rto(), Duration::from_millis(rto));
        }
    }

    #[test]
    fn constant_samples_bring_the_timeout_to_200_ms_above_them() {
        let mut rtt = estimator();
        for n in 0..2000u64 {
            rtt.sample(Duration::from_millis(150), 10 * n, 10 * n + 5);
        }
        let (rto, limit) = (rtt.rto().as_secs_f64(), 0.350);
        assert!((rto / limit - 1.0).abs() < 0.001, "{rto} s");
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut rtt = estimator();
        for expected in [2, 4, 8, 16, 32, 64, 120, 120] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(expected));
        }
        rtt.sample(Duration::from_millis(100), 1, 1);
        assert_eq!(rtt.rto(), Duration::from_millis(300));
    }

    #[test]
    fn without_a_sample_the_handshake_leaves_three_seconds() {
        let mut rtt = estimator();
        rtt.finish_handshake(FALLBACK_RTO);
        assert_eq!(rtt.rto(), Duration::from_secs(3));
    }

    #[test]
    fn a_falling_round_trip_does_not_raise_the_timeout() {
        let mut rtt = estimator();
        for n in 0..50 {
            rtt.sample(Duration::from_millis(600), 10 * n, 10 * n + 5);
        }
        let before = rtt.rto();
        rtt.sample(Duration::from_millis(100), 1000, 1005);
        assert!(rtt.rto() <= before);
    }
}
