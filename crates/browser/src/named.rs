//! Tables of named things that are data: a TOML file whose sections are the names.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use thiserror::Error;

/// A name that is in no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no {what} `{name}`; known: {known}")]
pub struct UnknownName {
    /// "device", "browser policy".
    pub what: &'static str,
    /// What was asked for.
    pub name: String,
    /// The names there are, separated by commas.
    pub known: String,
}

/// The whole table, by name.
pub(crate) fn table<T: DeserializeOwned>(text: &str) -> BTreeMap<String, T> {
    toml::from_str(text).expect("an embedded table is checked by its test")
}

/// The entry called `name`.
pub(crate) fn find<T: DeserializeOwned>(
    text: &str,
    what: &'static str,
    name: &str,
) -> Result<T, UnknownName> {
    let mut entries = table::<T>(text);
    entries.remove(name).ok_or_else(|| UnknownName {
        what,
        name: name.to_owned(),
        known: entries.into_keys().collect::<Vec<_>>().join(", "),
    })
}
