//! The store: one SQLite file that holds runs and all their measurements.
//!
//! One process writes, through the handful of verbs of [`Store`]; any process can read, with farlink or with any
//! SQLite tool. The schema is documented in `docs/store.md`. Rows are keyed by their place in the plan, so that
//! neither the number of workers nor the order of completion shows in the contents; facts of the wall clock are in
//! table `run` alone.

#![forbid(unsafe_code)]

pub mod batch;
pub mod critical;
pub mod csv_export;
mod database;
mod digest;
pub mod early;
mod error;
pub mod har_export;
mod objects;
mod packed;
pub mod parquet_export;
mod proxied;
mod read;
mod rows;
pub mod runner;
mod series;
mod tables;
#[cfg(any(test, feature = "toy"))]
pub mod toy;
mod visit_table;
mod write;

pub use database::FORMAT;
pub use database::Store;
pub use error::StoreError;
pub use rows::{JourneyRow, RunFacts, RunId, RunRow, RunState, VisitKey, VisitRow};

#[cfg(test)]
mod tests;
