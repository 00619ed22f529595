//! The report of a validation: one HTML file, made from a judgement alone.
//!
//! It shares the frame and the look of an experiment's report (`report`); every figure stands in a table, and
//! charts are drawn from the same figures.

mod charts;
mod html;
mod tables;

pub use html::{Facts, html};
