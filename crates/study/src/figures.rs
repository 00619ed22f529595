//! A study's own figures, drawn from our runs of its experiments.
//!
//! The content of figures is defined in `studies/NAME/figures.toml`, in the terms of the study's clauses: arms,
//! grids, quantities, expressions. This module has the kinds of figures ([`kind`]), their computation from a
//! store, and the page that shows them. A new study needs a file and no code. Each figure carries the rows that
//! it is drawn from as CSV, and only those: quartiles, means, at most [`cumulative::MOST_POINTS`] points of a
//! distribution.

mod boxes;
mod compared;
mod cumulative;
mod curves;
mod drawn;
mod file;
mod kind;
mod loads;
mod numbers;
mod packet_sizes;
mod page;
mod seconds;
mod single;
mod sources;
mod stacked;
mod timelines;
mod windows;

use thiserror::Error;

pub use self::file::{FILE, Figure, Figures};
pub use self::page::html;
use crate::StudyError;
use crate::judge::Fault;
use store::StoreError;

/// Failed to draw figures.
#[derive(Debug, Error)]
pub enum FiguresError {
    /// The study's folder is invalid.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A figure with an invalid definition.
    #[error("{study}/figures.toml: `{figure}`: {fault}")]
    Figure {
        /// The study.
        study: String,
        /// The figure.
        figure: String,
        /// The reason.
        fault: Fault,
    },
}

#[cfg(test)]
mod tests;
