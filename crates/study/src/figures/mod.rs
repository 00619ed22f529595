//! A study's own figures, drawn from our runs of its experiments.
//!
//! What a figure shows stands in `studies/NAME/figures.toml`, in the words of the study's clauses: arms, grids, quantities,
//! expressions. Here is what kinds of figures there are ([`kind`]), how each is worked out of a store, and the page that they stand
//! on. A new study needs a file and no code. Each figure carries the rows that it is drawn from as CSV, and only those: quartiles,
//! means, at most [`cumulative::MOST_POINTS`] points of a distribution.

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
    /// The study's folder is not right.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A figure says what cannot be.
    #[error("{study}/figures.toml: `{figure}`: {fault}")]
    Figure {
        /// Which study.
        study: String,
        /// Which figure.
        figure: String,
        /// Why.
        fault: Fault,
    },
}

#[cfg(test)]
mod tests;
