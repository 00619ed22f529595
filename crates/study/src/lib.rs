//! Published studies: their experiments and claims, verdicts and figures.
//!
//! A study is a folder under `studies/`: `study.toml` (its experiments, and the choices where the study does not
//! say), `claims.toml` and further files. They are parsed here into types; mistakes are reported by file and field.
//! Claims are judged in [`judge`](crate::judge).

#![forbid(unsafe_code)]

pub mod bth2013;
mod changes;
mod claim;
pub mod figures;
pub mod judge;
mod laboratory;
mod reduced;
mod run_mode;
mod shipped;
mod study;

pub use changes::{DIGITS, MovedVerdicts, SetupChange, SetupChanges};
pub use claim::{Claim, ClaimKind, Strength};
pub use laboratory::{Laboratory, LaboratoryKind};
pub use reduced::{ReducedExperiment, ReducedGrid};
pub use run_mode::{DEEP, Depth, RunMode};
pub use shipped::{NAMES, shipped};
pub(crate) use study::CAUSES;
pub use study::{Assumption, Role, Setup, Study, StudyError, StudyExperiment};
