//! An experiment: a TOML file that spans a grid of scenarios.
//!
//! A key that holds a list is an axis; the grid is the product of all axes, without the combinations that the file
//! excludes. Typed input and resolved plan are two types: a [`Plan`](crate::Plan) that exists is valid. [`Source`] is the text, with single keys set from the
//! command line; a [`Catalogue`] knows the names in it. `docs/experiment.md` documents the format.

use crate::{NetworkSpec, PageRef};

mod error;
mod resolve;
mod schema;
mod source;
mod tree;

#[cfg(test)]
mod tests;

pub use error::{ExperimentError, Problem};
// Validation suites are read with the same parts.
pub use resolve::{
    FORMAT, cells, check_format, integer, missing, once, resolve, text, untyped, value,
};
pub use schema::schema;
pub use source::Source;
pub use tree::{Document, Leaf, Node, OneOrMany, Scalar, Tree, leaves, take};

/// Checks names while an experiment is read, so that an unknown one is reported with its position.
pub trait Catalogue {
    /// Checks that the page, or every page of a list, can be loaded. Anything read from files has the digest of
    /// their contents.
    fn page(&self, spec: &str) -> Result<PageRef, NameError>;
    /// The files that a path with `*` stands for, sorted; any other text stands for itself. They are
    /// read when they are loaded: one that cannot be read is a journey that failed.
    fn pages_like(&self, pattern: &str) -> Result<Vec<String>, NameError> {
        Ok(vec![pattern.to_owned()])
    }
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
