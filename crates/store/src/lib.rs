//! The store: one SQLite file, or a PostgreSQL server, that holds runs and all their measurements.
//!
//! One process writes, through the handful of verbs of [`Store`]; any process can read, with farlink or with any
//! SQLite tool. The schema is documented in `docs/store.md`. Rows are keyed by their place in the plan, so that
//! neither the number of workers nor the order of completion shows in the contents; facts of the wall clock are in
//! table `run` alone.

#![forbid(unsafe_code)]

pub mod batch;
pub mod critical;
mod database;
mod digest;
mod error;
pub mod har_export;
mod merge;
mod objects;
mod packed;
mod postgres;
mod proxied;
mod read;
mod rows;
pub mod runner;
mod series;
mod shared;
mod sql;
mod tables;
#[cfg(any(test, feature = "toy"))]
pub mod toy;
mod write;

pub use database::FORMAT;
pub use database::{Store, server_url};
pub use error::StoreError;
pub use merge::Merged;
pub use postgres::without_password;
pub use rows::{JourneyRow, RunFacts, RunId, RunRow, RunState, VisitKey, VisitRow};

#[cfg(test)]
mod tests;
