//! Outermost structure of a HAR: pages and entries.

use serde_json::Value;

use super::entry::{self, Entry};
use super::json::{field, number, text};
use super::{decode, repair};
use crate::Error;

/// One `log.pages` element.
#[derive(Clone, Debug)]
pub(super) struct PageMark {
    pub id: String,
    /// Time of the load event, as an instant like [`Entry::started`].
    pub loaded_at: Option<i64>,
}

/// A HAR, with typed fields where needed.
#[derive(Debug)]
pub(super) struct Log {
    /// The recording tool.
    pub creator: String,
    pub pages: Vec<PageMark>,
    pub entries: Vec<Entry>,
}

impl Log {
    /// Parses `text`; strict on structure, lenient on values.
    pub fn parse(name: &str, text: &[u8]) -> Result<Log, Error> {
        let text = decode::text(name, text)?;
        let value: Value = serde_json::from_str(&text).map_err(|e| Error::NotJson {
            name: name.to_owned(),
            line: e.line(),
            column: e.column(),
            detail: e.to_string(),
        })?;
        let not_har =
            |missing: &str| Error::NotHar { name: name.to_owned(), missing: missing.to_owned() };
        let log = value.get("log").ok_or_else(|| not_har("there is no `log`"))?;
        let entries = log
            .get("entries")
            .ok_or_else(|| not_har("`log` has no `entries`"))?
            .as_array()
            .ok_or_else(|| not_har("`log.entries` is not a list"))?;
        if entries.is_empty() {
            return Err(Error::NoEntries { name: name.to_owned() });
        }
        let pages = field(log, "pages").as_array().map(Vec::as_slice).unwrap_or_default();
        let reader = entry::Reader::new(name, entries);
        let mut read: Vec<Entry> = entries
            .iter()
            .enumerate()
            .map(|(index, value)| reader.read(index, value))
            .collect::<Result<_, _>>()?;
        repair::repair(&mut read);
        Ok(Log {
            creator: creator(log),
            pages: pages.iter().map(page_mark).collect(),
            entries: read,
        })
    }
}

fn creator(log: &Value) -> String {
    let creator = field(log, "creator");
    let name = text(field(creator, "name")).unwrap_or("an unnamed tool");
    match text(field(creator, "version")) {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

fn page_mark(value: &Value) -> PageMark {
    let started = text(field(value, "startedDateTime")).and_then(entry::instant);
    let on_load = number(field(field(value, "pageTimings"), "onLoad")).filter(|ms| *ms > 0.0);
    PageMark {
        id: text(field(value, "id")).unwrap_or_default().to_owned(),
        loaded_at: started
            .zip(on_load.and_then(entry::micros))
            .map(|(started, on_load)| started + on_load),
    }
}
