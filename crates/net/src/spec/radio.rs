//! Radio and handover settings of a network as typed.

use std::time::Duration;

use units::parse;

use super::{TypedSetting, put, values};
use crate::error::ValueError;
use crate::radio::radios;
use crate::{Handover, NetworkSpecError, RadioConfig};

/// The radio by name, and changes to it, in any order.
#[derive(Default)]
pub(super) struct RadioSpec {
    /// `Some(None)`: explicitly none.
    radio: Option<Option<RadioConfig>>,
    changes: Vec<TypedSetting>,
}

/// Prefix of a change: `radio.dch_inactivity`.
const PREFIX: &str = "radio.";

/// Returns true if radios have a setting of this name.
pub(super) fn is_radio_setting(key: &str) -> bool {
    key == "radio"
        || key.strip_prefix(PREFIX).is_some_and(|own| radio_keys().any(|known| known == own))
}

/// Settings of all radios.
fn radio_keys() -> impl Iterator<Item = &'static str> {
    radios().values().flat_map(|preset| preset.config.technology.keys())
}

impl RadioSpec {
    /// Takes a setting, if it is one of radios.
    pub(super) fn set(&mut self, setting: &TypedSetting) -> Result<bool, NetworkSpecError> {
        if setting.key == "radio" {
            put(&mut self.radio, setting, named)?;
            return Ok(true);
        }
        if !setting.key.starts_with(PREFIX) {
            return Ok(false);
        }
        let TypedSetting { place, key, value } = setting;
        if self.changes.iter().any(|known| known.key == *key) {
            return Err(NetworkSpecError::Twice { place: place.clone(), key: key.clone() });
        }
        let (place, key, value) = (place.clone(), key.clone(), value.clone());
        self.changes.push(TypedSetting { place, key, value });
        Ok(true)
    }

    /// Takes the base's radio if none was typed.
    pub(super) fn fill(&mut self, base: Option<&RadioConfig>) {
        self.radio.get_or_insert_with(|| base.cloned());
    }

    /// Resolves the radio with its changes; `origin` names the text in messages about missing settings.
    pub(super) fn resolve(self, origin: &str) -> Result<Option<RadioConfig>, NetworkSpecError> {
        let Some(mut radio) = self.radio.flatten() else {
            return match self.changes.is_empty() {
                true => Ok(None),
                false => Err(NetworkSpecError::Missing {
                    origin: origin.to_owned(),
                    key: "radio",
                    example: "radio=umts",
                }),
            };
        };
        for change in &self.changes {
            radio.set(own(change), &change.value).map_err(|reason| bad(change, reason))?;
        }
        radio.check().map_err(|impossible| {
            let concerned = self.changes.iter().rfind(|change| impossible.concerns(own(change)));
            bad(concerned.expect("no preset contradicts itself"), impossible.into())
        })?;
        Ok(Some(radio))
    }
}

/// Name of a change without the prefix.
fn own(change: &TypedSetting) -> &str {
    change.key.strip_prefix(PREFIX).unwrap_or(&change.key)
}

fn bad(change: &TypedSetting, reason: ValueError) -> NetworkSpecError {
    let (place, key) = (change.place.clone(), change.key.clone());
    NetworkSpecError::BadValue { place, key, reason: Box::new(reason) }
}

fn named(text: &str) -> Result<Option<RadioConfig>, ValueError> {
    match text.trim() {
        "none" => Ok(None),
        name => RadioConfig::named(name).map(Some),
    }
}

/// `handover.every`, `handover.length` and `handover.lossless`.
#[derive(Default)]
pub(super) struct HandoverSpec {
    every: Option<Every>,
    length: Option<(Duration, Duration)>,
    lossless: Option<bool>,
}

/// Interval of handovers, if any.
#[derive(Clone, Copy)]
enum Every {
    Never,
    Span(Duration),
}

const HANDOVER_KEYS: [&str; 3] = ["handover.every", "handover.length", "handover.lossless"];

/// Returns true if handovers have a setting of this name.
pub(super) fn is_handover_setting(key: &str) -> bool {
    HANDOVER_KEYS.contains(&key)
}

impl HandoverSpec {
    /// Takes a setting, if it is one of handovers.
    pub(super) fn set(&mut self, setting: &TypedSetting) -> Result<bool, NetworkSpecError> {
        match setting.key.as_str() {
            "handover.every" => put(&mut self.every, setting, every)?,
            "handover.length" => put(&mut self.length, setting, length)?,
            "handover.lossless" => put(&mut self.lossless, setting, truth)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes the base's handovers for settings not typed.
    pub(super) fn fill(&mut self, base: Option<Handover>) {
        let Some(Handover { every, least, most, lossless }) = base else { return };
        self.every.get_or_insert(Every::Span(every));
        self.length.get_or_insert((least, most));
        self.lossless.get_or_insert(lossless);
    }

    /// Resolves the handovers; `origin` names the text in messages about missing settings.
    pub(super) fn resolve(self, origin: &str) -> Result<Option<Handover>, NetworkSpecError> {
        let missing =
            |key, example| NetworkSpecError::Missing { origin: origin.to_owned(), key, example };
        let HandoverSpec { every, length, lossless } = self;
        let every = match every {
            Some(Every::Never) => return Ok(None),
            Some(Every::Span(every)) => every,
            None if length.is_none() && lossless.is_none() => return Ok(None),
            None => return Err(missing("handover.every", "handover.every=60s")),
        };
        let (least, most) =
            length.ok_or_else(|| missing("handover.length", "handover.length=50ms..150ms"))?;
        if most >= every {
            return Err(NetworkSpecError::Conflict {
                origin: origin.to_owned(),
                setting: "a handover.length that reaches the next handover",
                with: "handover.every",
            });
        }
        Ok(Some(Handover { every, least, most, lossless: lossless.unwrap_or(true) }))
    }
}

fn every(text: &str) -> Result<Every, ValueError> {
    if text.trim() == "never" {
        return Ok(Every::Never);
    }
    match parse::duration(text)? {
        span if span.is_zero() => Err(values::out_of_range(text, "write `60s`, or `never`")),
        span => Ok(Every::Span(span)),
    }
}

/// A length, or the shortest and the longest.
fn length(text: &str) -> Result<(Duration, Duration), ValueError> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let (least, most) = (parse::duration(least)?, parse::duration(most)?);
    if least > most || most.is_zero() {
        return Err(values::form(text, "how long: write `50ms`, or `50ms..150ms`"));
    }
    Ok((least, most))
}

fn truth(text: &str) -> Result<bool, ValueError> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(values::form(
            text,
            "`true` (waiting packets are forwarded) or `false` (they are lost)",
        )),
    }
}
