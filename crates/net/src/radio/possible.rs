//! Consistency checks of radios: timers that contradict each other, or that would block packets for ever, are
//! refused.

use std::time::Duration;

use thiserror::Error;

use super::{Dama, Drx, Harq, Leo, Lte, Technology, Umts, Wifi};

/// Reasons why a radio is impossible, by its settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RadioError {
    /// A timer that must not be zero.
    #[error("{setting} must be longer than 0")]
    Zero {
        /// The setting.
        setting: &'static str,
    },
    /// A timer that exceeds its limit.
    #[error("{setting} ({is:?}) is longer than {other} ({most:?})")]
    Longer {
        /// The setting,
        setting: &'static str,
        /// and its value.
        is: Duration,
        /// The setting, or other quantity, that sets the limit,
        other: &'static str,
        /// and its value.
        most: Duration,
    },
    /// A count that exceeds its limit.
    #[error("{setting} ({is}) is more than {most}")]
    More {
        /// The setting,
        setting: &'static str,
        /// its value,
        is: u32,
        /// and its limit.
        most: u32,
    },
}

impl RadioError {
    /// Returns true if the setting `name` is part of the contradiction.
    pub(crate) fn concerns(&self, name: &str) -> bool {
        match self {
            RadioError::Zero { setting } | RadioError::More { setting, .. } => *setting == name,
            RadioError::Longer { setting, other, .. } => *setting == name || *other == name,
        }
    }
}

impl Technology {
    /// Looks for contradictions.
    pub(super) fn check(&self) -> Result<(), RadioError> {
        match self {
            Technology::Umts(umts) => check_umts(umts),
            Technology::Lte(lte) => check_lte(lte),
            Technology::Wifi(wifi) => check_wifi(wifi),
            Technology::Dama(dama) => check_dama(dama),
            Technology::Leo(leo) => check_leo(leo),
        }
    }
}

/// A channel that is released at once carries nothing.
fn check_umts(umts: &Umts) -> Result<(), RadioError> {
    runs("dch_inactivity", umts.dch_inactivity)?;
    runs("fach_inactivity", umts.fach_inactivity)
}

fn check_lte(lte: &Lte) -> Result<(), RadioError> {
    runs("continuous", lte.continuous)?;
    check_drx(lte.short, "short_drx_cycle", "short_drx_on")?;
    check_drx(lte.long, "long_drx_cycle", "long_drx_on")?;
    check_harq(lte.harq)
}

/// A receiver that is never on cannot be reached.
fn check_drx(drx: Drx, cycle: &'static str, on: &'static str) -> Result<(), RadioError> {
    runs(cycle, drx.cycle)?;
    runs(on, drx.on)?;
    at_most((on, drx.on), (cycle, drx.cycle))
}

/// Limits of TS 36.331 section 6.3.2 (maxHARQ-Tx, t-Reordering), and a round longer than zero.
fn check_harq(harq: Harq) -> Result<(), RadioError> {
    const MOST: u32 = 28;
    if harq.most > MOST {
        return Err(RadioError::More { setting: "harq_most", is: harq.most, most: MOST });
    }
    let ms = Duration::from_millis;
    at_most(("harq_round", harq.round), ("a round can be", ms(100)))?;
    at_most(("rlc_reordering", harq.reordering), ("t-Reordering can be", ms(1600)))
}

fn check_wifi(wifi: &Wifi) -> Result<(), RadioError> {
    runs("inactivity", wifi.inactivity)?;
    runs("beacon", wifi.beacon)
}

/// Capacity that is released before a frame begins carries nothing.
fn check_dama(dama: &Dama) -> Result<(), RadioError> {
    runs("frame", dama.frame)?;
    at_most(("frame", dama.frame), ("hold", dama.hold))
}

fn check_leo(leo: &Leo) -> Result<(), RadioError> {
    runs("slot", leo.slot)?;
    at_most(("extra_rtt", leo.extra_rtt), ("extra_rtt_most", leo.extra_rtt_most))?;
    at_most(("outage_least", leo.outage_least), ("outage_most", leo.outage_most))?;
    at_most(("outage_most", leo.outage_most), ("slot", leo.slot))
}

fn runs(setting: &'static str, span: Duration) -> Result<(), RadioError> {
    if span.is_zero() { Err(RadioError::Zero { setting }) } else { Ok(()) }
}

fn at_most(
    (setting, is): (&'static str, Duration),
    (other, most): (&'static str, Duration),
) -> Result<(), RadioError> {
    if is <= most { Ok(()) } else { Err(RadioError::Longer { setting, is, other, most }) }
}

#[cfg(test)]
mod tests {
    use crate::Network;

    /// Error message for `3g,radio=...` with one change.
    fn said(radio: &str, change: &str) -> String {
        let text = format!("3g,radio={radio},radio.{change}");
        Network::parse(&text).expect_err(&text).to_string()
    }

    /// Timers that must run: each error names the setting and the reason.
    #[test]
    fn timers_that_must_run_are_refused_at_nothing() {
        for (radio, settings) in [
            ("umts", &["dch_inactivity", "fach_inactivity"][..]),
            (
                "lte",
                &["continuous", "short_drx_cycle", "long_drx_cycle", "short_drx_on", "long_drx_on"],
            ),
            ("wifi", &["inactivity", "beacon"]),
            ("dama", &["frame"]),
            ("leo", &["slot"]),
        ] {
            for setting in settings {
                let expected = format!("network: radio.{setting}: {setting} must be longer than 0");
                assert_eq!(said(radio, &format!("{setting}=0ms")), expected);
            }
        }
    }

    #[test]
    fn timers_that_contradict_each_other_are_refused_by_name() {
        assert_eq!(
            said("lte", "short_drx_on=50ms"),
            "network: radio.short_drx_on: short_drx_on (50ms) is longer than short_drx_cycle (20ms)"
        );
        assert_eq!(
            said("lte", "long_drx_cycle=500us"),
            "network: radio.long_drx_cycle: long_drx_on (1ms) is longer than long_drx_cycle (500µs)"
        );
        assert!(said("dama", "hold=10ms").contains("frame (45ms) is longer than hold (10ms)"));
        assert!(said("leo", "outage_least=1s").contains("longer than outage_most (150ms)"));
        assert!(said("leo", "outage_most=20s").contains("longer than slot (15s)"));
        assert!(said("leo", "extra_rtt=40ms").contains("longer than extra_rtt_most (38ms)"));
        assert!(said("lte", "harq_most=29").contains("harq_most (29) is more than 28"));
        assert!(said("lte", "harq_round=1s").contains("than a round can be (100ms)"));
        assert!(said("lte", "rlc_reordering=2s").contains("than t-Reordering can be (1.6s)"));
        // Both together are consistent.
        let both = "3g,radio=lte,radio.short_drx_on=50ms,radio.short_drx_cycle=80ms";
        assert!(Network::parse(both).is_ok());
    }
}
