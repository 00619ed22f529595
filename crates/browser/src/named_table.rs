//! Tables of named items in TOML: each section is a name. One that says `like = "NAME"` has the keys of that section, except those that
//! it states itself.

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

/// The sections with the keys of those that they are like.
fn extended(table: toml::Table) -> toml::Table {
    let mut all = table.clone();
    for section in all.iter_mut().filter_map(|(_, section)| section.as_table_mut()) {
        let like = section.remove("like");
        let base = like.as_ref().and_then(|name| table.get(name.as_str()?)?.as_table());
        for (key, value) in base.into_iter().flatten() {
            section.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    all
}

impl<T: DeserializeOwned + Clone> NamedTable<T> {
    /// The table in `text`, of items of the kind `what`.
    pub(crate) const fn new(what: &'static str, text: &'static str) -> NamedTable<T> {
        NamedTable { what, text, entries: OnceLock::new() }
    }

    /// Every entry, by name.
    pub(crate) fn all(&self) -> &BTreeMap<String, T> {
        let read = || {
            let table: toml::Table = self.text.parse().expect("an embedded table is TOML");
            extended(table).try_into().expect("an embedded table is checked by its test")
        };
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
