//! Lists of knobs as people write them: `cc=newreno,iw=32`.

use thiserror::Error;
use units::pairs::{DuplicateKeyError, KeyValue, pairs};

/// Settings that a list of knobs turns: each at most once; those not named keep their values.
pub(super) trait Knobs: Default {
    /// Name of one knob in messages: "QUIC knob".
    const ONE: &'static str;
    /// All knobs, for messages.
    const ALL: &'static str;

    /// Sets one knob.
    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem>;
}

/// Reason why one knob cannot be set.
pub(super) enum KnobProblem {
    /// No knob of this name.
    Unknown,
    /// A value of another form is expected.
    Expected(&'static str),
    /// A valid request that is not supported.
    Refused(&'static str),
}

/// Error of parsing a list of knobs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KnobError {
    /// No knob of this name.
    #[error("no {one} is called `{name}`; there are {all}")]
    Unknown {
        /// Name of one knob.
        one: &'static str,
        /// The name as typed.
        name: String,
        /// All knobs.
        all: &'static str,
    },
    /// A value that the knob does not take.
    #[error("the {one} `{knob}` cannot be `{value}`: it takes {expected}")]
    BadValue {
        /// Name of one knob.
        one: &'static str,
        /// The knob.
        knob: String,
        /// The value as typed.
        value: String,
        /// The expected value.
        expected: &'static str,
    },
    /// A knob is set twice.
    #[error("the {one} `{knob}` is set twice; keep one")]
    Twice {
        /// Name of one knob.
        one: &'static str,
        /// The knob.
        knob: String,
    },
    /// A valid request that is not supported.
    #[error("{0}")]
    Refused(&'static str),
    /// Invalid text in front of the knobs.
    #[error("{0}")]
    Head(String),
}

/// Reads `knob=value` items, separated by commas.
pub(super) fn parse<K: Knobs>(text: &str) -> Result<K, KnobError> {
    let twice = |DuplicateKeyError { key: knob }| KnobError::Twice { one: K::ONE, knob };
    let mut knobs = K::default();
    for KeyValue { key, value } in pairs(text).map_err(twice)? {
        let value = value.unwrap_or_default();
        knobs.turn(key, value).map_err(|problem| problem.with::<K>(key, value))?;
    }
    Ok(knobs)
}

impl KnobProblem {
    fn with<K: Knobs>(self, knob: &str, value: &str) -> KnobError {
        let knob = knob.to_owned();
        match self {
            KnobProblem::Unknown => KnobError::Unknown { one: K::ONE, name: knob, all: K::ALL },
            KnobProblem::Expected(expected) => {
                KnobError::BadValue { one: K::ONE, knob, value: value.to_owned(), expected }
            }
            KnobProblem::Refused(why) => KnobError::Refused(why),
        }
    }
}

/// Looks a value up in a closed set of names.
pub(super) fn one_of<T: Copy>(
    value: &str,
    names: &[(&'static str, T)],
    expected: &'static str,
) -> Result<T, KnobProblem> {
    let named = names.iter().find(|(name, _)| *name == value);
    named.map(|(_, known)| *known).ok_or(KnobProblem::Expected(expected))
}

/// The name of a value in a closed set.
pub(super) fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    let named = names.iter().find(|(_, known)| known == value);
    named.expect("every choice has a name").0
}

/// `on` or `off`.
pub(super) fn on_or_off(value: &str) -> Result<bool, KnobProblem> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(KnobProblem::Expected("on or off")),
    }
}

/// Inverse of `on_or_off`.
pub(super) const fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Joins the knobs that are set.
pub(super) fn list<const N: usize>(turned: [Option<String>; N]) -> String {
    turned.into_iter().flatten().collect::<Vec<_>>().join(",")
}
