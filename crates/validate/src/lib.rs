//! Validation: one suite of scenarios in both worlds, and an assessment of the difference.
//!
//! A [`Suite`] names scenarios; each is measured in several [`MeasuredWorld`]s - simulated, emulated with farlink's
//! loader, emulated with Chromium - by runs in a store. [`gather`] reads them, [`judge`] compares the
//! simulation (and a Lantern-like model) with the emulation, [`report`] shows the result.
//! `docs/validation-suites.md` documents the format and the computation of the figures.

#![forbid(unsafe_code)]

pub mod calibration;
mod cell;
mod estimate;
mod judge;
mod lantern;
mod read;
pub mod report;
mod suite;
mod target;

pub use cell::{Better, DIFFERS, Figure, percent};
pub use cell::{Cell, Measured, gather, gather_first};
pub use estimate::{Estimate, estimate};
pub use judge::{
    Bias, BrowserCell, CoalescedCell, Judgement, NETWORK_RULES, PairResult, Row, SPLITS,
    SubjectResult, coalesced_difference, judge,
};
pub use suite::MeasuredWorld;
pub use suite::Shipped;
pub use suite::{Calibrated, Loads, MoreLoads, Needs, Part, PartPlan, Suite};
pub use target::{ChromiumFigure, Gauge, Target, TargetOutcome, TargetResult};
