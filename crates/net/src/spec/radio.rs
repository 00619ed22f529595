//! Radio settings of a network as typed.

use super::{Setting, put};
use crate::error::{ValueError, nearest};
use crate::radio::radios;
use crate::{RadioConfig, SpecError};

/// The radio by name, and changes to it, in any order.
#[derive(Default)]
pub(super) struct RadioSpec {
    /// `Some(None)`: explicitly none.
    radio: Option<Option<RadioConfig>>,
    changes: Vec<Setting>,
}

/// Prefix of a change: `radio.dch_inactivity`.
const PREFIX: &str = "radio.";

/// Returns true if radios have a setting of this name.
pub(super) fn is_setting(key: &str) -> bool {
    key == "radio" || key.strip_prefix(PREFIX).is_some_and(|own| keys().any(|known| known == own))
}

/// The setting that `key` was probably meant to be.
pub(super) fn nearest_setting(key: &str) -> Option<String> {
    let own = key.strip_prefix(PREFIX)?;
    nearest(own, keys()).map(|own| format!("{PREFIX}{own}"))
}

/// Settings of all radios.
fn keys() -> impl Iterator<Item = &'static str> {
    radios().values().flat_map(|preset| preset.config.technology.keys())
}

impl RadioSpec {
    /// Takes a setting, if it is one of radios.
    pub(super) fn set(&mut self, setting: &Setting) -> Result<bool, SpecError> {
        if setting.key == "radio" {
            put(&mut self.radio, setting, named)?;
            return Ok(true);
        }
        if !setting.key.starts_with(PREFIX) {
            return Ok(false);
        }
        let Setting { place, key, value } = setting;
        if self.changes.iter().any(|known| known.key == *key) {
            return Err(SpecError::Twice { place: place.clone(), key: key.clone() });
        }
        let (place, key, value) = (place.clone(), key.clone(), value.clone());
        self.changes.push(Setting { place, key, value });
        Ok(true)
    }

    /// Takes the base's radio if none was typed.
    pub(super) fn fill(&mut self, base: Option<&RadioConfig>) {
        self.radio.get_or_insert_with(|| base.cloned());
    }

    /// Resolves the radio with its changes; `origin` names the text in messages about missing settings.
    pub(super) fn resolve(self, origin: &str) -> Result<Option<RadioConfig>, SpecError> {
        let Some(mut radio) = self.radio.flatten() else {
            return match self.changes.is_empty() {
                true => Ok(None),
                false => Err(SpecError::Missing {
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
fn own(change: &Setting) -> &str {
    change.key.strip_prefix(PREFIX).unwrap_or(&change.key)
}

fn bad(change: &Setting, reason: ValueError) -> SpecError {
    let (place, key) = (change.place.clone(), change.key.clone());
    SpecError::BadValue { place, key, reason: Box::new(reason) }
}

fn named(text: &str) -> Result<Option<RadioConfig>, ValueError> {
    match text.trim() {
        "none" => Ok(None),
        name => RadioConfig::named(name).map(Some),
    }
}
