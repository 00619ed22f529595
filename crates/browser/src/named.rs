//! Tables of named items in TOML: each section is a name.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::de::DeserializeOwned;
use thiserror::Error;

/// A name that is in no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no {what} `{name}`; known: {known}")]
pub struct UnknownName {
    /// Kind of item: "device", "browser policy".
    pub what: &'static str,
    /// The requested name.
    pub name: String,
    /// The existing names, separated by commas.
    pub known: String,
}

/// A table that is parsed on first use, once per process: journeys look into it by the thousand.
pub(crate) struct NamedTable<T> {
    what: &'static str,
    text: &'static str,
    entries: OnceLock<BTreeMap<String, T>>,
}

impl<T: DeserializeOwned + Clone> NamedTable<T> {
    /// The table in `text`, of items of the kind `what`.
    pub(crate) const fn new(what: &'static str, text: &'static str) -> NamedTable<T> {
        NamedTable { what, text, entries: OnceLock::new() }
    }

    /// Every entry, by name.
    pub(crate) fn all(&self) -> &BTreeMap<String, T> {
        let read = || toml::from_str(self.text).expect("an embedded table is checked by its test");
        self.entries.get_or_init(read)
    }

    /// The entry called `name`.
    pub(crate) fn find(&self, name: &str) -> Result<T, UnknownName> {
        self.all().get(name).cloned().ok_or_else(|| UnknownName {
            what: self.what,
            name: name.to_owned(),
            known: self.all().keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    }
}
