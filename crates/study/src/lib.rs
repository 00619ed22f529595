//! Published studies: what they did, what they claim.
//!
//! A study is a folder under `studies/`: `study.toml` (its experiments, and what was chosen where it does
//! not say) and `claims.toml`. They are read here into types; what is wrong is named by file and field.
//! Nothing here judges a claim: [`judge`](crate::judge) does.

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
