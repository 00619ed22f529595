//! Experiments: what is compared, run, kept, judged and shown.
//!
//! [`experiment`] turns a TOML file into a [`Plan`] of [`scenario`]s; [`runner`] maps an [`Execute`] over
//! its journeys; [`store`] keeps what they leave behind; [`statistics`] says what may be concluded;
//! [`report`], [`har_export`] and [`csv_export`] show it. Nothing here parses a packet.

#![forbid(unsafe_code)]

pub mod batch;
pub mod calibration;
pub mod csv_export;
pub mod early;
pub mod emulate;
pub mod experiment;
pub mod figures;
pub mod floor;
pub mod har_export;
pub mod judge;
pub mod link_test;
pub mod report;
pub mod runner;
pub mod scenario;
pub mod simulate;
pub mod statistics;
pub mod store;
pub mod study;
pub mod tour;
pub mod traces;
pub mod validate;
pub mod worlds;

mod journey;
mod plan;

pub use journey::{Execute, Floors, JourneyPlan, JourneyResult, MeasuredVisit, seed_of};
pub use plan::{Order, Plan, VERSION};

#[cfg(test)]
mod toy;
