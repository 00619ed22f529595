//! Token-bucket policers: long-term bandwidth from intervals that end in losses.
//!
//! A policer lets bursts through at line rate and then drops traffic above its rate. Two consecutive intervals with
//! consistent throughput and a fifth of the segments lost reveal one; then their mean is the bandwidth
//! for the next 48 rounds. Source: Linux 6.18 `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`.

use units::Time;

use super::bandwidth::{Bandwidth, Gain};

/// The shortest interval, in rounds (`bbr_lt_intvl_min_rtts`); the longest has four times as many.
const LEAST_ROUNDS: u32 = 4;
/// The share of lost segments that makes an interval lossy, of 256 (`bbr_lt_loss_thresh`: 20 %).
const LOSSY: u64 = 50;
/// Bandwidths this close to each other are consistent (`bbr_lt_bw_ratio`), or this close in bytes per second
/// (`bbr_lt_bw_diff`: 4 kbit/s).
const NEAR: Gain = Gain::ratio(1, 8);
const NEAR_BYTES: u64 = 4000 / 8;
/// Rounds for which the result is trusted (`bbr_lt_bw_max_rtts`).
const TRUSTED_ROUNDS: u32 = 48;
/// The longest interval, in milliseconds, that fits the kernel's microseconds.
const LONGEST_MS: u64 = u32::MAX as u64 / 1000;

/// Delivery and loss so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) delivered: u64,
    pub(super) at: Time,
    pub(super) lost: u64,
}

/// Input of the detector at each acknowledgement or timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) totals: Totals,
    /// Something was found lost.
    pub(super) losing: bool,
    pub(super) is_app_limited: bool,
    pub(super) round_started: bool,
    /// BBR cycles its gain.
    pub(super) cycling: bool,
    pub(super) segment_bytes: u32,
}

/// Change of the detector's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicerChange {
    Nothing,
    /// A policer was found.
    Policed,
    /// Its bandwidth was used for long enough: probe again.
    Expired,
}

/// The detector.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// Bandwidth of the last lossy interval (`lt_bw`).
    bandwidth: Option<Bandwidth>,
    in_use: bool,
    sampling: bool,
    rounds: u32,
    began: Totals,
}

impl Policer {
    /// The policer's bandwidth, while it is in use.
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.bandwidth.filter(|_| self.in_use)
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self, totals: Totals) {
        *self = Policer { began: totals, ..Policer::default() };
    }

    fn begin_interval(&mut self, totals: Totals) {
        self.began = totals;
        self.rounds = 0;
    }

    pub(super) fn observe(&mut self, seen: &Observation) -> PolicerChange {
        if self.in_use {
            return self.count_down(seen);
        }
        if !self.sampling {
            // The first loss shows that the bucket is empty; the rate before it is too high.
            if !seen.losing {
                return PolicerChange::Nothing;
            }
            self.begin_interval(seen.totals);
            self.sampling = true;
        }
        if seen.is_app_limited {
            self.reset(seen.totals);
            return PolicerChange::Nothing;
        }
        self.rounds += u32::from(seen.round_started);
        if self.rounds < LEAST_ROUNDS {
            return PolicerChange::Nothing;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(seen.totals);
            return PolicerChange::Nothing;
        }
        if !seen.losing {
            return PolicerChange::Nothing;
        }
        match self.measure(seen.totals) {
            Some(bandwidth) => self.end_interval(bandwidth, seen),
            None => PolicerChange::Nothing,
        }
    }

    fn count_down(&mut self, seen: &Observation) -> PolicerChange {
        if !(seen.cycling && seen.round_started) {
            return PolicerChange::Nothing;
        }
        self.rounds += 1;
        if self.rounds < TRUSTED_ROUNDS {
            return PolicerChange::Nothing;
        }
        self.reset(seen.totals);
        PolicerChange::Expired
    }

    /// The bandwidth of a lossy interval.
    fn measure(&mut self, totals: Totals) -> Option<Bandwidth> {
        let lost = totals.lost - self.began.lost;
        let delivered = totals.delivered - self.began.delivered;
        if delivered == 0 || lost << 8 < LOSSY * delivered {
            return None;
        }
        let millis =
            (totals.at.as_nanos() / 1_000_000).saturating_sub(self.began.at.as_nanos() / 1_000_000);
        if millis == 0 {
            return None;
        }
        if millis >= LONGEST_MS {
            self.reset(totals);
            return None;
        }
        Some(Bandwidth::of(delivered, 1000 * millis))
    }

    fn end_interval(&mut self, bandwidth: Bandwidth, seen: &Observation) -> PolicerChange {
        if let Some(before) = self.bandwidth {
            let difference = bandwidth.difference(before);
            if difference.is_within(NEAR, before)
                || difference.bytes_per_sec(seen.segment_bytes, Gain::UNIT) <= NEAR_BYTES
            {
                self.bandwidth = Some(bandwidth.mean(before));
                self.in_use = true;
                self.rounds = 0;
                return PolicerChange::Policed;
            }
        }
        self.bandwidth = Some(bandwidth);
        self.begin_interval(seen.totals);
        PolicerChange::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds rounds of 100 ms with 100 segments delivered and `lost` lost, until something changes.
    fn rounds_until_change(policer: &mut Policer, lost: u64) -> (u64, PolicerChange) {
        let mut totals = policer.began;
        for round in 1..100 {
            totals.delivered += 100;
            totals.lost += lost;
            totals.at += std::time::Duration::from_millis(100);
            let change = policer.observe(&Observation {
                totals,
                losing: lost > 0,
                is_app_limited: false,
                round_started: true,
                cycling: true,
                segment_bytes: 1448,
            });
            if change != PolicerChange::Nothing {
                return (round, change);
            }
        }
        (100, PolicerChange::Nothing)
    }

    #[test]
    fn two_consistent_lossy_intervals_betray_a_policer_for_48_rounds() {
        let mut policer = Policer::default();
        // The first interval counts the round in which it begins.
        assert_eq!(rounds_until_change(&mut policer, 25), (8, PolicerChange::Policed));
        let bandwidth = policer.bandwidth().expect("it is used");
        assert!(bandwidth.difference(Bandwidth::of(1000, 1_000_000)).0 < 20);
        assert_eq!(rounds_until_change(&mut policer, 25), (48, PolicerChange::Expired));
        assert_eq!(policer.bandwidth(), None);
    }

    #[test]
    fn less_than_a_fifth_is_no_policer() {
        assert_eq!(rounds_until_change(&mut Policer::default(), 19), (100, PolicerChange::Nothing));
    }
}
