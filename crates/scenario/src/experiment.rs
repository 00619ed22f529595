//! An experiment: a TOML file that spans a grid of scenarios.
//!
//! A key that holds a list is an axis; the grid is the product of all axes. Typed input and resolved plan are
//! two types: a [`Plan`](crate::Plan) that exists is valid. [`Source`] is the text, with single keys set from the
//! command line; a [`Catalogue`] knows the names in it. `docs/experiment.md` documents the format.

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::{NetworkSpec, PageRef};

mod error;
mod resolve;
mod schema;
mod tree;

#[cfg(test)]
mod tests;

pub use error::{ExperimentError, Problem};
// Validation suites are read with the same parts.
pub use resolve::{
    FORMAT, cells, check_format, integer, missing, once, resolve, text, untyped, value,
};
pub use schema::schema;
pub use tree::{Leaf, Node, OneOrMany, Scalar, Tree, leaves, take};

/// Checks names while an experiment is read, so that an unknown one is reported with its position.
pub trait Catalogue {
    /// Checks that the page, or every page of a list, can be loaded. Anything read from files has the digest of
    /// their contents.
    fn page(&self, spec: &str) -> Result<PageRef, NameError>;
    /// Checks that the network is complete and known. One from a file has the digest of its contents.
    fn network(&self, network: &NetworkSpec) -> Result<Option<String>, NameError>;
    /// Checks that the device profile is known. One from a file has the digest of its contents.
    fn device(&self, name: &str) -> Result<Option<String>, NameError>;
    /// Checks that the browser policy is known.
    fn browser(&self, name: &str) -> Result<(), NameError>;
    /// Checks that the mapping of priorities is known. One from a file has the digest of its contents.
    fn priorities(&self, name: &str) -> Result<Option<String>, NameError>;
    /// Checks that the PAC file can be run. Returns the digest of its contents.
    fn pac(&self, path: &str) -> Result<Option<String>, NameError>;
}

/// Refusal of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    /// One sentence without a full stop: "unknown device `deskop`; known: ...".
    pub message: String,
    /// Advice on fixing it: "did you mean `desktop`?".
    pub hint: Option<String>,
}

// The text of an experiment, and single keys set from the command line.
//
// An override edits the text, so that the file that is executed, stored and shown in the report is one that
// can be executed again.

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
