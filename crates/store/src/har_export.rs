//! HAR 1.2 of a visit (<http://www.softwareishard.com/blog/har-12-spec/>).
//!
//! Data unknown for a simulated visit are the specification's "does not apply": header lists are empty (their sizes
//! are given), `content.size` is the encoded size. Our own fields begin with `_`, as the specification requires.
//! Dates are a fixed start of the plan plus virtual time, so that the same visit gives the same file.

mod build;
mod format;

pub use build::{HarVisit, har, of_stored};
pub use format::Har;

#[cfg(test)]
mod tests;
