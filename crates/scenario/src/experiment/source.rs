//! Text of an experiment, with the files that it includes and single keys set from the command line.
//!
//! Includes and overrides can be written into one text, so that the file that is executed, stored and shown in the report is one that
//! can be executed again.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, Value};

use super::tree::COMBINING_TABLES;
use super::{ExperimentError, Problem};

/// Most files of an experiment. More are a slip, such as a folder of files that include each other.
const MOST_FILES: usize = 64;

/// A named text, and those that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file itself, then those that it includes: a key of an earlier one counts.
    parts: Vec<Part>,
}

/// One file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    name: String,
    text: String,
}

impl Source {
    /// The text of the file called `name` in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { parts: vec![Part { name: name.into(), text: text.into() }] }
    }

    /// The source's name in messages.
    pub fn name(&self) -> &str {
        &self.parts[0].name
    }

    /// The text of the file itself, overrides included.
    pub fn text(&self) -> &str {
        &self.parts[0].text
    }

    /// The file itself and each that it includes, with the byte at which it begins in spans of the whole.
    pub fn files(&self) -> impl Iterator<Item = (usize, Source)> {
        let begins = self.parts.iter().scan(0, |next, part| {
            let begin = *next;
            *next += part.text.len() + 1;
            Some(begin)
        });
        begins.zip(self.parts.iter().map(|part| Source { parts: vec![part.clone()] }))
    }

    /// The file that holds `span` of the whole, and the span within it.
    pub(super) fn file_of(&self, span: Range<usize>) -> (Source, Range<usize>) {
        let (begin, file) = self
            .files()
            .take_while(|(begin, _)| *begin <= span.start)
            .last()
            .expect("the first file begins at 0");
        (file, span.start - begin..span.end.saturating_sub(begin))
    }

    /// Adds the files that `include` names, relative to the file that names them, with `read`.
    ///
    /// # Errors
    /// A file that cannot be read or includes itself, with its place.
    pub fn with_includes(
        mut self,
        read: &dyn Fn(&Path) -> std::io::Result<String>,
    ) -> Result<Source, ExperimentError> {
        let main = PathBuf::from(self.name());
        self.include(&main, std::slice::from_ref(&main), read)?;
        Ok(self)
    }

    /// Adds what the last part includes. `within` are the files that lead to it.
    fn include(
        &mut self,
        path: &Path,
        within: &[PathBuf],
        read: &dyn Fn(&Path) -> std::io::Result<String>,
    ) -> Result<(), ExperimentError> {
        let part = self.parts.last().expect("a source has a file").clone();
        let file = Source { parts: vec![part] };
        // Text that is not TOML is refused where it is resolved. Of several files the last counts.
        for (name, span) in included(file.text()).into_iter().rev() {
            let included = path.parent().unwrap_or(Path::new("")).join(&name);
            let refuse = |why: String| {
                let problem = Problem::Include { file: name.clone(), why };
                ExperimentError::at(&file, span.clone(), problem)
            };
            if within.contains(&included) {
                return Err(refuse("it includes itself".to_owned()));
            }
            if self.parts.len() == MOST_FILES {
                return Err(refuse(format!("an experiment has at most {MOST_FILES} files")));
            }
            let text = read(&included).map_err(|error| refuse(error.to_string()))?;
            self.parts.push(Part { name: included.display().to_string(), text });
            let within: Vec<PathBuf> = within.iter().cloned().chain([included.clone()]).collect();
            self.include(&included, &within, read)?;
        }
        Ok(())
    }

    /// One text that says the same without includes.
    pub fn flat(&self) -> String {
        let documents = self.parts.iter().map(|part| part.text.parse::<DocumentMut>());
        let Ok(documents) = documents.collect::<Result<Vec<_>, _>>() else {
            return self.text().to_owned();
        };
        let Some((first, others)) =
            documents.split_first().filter(|(_, others)| !others.is_empty())
        else {
            return self.text().to_owned();
        };
        let mut whole = first.clone();
        for other in others {
            let mut other = other.clone();
            for key in COMBINING_TABLES {
                append_tables(&mut whole, &mut other, key);
            }
            add_missing(whole.as_table_mut(), other.as_table());
        }
        whole.remove("include");
        whole.to_string()
    }

    /// Sets one key: `network.rtt=600ms`, `stack.protocol=["h1", "h2"]`. A value that is not valid TOML is
    /// taken as text, so that quotes need not be smuggled past a shell.
    pub fn set(&mut self, assignment: &str) -> Result<(), ExperimentError> {
        let refuse = |why: &str| {
            let problem = Problem::Override { text: assignment.to_owned(), why: why.to_owned() };
            ExperimentError::at(&Source::new("--set", assignment), 0..assignment.len(), problem)
        };
        let (path, value) = assignment.split_once('=').ok_or_else(|| refuse("write KEY=VALUE"))?;
        let mut document = self.text().parse::<DocumentMut>().map_err(|error| {
            let problem = Problem::Syntax(error.message().to_owned());
            ExperimentError::at(self, error.span().unwrap_or_default(), problem)
        })?;
        let keys: Vec<&str> = path.split('.').map(str::trim).collect();
        if keys.iter().any(|key| key.is_empty()) {
            return Err(refuse("the key has an empty part"));
        }
        let value = value.trim().parse::<Value>().unwrap_or_else(|_| Value::from(value.trim()));
        assign(document.as_table_mut(), &keys, value)
            .ok_or_else(|| refuse("a part of the key is a value, not a table"))?;
        let file = &mut self.parts[0];
        file.text = document.to_string();
        file.name = format!("{} (with --set {assignment})", file.name);
        Ok(())
    }
}

/// The files that `include` names in a text, each with its place. A value of another kind is refused where it is resolved.
fn included(text: &str) -> Vec<(String, Range<usize>)> {
    let Ok(document) = toml_edit::Document::parse(text) else { return Vec::new() };
    let file = |value: &Value| Some((value.as_str()?.to_owned(), value.span().unwrap_or_default()));
    match document.get("include").and_then(Item::as_value) {
        Some(Value::Array(files)) => files.iter().filter_map(file).collect(),
        Some(one) => file(one).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Appends the tables that `key` lists in `other`, and takes them out there.
fn append_tables(whole: &mut DocumentMut, other: &mut DocumentMut, key: &str) {
    let tables = |item: Option<Item>| -> Vec<Table> {
        item.and_then(|item| item.into_array_of_tables().ok())
            .unwrap_or_default()
            .into_iter()
            .collect()
    };
    let added = tables(other.remove(key));
    if added.is_empty() {
        return;
    }
    let all: ArrayOfTables = tables(whole.remove(key)).into_iter().chain(added).collect();
    whole.insert(key, Item::ArrayOfTables(all));
}

/// Adds to a table what another has and it has not.
fn add_missing(table: &mut dyn TableLike, other: &dyn TableLike) {
    for (key, item) in other.iter() {
        match table.get_mut(key) {
            None => {
                table.insert(key, item.clone());
            }
            Some(there) => {
                if let (Some(there), Some(item)) = (there.as_table_like_mut(), item.as_table_like())
                {
                    add_missing(there, item);
                }
            }
        }
    }
}

/// Sets `keys` within `table`, creating tables on the way; `None` if a value is in the way.
fn assign(table: &mut Table, keys: &[&str], value: Value) -> Option<()> {
    let (first, rest) = keys.split_first()?;
    if rest.is_empty() {
        table.insert(first, Item::Value(value));
        return Some(());
    }
    let inner = table.entry(first).or_insert_with(|| Item::Table(Table::new()));
    assign(inner.as_table_mut()?, rest, value)
}
