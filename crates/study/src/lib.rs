//! Published studies: their experiments and claims.
//!
//! A study is a folder under `studies/`: `study.toml` (its experiments, and the choices where the study does
//! not say) and `claims.toml`. They are parsed here into types; mistakes are reported by file and field.
//! Judging claims is left to [`judge`](crate::judge).

#![forbid(unsafe_code)]

pub mod bth2013;
mod changes;
mod check;
mod claim;
mod draws;
mod error;
pub mod figures;
pub mod judge;
mod laboratory;
mod manner;
mod reduced;
mod setup;
mod shipped;
mod whole;

pub use changes::{Change, Changes, DIGITS, Moved};
pub use check::{Band, Check, Direction};
pub use claim::{Claim, Kind, Strength};
pub use error::StudyError;
pub use laboratory::{Laboratory, LaboratoryKind};
pub use manner::{DEEP, Depth, Manner};
pub use reduced::{ReducedExperiment, ReducedGrid};
pub(crate) use setup::CAUSES;
pub use setup::{Assumption, Role, Setup, StudyExperiment};
pub use shipped::{NAMES, shipped};
pub use whole::Study;
pub(crate) use whole::{known_format, typed};
