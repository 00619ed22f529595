//! A radio's settings by name: their kinds and their parser.

use std::time::Duration;

use units::parse;

use super::{Dama, Leo, Lte, Power, RadioState, Technology, Umts, Wifi};
use crate::error::ValueError;

/// Longest timer of a radio; anything longer is a typing error.
const LONGEST_TIMER: Duration = Duration::from_secs(24 * 3600);

/// Destination of a setting's value.
pub(super) enum FieldTarget<'a> {
    Span(&'a mut Duration),
    Bytes(&'a mut u32),
    Count(&'a mut u32),
    Share(&'a mut f64),
    /// Watts, joules per megabit, coefficients.
    Number(&'a mut f64),
}

/// A setting of a technology: its name and its slot.
type RadioField<T> = (&'static str, fn(&mut T) -> FieldTarget<'_>);

const UMTS: &[RadioField<Umts>] = &[
    ("idle_to_dch", |c| FieldTarget::Span(&mut c.idle_to_dch)),
    ("paging_cycle", |c| FieldTarget::Span(&mut c.paging_cycle)),
    ("fach_to_dch", |c| FieldTarget::Span(&mut c.fach_to_dch)),
    ("dch_inactivity", |c| FieldTarget::Span(&mut c.dch_inactivity)),
    ("fach_inactivity", |c| FieldTarget::Span(&mut c.fach_inactivity)),
    ("dch_activity_bytes", |c| FieldTarget::Bytes(&mut c.dch_activity_bytes)),
    ("dch_activity_window", |c| FieldTarget::Span(&mut c.dch_activity_window)),
    ("fach_up_threshold", |c| FieldTarget::Bytes(&mut c.fach_up.threshold_bytes)),
    ("fach_up_quadratic", |c| FieldTarget::Number(&mut c.fach_up.drain_quadratic)),
    ("fach_up_linear", |c| FieldTarget::Number(&mut c.fach_up.drain_linear)),
    ("fach_up_constant", |c| FieldTarget::Number(&mut c.fach_up.drain_constant)),
    ("fach_down_threshold", |c| FieldTarget::Bytes(&mut c.fach_down.threshold_bytes)),
    ("fach_down_quadratic", |c| FieldTarget::Number(&mut c.fach_down.drain_quadratic)),
    ("fach_down_linear", |c| FieldTarget::Number(&mut c.fach_down.drain_linear)),
    ("fach_down_constant", |c| FieldTarget::Number(&mut c.fach_down.drain_constant)),
];

const LTE: &[RadioField<Lte>] = &[
    ("idle_to_connected", |c| FieldTarget::Span(&mut c.idle_to_connected)),
    ("paging_cycle", |c| FieldTarget::Span(&mut c.paging_cycle)),
    ("continuous", |c| FieldTarget::Span(&mut c.continuous)),
    ("short_drx", |c| FieldTarget::Span(&mut c.short.span)),
    ("short_drx_cycle", |c| FieldTarget::Span(&mut c.short.cycle)),
    ("short_drx_on", |c| FieldTarget::Span(&mut c.short.on)),
    ("long_drx", |c| FieldTarget::Span(&mut c.long.span)),
    ("long_drx_cycle", |c| FieldTarget::Span(&mut c.long.cycle)),
    ("long_drx_on", |c| FieldTarget::Span(&mut c.long.on)),
    ("request_period", |c| FieldTarget::Span(&mut c.request.period)),
    ("request_grant", |c| FieldTarget::Span(&mut c.request.grant)),
    ("harq_failure", |c| FieldTarget::Share(&mut c.harq.failure)),
    ("harq_round", |c| FieldTarget::Span(&mut c.harq.round)),
    ("harq_most", |c| FieldTarget::Count(&mut c.harq.most)),
    ("rlc_reordering", |c| FieldTarget::Span(&mut c.harq.reordering)),
];

const WIFI: &[RadioField<Wifi>] = &[
    ("inactivity", |c| FieldTarget::Span(&mut c.inactivity)),
    ("beacon", |c| FieldTarget::Span(&mut c.beacon)),
    ("listen_interval", |c| FieldTarget::Count(&mut c.listen_interval)),
];

const DAMA: &[RadioField<Dama>] = &[
    ("grant", |c| FieldTarget::Span(&mut c.grant)),
    ("frame", |c| FieldTarget::Span(&mut c.frame)),
    ("hold", |c| FieldTarget::Span(&mut c.hold)),
];

const LEO: &[RadioField<Leo>] = &[
    ("slot", |c| FieldTarget::Span(&mut c.slot)),
    ("extra_rtt", |c| FieldTarget::Span(&mut c.extra_rtt)),
    ("extra_rtt_deviation", |c| FieldTarget::Span(&mut c.extra_rtt_deviation)),
    ("extra_rtt_most", |c| FieldTarget::Span(&mut c.extra_rtt_most)),
    ("outage", |c| FieldTarget::Share(&mut c.outage)),
    ("outage_least", |c| FieldTarget::Span(&mut c.outage_least)),
    ("outage_most", |c| FieldTarget::Span(&mut c.outage_most)),
    ("uplink_wait", |c| FieldTarget::Span(&mut c.uplink_wait)),
];

/// Costs of transfers.
const POWER: &[RadioField<Power>] = &[
    ("joules_per_mbit_up", |p| FieldTarget::Number(&mut p.joules_per_mbit_up)),
    ("joules_per_mbit_down", |p| FieldTarget::Number(&mut p.joules_per_mbit_down)),
];

/// Costs of states.
const WATTS: &[(&str, RadioState)] = &[
    ("idle_watts", RadioState::Idle),
    ("idle_to_dch_watts", RadioState::IdleToDch),
    ("fach_to_dch_watts", RadioState::FachToDch),
    ("fach_watts", RadioState::Fach),
    ("dch_watts", RadioState::Dch),
    ("idle_to_connected_watts", RadioState::IdleToConnected),
    ("continuous_watts", RadioState::Continuous),
    ("short_drx_watts", RadioState::ShortDrx),
    ("long_drx_watts", RadioState::LongDrx),
    ("awake_watts", RadioState::Awake),
    ("doze_watts", RadioState::Doze),
    ("unassigned_watts", RadioState::Unassigned),
    ("requesting_watts", RadioState::Requesting),
    ("assigned_watts", RadioState::Assigned),
];

impl Technology {
    /// Returns true if the technology has this state.
    fn has(&self, state: RadioState) -> bool {
        use RadioState::{
            Continuous, Dch, Fach, FachToDch, Idle, IdleToConnected, IdleToDch, LongDrx, ShortDrx,
        };
        match self {
            Technology::Umts(_) => [Idle, IdleToDch, FachToDch, Fach, Dch].contains(&state),
            Technology::Lte(_) => {
                [Idle, IdleToConnected, Continuous, ShortDrx, LongDrx].contains(&state)
            }
            Technology::Wifi(_) => [RadioState::Awake, RadioState::Doze].contains(&state),
            Technology::Dama(_) => {
                use RadioState::{Assigned, Requesting, Unassigned};
                [Unassigned, Requesting, Assigned].contains(&state)
            }
            Technology::Leo(_) => state == RadioState::Assigned,
        }
    }

    /// Names of all settings.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        fn names<T>(fields: &[RadioField<T>]) -> Vec<&'static str> {
            fields.iter().map(|(name, _)| *name).collect()
        }
        let own = match self {
            Technology::Umts(_) => names(UMTS),
            Technology::Lte(_) => names(LTE),
            Technology::Wifi(_) => names(WIFI),
            Technology::Dama(_) => names(DAMA),
            Technology::Leo(_) => names(LEO),
        };
        let watts = WATTS.iter().filter(|(_, state)| self.has(*state)).map(|(name, _)| *name);
        own.into_iter().chain(watts).chain(names(POWER)).collect()
    }
}

/// Slot of a setting; `None` if the setting does not exist.
pub(super) fn slot<'a>(
    technology: &'a mut Technology,
    power: &'a mut Power,
    key: &str,
) -> Option<FieldTarget<'a>> {
    fn find<'a, T>(fields: &[RadioField<T>], of: &'a mut T, key: &str) -> Option<FieldTarget<'a>> {
        fields.iter().find(|(name, _)| *name == key).map(|(_, slot)| slot(of))
    }
    let watts = WATTS.iter().find(|(name, state)| *name == key && technology.has(*state));
    if let Some((_, state)) = watts {
        return Some(FieldTarget::Number(power.watts.entry(*state).or_default()));
    }
    let own = match technology {
        Technology::Umts(umts) => find(UMTS, umts, key),
        Technology::Lte(lte) => find(LTE, lte, key),
        Technology::Wifi(wifi) => find(WIFI, wifi, key),
        Technology::Dama(dama) => find(DAMA, dama, key),
        Technology::Leo(leo) => find(LEO, leo, key),
    };
    own.or_else(|| find(POWER, power, key))
}

impl FieldTarget<'_> {
    /// Parses the value.
    pub(super) fn read(self, text: &str) -> Result<(), ValueError> {
        let form = |expected| ValueError::Form { text: text.to_owned(), expected };
        let out_of_range = |range| ValueError::OutOfRange { text: text.to_owned(), range };
        match self {
            FieldTarget::Span(span) => {
                *span = parse::duration(text)?;
                if *span > LONGEST_TIMER {
                    return Err(out_of_range("a radio's timer is at most 24h"));
                }
            }
            FieldTarget::Bytes(bytes) => {
                let number = match text.trim().parse::<u64>() {
                    Ok(number) => number,
                    Err(_) => parse::size_bytes(text)?,
                };
                *bytes =
                    u32::try_from(number).map_err(|_| form("a number of bytes: write `475B`"))?;
            }
            FieldTarget::Count(count) => {
                let number = text.trim().parse::<u32>().ok();
                let number = number.filter(|number| (1..=1000).contains(number));
                *count = number.ok_or_else(|| form("a whole number from 1 to 1000"))?;
            }
            FieldTarget::Share(share) => *share = parse::ratio(text)?,
            FieldTarget::Number(value) => {
                let number = text.trim().parse::<f64>().ok();
                let number = number.filter(|number| (0.0..=1000.0).contains(number));
                *value = number.ok_or_else(|| form("a number from 0 to 1000: write `0.7`"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::radios;
    use crate::RadioConfig;

    fn refused(radio: &RadioConfig, key: &str, text: &str) -> String {
        radio.clone().set(key, text).expect_err(&format!("{radio} {key}={text}")).to_string()
    }

    /// Every setting of every radio accepts a value of its kind, prints it again, and refuses anything else.
    #[test]
    fn every_setting_can_be_typed_and_refuses_what_it_cannot_be() {
        for preset in radios().values() {
            let radio = &preset.config;
            let keys = radio.technology.keys();
            assert!(keys.iter().any(|key| key.ends_with("_watts")), "{radio}");
            for key in keys {
                let values = ["70ms", "70B", "7", "7%"];
                let fits = values.iter().find(|text| radio.clone().set(key, text).is_ok());
                let value = fits.unwrap_or_else(|| panic!("{radio} {key} takes nothing"));
                let mut changed = radio.clone();
                changed.set(key, value).unwrap();
                assert_eq!(changed.to_string(), format!("{radio},radio.{key}={value}"));
                assert_ne!(
                    (&changed.technology, &changed.power),
                    (&radio.technology, &radio.power)
                );
                for wrong in ["-1", "-1ms", "fast", "", "nan", "1e99"] {
                    refused(radio, key, wrong);
                }
            }
        }
    }

    #[test]
    fn values_are_refused_with_what_would_do() {
        let named = |name| RadioConfig::named(name).unwrap();
        let (umts, lte) = (named("umts"), named("lte"));
        assert!(refused(&umts, "dch_watts", "-0.7").contains("a number from 0 to 1000"));
        assert!(refused(&umts, "fach_inactivity", "25h").contains("at most 24h"));
        assert!(refused(&umts, "fach_inactivity", "12").contains("no unit"));
        assert!(refused(&lte, "harq_failure", "101%").contains("0% to 100%"));
        assert!(refused(&lte, "harq_most", "0").contains("a whole number from 1 to 1000"));
        // States that a technology does not have.
        assert!(refused(&lte, "dch_watts", "1").contains("has no setting `dch_watts`"));
        assert!(refused(&umts, "dhc_watts", "1").contains("did you mean `dch_watts`?"));
        assert!(refused(&named("wifi"), "slumber_watts", "1").contains("settings: inactivity"));
    }
}
