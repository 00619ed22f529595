//! A transport in one line of text: `linux-3.2,iw=3,cc=reno,hz=250`.
//!
//! A generation, which sets the defaults, and knobs that differ from them. [`Config::parse`] reads it; `Display` of a
//! [`Config`] writes the canonical form: the generation, then the differences, in the order of [`Knob::all`]. Both use
//! one table, so every setting can be shown. The segment size is no knob: it belongs to the path.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;

use units::pairs::{DuplicateKeyError, pairs};

use crate::config::named::{NamedVariant, VariantNames};
use crate::config::{Config, Generation};

mod knobs;

pub use knobs::Knob;

/// A text that is not a transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportSpecError {
    /// The first word is not a generation.
    #[error(
        "no TCP generation is called `{name}`{}; there are {}",
        hint(suggestion),
        generations()
    )]
    UnknownGeneration {
        /// The text given.
        name: String,
        /// The closest existing name.
        suggestion: Option<&'static str>,
    },
    /// There is no such knob.
    #[error("no TCP knob is called `{name}`{}", hint(suggestion))]
    UnknownKnob {
        /// The text given.
        name: String,
        /// The closest existing name.
        suggestion: Option<&'static str>,
    },
    /// A knob without a value.
    #[error("the TCP knob `{knob}` needs a value: `{knob}={}`", Knob::find(knob).map_or("", |knob| knob.values()))]
    NoValue {
        /// The knob.
        knob: &'static str,
    },
    /// A value that the knob does not take.
    #[error("the TCP knob `{knob}` cannot be `{value}`{}: it takes {expected}", hint(suggestion))]
    BadValue {
        /// The knob.
        knob: &'static str,
        /// The text given.
        value: String,
        /// The values accepted.
        expected: String,
        /// The closest name that it accepts.
        suggestion: Option<&'static str>,
    },
    /// A knob is set twice.
    #[error("the TCP knob {0}; keep one")]
    Twice(#[from] DuplicateKeyError),
}

impl Config {
    /// Reads a transport: a generation and then knobs, or knobs of the default generation, separated by commas.
    pub fn parse(text: &str) -> Result<Config, TransportSpecError> {
        let mut items = pairs(text)?.into_iter().peekable();
        let generation = match items.next_if(|item| item.value.is_none()) {
            Some(item) => generation(item.key)?,
            None => Generation::default(),
        };
        let mut config = generation.config();
        for item in items {
            config.set(item.key, item.value.unwrap_or_default())?;
        }
        Ok(config)
    }

    /// Sets one knob; returns its name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<&'static str, TransportSpecError> {
        let knob = Knob::find(name).ok_or_else(|| TransportSpecError::UnknownKnob {
            name: name.to_owned(),
            suggestion: nearest(name, Knob::all().iter().map(Knob::name)),
        })?;
        if value.is_empty() {
            return Err(TransportSpecError::NoValue { knob: knob.name() });
        }
        knob.set(self, value).map_err(|expected| TransportSpecError::BadValue {
            knob: knob.name(),
            value: value.to_owned(),
            expected,
            suggestion: nearest(value, knob.values().split('|')),
        })?;
        Ok(knob.name())
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.generation)?;
        let defaults = self.generation.config();
        for knob in Knob::all() {
            let value = knob.get(self);
            if value != knob.get(&defaults) {
                write!(f, ",{}={value}", knob.name())?;
            }
        }
        Ok(())
    }
}

fn generation(name: &str) -> Result<Generation, TransportSpecError> {
    name.parse().map_err(|_| match Knob::find(name) {
        Some(knob) => TransportSpecError::NoValue { knob: knob.name() },
        None => TransportSpecError::UnknownGeneration {
            name: name.to_owned(),
            suggestion: nearest(name, Generation::ALL.map(Generation::name)),
        },
    })
}

fn generations() -> String {
    Generation::ALL.map(Generation::name).join(", ")
}

fn hint(suggestion: &Option<&'static str>) -> String {
    suggestion.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// The name most similar to `text`, if any is close enough to have been meant.
fn nearest(text: &str, names: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    const NEAR_ENOUGH: f64 = 0.75;
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(text, name), name))
        .filter(|(likeness, _)| *likeness >= NEAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

// Values of knobs as text: `Err` tells the values accepted.

fn number(text: &str, range: RangeInclusive<u32>) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("a number from {} to {}", range.start(), range.end()))
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".to_owned()),
    }
}

fn show_switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn choice<T: NamedVariant>(text: &str) -> Result<T, String> {
    T::named(text).ok_or_else(|| format!("one of {}", VariantNames::<T>(PhantomData)))
}

fn span(text: &str) -> Result<Duration, String> {
    units::parse::duration(text).map_err(|_| "a span of time such as 600ms".to_owned())
}

/// Formats a span in the largest unit that leaves no fraction.
fn show_span(span: Duration) -> String {
    let nanos = span.as_nanos();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
    let unit = units.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, "ns"));
    format!("{}{name}", nanos / unit)
}

fn size(text: &str) -> Result<u64, String> {
    units::parse::size_bytes(text)
        .ok()
        .filter(|bytes| (1024..=1 << 30).contains(bytes))
        .ok_or_else(|| "a size such as 64KiB, from 1KiB to 1GiB".to_owned())
}

fn show_size(bytes: u64) -> String {
    let units = [(1 << 20, "MiB"), (1 << 10, "KiB"), (1000, "KB")];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, "B"));
    format!("{}{name}", bytes / unit)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_generation_and_what_differs() {
        let config = Config::parse("linux-3.2, iw=3, cc=reno, hz=1000, min-rto=50ms").unwrap();
        assert_eq!(config.generation, Generation::Linux3_2);
        assert_eq!((config.initial_window, config.clock.hz()), (3, Some(1000)));
        assert_eq!(config.min_rto, Duration::from_millis(50));
        assert_eq!(config.to_string(), "linux-3.2,iw=3,cc=reno,min-rto=50ms,hz=1000");
    }

    #[test]
    fn defaults_are_written_as_their_generation() {
        assert_eq!(Config::parse("").unwrap(), Config::default());
        for generation in Generation::ALL {
            assert_eq!(generation.config().to_string(), generation.name());
        }
        assert_eq!(Config::parse("linux-3.0,iw=10").unwrap().to_string(), "linux-3.0");
    }

    #[test]
    fn mistakes_are_named_and_the_nearest_is_suggested() {
        let error = |text: &str| Config::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("linux-3.2,inital-rto=1s"),
            "no TCP knob is called `inital-rto` (did you mean `initial-rto`?)"
        );
        assert_eq!(
            error("linux-3.3"),
            "no TCP generation is called `linux-3.3` (did you mean `linux-3.2`?); there are \
             linux-2.6.32, linux-3.0, linux-3.2, linux-3.10, linux-6"
        );
        assert_eq!(error("frto"), "the TCP knob `frto` needs a value: `frto=off|rfc4138|rfc5682`");
        assert_eq!(
            error("iw=0"),
            "the TCP knob `iw` cannot be `0`: it takes a number from 1 to 1000"
        );
        assert_eq!(error("iw=3,iw=4"), "the TCP knob `iw` is set twice; keep one");
        assert!(error("min-rto=5").contains("such as 600ms"), "{}", error("min-rto=5"));
    }

    #[test]
    fn every_knob_shows_what_it_was_set_to() {
        for generation in Generation::ALL {
            let defaults = generation.config();
            for knob in Knob::all() {
                let mut config = Generation::Linux6.config();
                let value = knob.get(&defaults);
                knob.set(&mut config, &value)
                    .unwrap_or_else(|expected| panic!("{}={value}: {expected}", knob.name()));
                assert_eq!(knob.get(&config), value, "{}", knob.name());
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9=,. -]{0,60}") {
            if let Ok(config) = Config::parse(&text) {
                prop_assert_eq!(Config::parse(&config.to_string()), Ok(config));
            }
        }
    }
}
