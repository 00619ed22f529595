//! Experiments: run, kept, judged and shown.
//!
//! [`runner`] maps a [`scenario::Execute`] over the journeys of a [`scenario::Plan`]; [`store`] keeps what they leave behind; [`statistics`] says what may be concluded;
//! [`report`], [`har_export`] and [`csv_export`] show it. Nothing here parses a packet.

#![forbid(unsafe_code)]

pub mod answer;
pub mod batch;
pub mod calibration;
pub mod csv_export;
pub mod early;
pub mod emulate;
pub mod figures;
pub mod floor;
pub mod har_export;
pub mod judge;
pub mod link_test;
pub mod report;
pub mod runner;
pub mod simulate;
pub mod statistics;
pub mod store;
pub mod study;
pub mod tour;
pub mod traces;
pub mod validate;
pub mod worlds;

#[cfg(test)]
mod toy;
