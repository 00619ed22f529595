//! Lists of knobs as people write them: `cc=newreno,iw=32`.

use thiserror::Error;
use units::pairs::{Pair, Twice, pairs};

/// What a list of knobs turns: each at most once, what is not named stays as it is.
pub(super) trait Knobs: Default {
    /// What one of them is called: "QUIC knob".
    const ONE: &'static str;
    /// All that there are, for people.
    const ALL: &'static str;

    /// Turns one of them.
    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem>;
}

/// Why one knob cannot be turned so.
pub(super) enum KnobProblem {
    /// There is none of this name.
    Unknown,
    /// It takes something else.
    Expected(&'static str),
    /// It can be wanted, and cannot be had.
    Refused(&'static str),
}

/// A text that turns no knobs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KnobError {
    /// There is no such knob.
    #[error("no {one} is called `{name}`; there are {all}")]
    Unknown {
        /// What a knob is called.
        one: &'static str,
        /// What was written.
        name: String,
        /// Those that there are.
        all: &'static str,
    },
    /// A value that the knob does not take.
    #[error("the {one} `{knob}` cannot be `{value}`: it takes {expected}")]
    BadValue {
        /// What a knob is called.
        one: &'static str,
        /// The knob.
        knob: String,
        /// What was written.
        value: String,
        /// What may be written.
        expected: &'static str,
    },
    /// A knob is set twice.
    #[error("the {one} `{knob}` is set twice; keep one")]
    Twice {
        /// What a knob is called.
        one: &'static str,
        /// The knob.
        knob: String,
    },
    /// It can be wanted, and cannot be had.
    #[error("{0}")]
    Refused(&'static str),
    /// What stands in front of the knobs is not what can stand there.
    #[error("{0}")]
    Head(String),
}

/// Reads `knob=value` items, separated by commas.
pub(super) fn parse<K: Knobs>(text: &str) -> Result<K, KnobError> {
    let twice = |Twice { key: knob }| KnobError::Twice { one: K::ONE, knob };
    let mut knobs = K::default();
    for Pair { key, value } in pairs(text).map_err(twice)? {
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

/// One of a set of names.
pub(super) fn one_of<T: Copy>(
    value: &str,
    names: &[(&'static str, T)],
    expected: &'static str,
) -> Result<T, KnobProblem> {
    let named = names.iter().find(|(name, _)| *name == value);
    named.map(|(_, known)| *known).ok_or(KnobProblem::Expected(expected))
}

/// The name of one of them.
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

/// As it is written.
pub(super) const fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The text of those that are turned.
pub(super) fn list<const N: usize>(turned: [Option<String>; N]) -> String {
    turned.into_iter().flatten().collect::<Vec<_>>().join(",")
}
