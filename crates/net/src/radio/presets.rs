//! Radios by name, read from `data/radios.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use super::fields::slot;
use super::{Dama, Leo, Lte, Power, RadioConfig, RadioError, Technology, Umts, Wifi};
use crate::NetworkSpecError;
use crate::error::{ValueError, nearest};
use crate::toml_text::TomlText;

const FILE: &str = "radios.toml";
const TEXT: &str = include_str!("../../data/radios.toml");

/// A named radio.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Description, and source of its numbers.
    pub source: String,
    /// The radio.
    pub config: RadioConfig,
}

/// The built-in radios, by name.
pub fn radios() -> &'static BTreeMap<String, Preset> {
    static RADIOS: LazyLock<BTreeMap<String, Preset>> = LazyLock::new(|| match read() {
        Ok(radios) => radios,
        Err(error) => panic!("farlink's own table of radios is broken: {error}"),
    });
    &RADIOS
}

fn read() -> Result<BTreeMap<String, Preset>, NetworkSpecError> {
    let toml = TomlText::new(FILE, TEXT);
    let mut radios = BTreeMap::new();
    for (name, table) in toml.parse()? {
        let toml::de::DeValue::Table(mut table) = table.into_inner() else { continue };
        let source = toml.take_string(&mut table, "source")?.unwrap_or_default();
        let technology = toml.take_string(&mut table, "technology")?.unwrap_or_default();
        let name = name.get_ref().to_string();
        let mut config = RadioConfig {
            name: name.clone(),
            changes: BTreeMap::new(),
            technology: technology_named(&technology),
            power: Power::default(),
        };
        for setting in toml.settings(&table)? {
            let (place, key) = (setting.place, setting.key);
            config.set(&key, &setting.value).map_err(|reason| NetworkSpecError::BadValue {
                place,
                key,
                reason: Box::new(reason),
            })?;
        }
        config.changes.clear();
        config.check().unwrap_or_else(|error| panic!("farlink's own radio `{name}`: {error}"));
        radios.insert(name, Preset { source, config });
    }
    Ok(radios)
}

fn technology_named(name: &str) -> Technology {
    match name {
        "umts" => Technology::Umts(Umts::default()),
        "lte" => Technology::Lte(Lte::default()),
        "wifi" => Technology::Wifi(Wifi::default()),
        "dama" => Technology::Dama(Dama::default()),
        "leo" => Technology::Leo(Leo::default()),
        other => panic!("farlink's own table of radios names a technology `{other}`"),
    }
}

impl RadioConfig {
    /// The radio called `name`.
    ///
    /// # Errors
    /// If there is none; the message lists those that exist.
    pub fn named(name: &str) -> Result<RadioConfig, ValueError> {
        radios().get(name).map(|preset| preset.config.clone()).ok_or_else(|| {
            let names: Vec<&str> = radios().keys().map(String::as_str).collect();
            ValueError::UnknownRadio {
                name: name.to_owned(),
                nearest: nearest(name, names.iter().copied()),
                known: names.join(", "),
            }
        })
    }

    /// Changes one setting.
    ///
    /// # Errors
    /// If there is no setting of that name, or the value does not fit.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ValueError> {
        let known = self.technology.keys();
        let Some(slot) = slot(&mut self.technology, &mut self.power, key) else {
            return Err(ValueError::UnknownRadioSetting {
                name: self.name.clone(),
                key: key.to_owned(),
                nearest: nearest(key, known.iter().copied()),
                known: known.join(", "),
            });
        };
        slot.read(text)?;
        self.changes.insert(key.to_owned(), text.trim().to_owned());
        Ok(())
    }

    /// Checks the radio for contradictions. To be called after all settings: two changes may contradict the preset
    /// separately but not together.
    ///
    /// # Errors
    /// If its settings contradict each other.
    pub fn check(&self) -> Result<(), RadioError> {
        self.technology.check()
    }
}

impl fmt::Display for RadioConfig {
    /// In the form of a network's settings: `radio=umts,radio.fach_inactivity=10s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "radio={}", self.name)?;
        self.changes.iter().try_for_each(|(key, value)| write!(f, ",radio.{key}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_radio_reads_and_states_its_source() {
        assert!(radios().len() >= 8, "{:?}", radios().keys());
        for (name, preset) in radios() {
            assert!(!preset.source.is_empty(), "{name}");
            assert_eq!(RadioConfig::named(name).unwrap().to_string(), format!("radio={name}"));
        }
    }

    #[test]
    fn a_changed_setting_is_told_and_takes_effect() {
        let mut radio = RadioConfig::named("umts").unwrap();
        radio.set("fach_inactivity", "10s").unwrap();
        assert_eq!(radio.to_string(), "radio=umts,radio.fach_inactivity=10s");
        let Technology::Umts(umts) = &radio.technology else { panic!("{radio}") };
        assert_eq!(umts.fach_inactivity, Duration::from_secs(10));
        let refused = |key, value| radio.clone().set(key, value).unwrap_err().to_string();
        assert!(refused("fach_inactivty", "1s").contains("did you mean `fach_inactivity`?"));
        assert!(refused("long_drx", "1s").contains("has no setting `long_drx`"));
        assert!(refused("dch_watts", "-1").contains("a number from 0 to 1000"));
        let error = RadioConfig::named("utms").unwrap_err().to_string();
        assert!(error.contains("did you mean `umts`?"), "{error}");
    }
}
