//! An experiment: a TOML file that spans a grid of scenarios.
//!
//! A key that holds a list is an axis; the grid is the product of all axes. Typed input and resolved plan are
//! two types: a [`Plan`](crate::Plan) that exists is valid. The format is documented, with examples, in
//! `docs/experiment.md`.

mod axis;
mod catalogue;
mod error;
mod overrides;
mod resolve;
mod tree;

pub use catalogue::{Catalogue, Refusal};
pub use error::{ExperimentError, Problem};
pub use overrides::Source;
pub use resolve::{FORMAT, resolve};
// A validation suite is read in the same way.
pub use axis::{Axis, Scalar};
pub use resolve::{cells, check_format, integer, missing, once, text, untyped, value};
pub use tree::{Leaf, Node, Tree, leaves, take};

#[cfg(test)]
mod tests;
