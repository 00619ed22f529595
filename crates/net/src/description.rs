//! Network as typed: `cable`, `rtt=100ms,down=10mbit,up=5mbit`, or `cable,rtt=600ms`.
//!
//! All programs parse networks here, so that they accept and refuse input in the same words.

use units::pairs::{Pair, pairs};

use crate::spec::{Setting, Spec, is_setting};
use crate::{Place, QueueLimit, SpecError, ValueError};

/// A base and settings, all parseable and none set twice. They may still not make a valid network.
#[derive(Debug)]
pub struct Description {
    base: Option<String>,
    pub(crate) settings: Vec<Setting>,
}

/// A queue as typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueSetting {
    /// A limit.
    Limit(QueueLimit),
    /// A multiple of the bottleneck's bandwidth-delay product.
    Bdp(f64),
}

impl Description {
    /// Parses the name of a profile or file, settings, or a name with settings that override its own.
    pub fn parse(text: &str) -> Result<Description, SpecError> {
        let text = text.trim();
        let is_file = |name: &str| name.ends_with(".toml");
        let first = text.split(',').next().unwrap_or_default().trim();
        let is_base = match first.split_once('=') {
            Some((key, _)) => is_file(first) && !is_setting(key.trim()),
            None => !first.is_empty(),
        };
        let typed = if is_base { text[first.len()..].trim_start_matches(',') } else { text };
        let twice =
            |twice: units::pairs::Twice| SpecError::Twice { place: Place::Typed, key: twice.key };
        let settings = pairs(typed).map_err(twice)?.into_iter().map(setting);
        let settings = settings.collect::<Result<Vec<_>, _>>()?;
        if !is_base && settings.is_empty() {
            return Err(SpecError::NotASetting { place: Place::Typed, text: text.to_owned() });
        }
        check(&settings)?;
        Ok(Description { base: is_base.then(|| first.to_owned()), settings })
    }

    /// Parses the value of one setting.
    pub fn of_setting(key: &str, value: &str) -> Result<Description, SpecError> {
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        let settings = vec![Setting { place: Place::Typed, key, value }];
        check(&settings)?;
        Ok(Description { base: None, settings })
    }

    /// Name of the profile or file.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Keys and values, as typed.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.iter().map(|setting| (setting.key.as_str(), setting.value.as_str()))
    }
}

impl QueueSetting {
    /// Parses `64pkt`, `64KB`, `unlimited` or `2bdp`.
    pub fn parse(text: &str) -> Result<QueueSetting, ValueError> {
        match text.trim().to_ascii_lowercase().strip_suffix("bdp") {
            Some(number) => {
                let factor = number.trim().parse().ok();
                let expected =
                    "a number of bandwidth-delay products from 0.001 to 1000: write `2bdp`";
                factor
                    .filter(|factor| (0.001..=1000.0).contains(factor))
                    .map(QueueSetting::Bdp)
                    .ok_or_else(|| ValueError::Form { text: text.to_owned(), expected })
            }
            None => crate::spec::queue(text).map(QueueSetting::Limit),
        }
    }
}

fn setting(Pair { key, value }: Pair<'_>) -> Result<Setting, SpecError> {
    match value {
        Some(value) => {
            Ok(Setting { place: Place::Typed, key: key.to_owned(), value: value.to_owned() })
        }
        None => Err(SpecError::NotASetting { place: Place::Typed, text: key.to_owned() }),
    }
}

/// Checks that every value can be parsed. Files are not opened.
fn check(settings: &[Setting]) -> Result<(), SpecError> {
    let is_file = |setting: &&Setting| setting.key.ends_with("loss_file");
    let mut others: Vec<Setting> = settings.iter().filter(|s| !is_file(s)).cloned().collect();
    take_bdp(&mut others)?;
    Spec::from_settings(&others)?.check_rates()
}

/// Removes `queue=2bdp` from the settings, as it depends on all the others.
pub(crate) fn take_bdp(settings: &mut Vec<Setting>) -> Result<Option<f64>, SpecError> {
    let is_bdp = |setting: &Setting| {
        setting.key == "queue" && setting.value.to_ascii_lowercase().ends_with("bdp")
    };
    let Some(index) = settings.iter().position(is_bdp) else { return Ok(None) };
    let Setting { place, key, value } = settings.remove(index);
    if settings.iter().any(|setting| setting.key == key) {
        return Err(SpecError::Twice { place, key });
    }
    match QueueSetting::parse(&value) {
        Ok(QueueSetting::Bdp(factor)) => Ok(Some(factor)),
        Ok(QueueSetting::Limit(_)) => Ok(None),
        Err(reason) => Err(SpecError::BadValue { place, key, reason: Box::new(reason) }),
    }
}
