//! Parsers, units and conditions that rows of the table share.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use super::Change;
use crate::experiment::NameError;
use crate::{ChoiceError, NetworkSpec, Program, Scenario};

/// A refusal without a hint.
pub(super) fn refused(message: impl Display) -> NameError {
    NameError { message: message.to_string(), hint: None }
}

/// Parses text by its type; `set` stores the value.
pub(super) fn parsed<T: FromStr<Err: Display> + Clone + 'static>(
    text: &str,
    set: fn(&mut Scenario, T),
) -> Result<Change, NameError> {
    put(text.parse::<T>().map_err(refused)?, set)
}

/// Parses one of a closed set of names.
pub(super) fn named<T: FromStr<Err = ChoiceError> + Clone + 'static>(
    text: &str,
    set: fn(&mut Scenario, T),
) -> Result<Change, NameError> {
    let value: T = text.parse().map_err(|error: ChoiceError| NameError {
        hint: error.hint(),
        message: error.to_string(),
    })?;
    put(value, set)
}

/// The change that stores a parsed value.
pub(super) fn put<T: Clone + 'static>(
    value: T,
    set: fn(&mut Scenario, T),
) -> Result<Change, NameError> {
    Ok(Box::new(move |scenario| set(scenario, value.clone())))
}

/// Parses a knob of TCP for both ends.
pub(super) fn tcp_knob(knob: &'static str, value: &str) -> Result<Change, NameError> {
    crate::Transport::default().set(knob, value).map_err(refused)?;
    let value = value.to_owned();
    Ok(Box::new(move |scenario| {
        scenario.transport.set(knob, &value).expect("the value was checked when it was read");
    }))
}

/// A span of time in nanoseconds.
pub(super) fn nanoseconds(text: &str) -> Result<u64, NameError> {
    let span = units::parse::duration(text).map_err(refused)?;
    Ok(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// `4`, `2.5` or `4x`.
pub(super) fn multiplier(text: &str) -> Result<f64, NameError> {
    let number = text.trim_end_matches(['x', 'X']).parse::<f64>().ok();
    number.filter(|n| (0.001..=1e6).contains(n)).ok_or_else(|| {
        refused(format!("`{text}` is not how many times slower: write 4, 0.5 or 4x"))
    })
}

/// Hosts separated by commas, sorted.
pub(super) fn hosts(text: &str) -> Vec<String> {
    let hosts: BTreeSet<&str> = text.split(',').map(str::trim).filter(|h| !h.is_empty()).collect();
    hosts.into_iter().map(str::to_owned).collect()
}

/// One property of a network.
pub(crate) fn property(key: &str, text: &str) -> Result<Change, NameError> {
    let read = NetworkSpec::property(key, text).map_err(|error| match error {
        net::NetworkSpecError::BadValue { reason, .. } => refused(reason),
        other => refused(other),
    })?;
    Ok(Box::new(move |scenario| scenario.network.overlay(&read)))
}

/// Parses an uplink rate, or a fraction of the downlink's.
pub(super) fn uplink(text: &str) -> Result<Change, NameError> {
    let Some(divisor) = text.strip_prefix("down/") else { return property("up", text) };
    let divisor: u64 =
        divisor.parse().ok().filter(|divisor| *divisor > 0).ok_or_else(|| NameError {
            message: "the downlink is divided by a whole number above 0".to_owned(),
            hint: Some("write `up = \"down/2\"`".to_owned()),
        })?;
    Ok(Box::new(move |scenario| {
        let network = &mut scenario.network;
        network.up_bit_per_s = network.down_bit_per_s.map(|down| part(down, divisor));
    }))
}

/// A rate divided; an unlimited rate stays unlimited.
fn part(rate: u64, divisor: u64) -> u64 {
    match rate == units::BitsPerSec::UNLIMITED.0 {
        true => rate,
        false => (rate / divisor).max(1),
    }
}

/// A number as text, or empty text.
pub(super) fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Nanoseconds as milliseconds.
pub(super) fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// A limited rate as Mbit/s.
pub(super) fn megabits(bit_per_s: Option<u64>) -> Option<f64> {
    let limited = bit_per_s.filter(|rate| *rate != units::BitsPerSec::UNLIMITED.0);
    limited.map(|rate| rate as f64 / 1e6)
}

/// Returns true if farlink's own loader is the client.
pub(super) fn is_loader(scenario: &Scenario) -> bool {
    scenario.client.program == Program::Loader
}
