//! The text of an experiment, and single keys set from the command line.
//!
//! An override edits the text, so that the file that is executed, stored and shown in the report is one that
//! can be executed again.

use toml_edit::{DocumentMut, Item, Table, Value};

use super::{ExperimentError, Problem};

/// A named text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
}

impl Source {
    /// The text of the file called `name` in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: text.into() }
    }

    /// The source's name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, overrides included.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Sets one key: `network.rtt=600ms`, `stack.protocol=["h1", "h2"]`. A value that is not valid TOML is
    /// taken as text, so that quotes need not be smuggled past a shell.
    pub fn set(&mut self, assignment: &str) -> Result<(), ExperimentError> {
        let refuse = |why: &str| {
            let problem = Problem::Override { text: assignment.to_owned(), why: why.to_owned() };
            ExperimentError::at(&Source::new("--set", assignment), 0..assignment.len(), problem)
        };
        let (path, value) = assignment.split_once('=').ok_or_else(|| refuse("write KEY=VALUE"))?;
        let mut document = self.text.parse::<DocumentMut>().map_err(|error| {
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
        self.text = document.to_string();
        self.name = format!("{} (with --set {assignment})", self.name);
        Ok(())
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
