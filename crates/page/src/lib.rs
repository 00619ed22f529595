//! The object graph of a web page, and where pages come from: HAR files, generators, studies.
//!
//! A page says what must be fetched and what waits for what. It knows nothing of networks,
//! protocols or results. [`open`] takes whatever a person may name a page by.

#![forbid(unsafe_code)]

pub mod browsable;
mod error;
pub mod file;
pub mod generate;
pub mod graph;
pub mod har;
mod load;
mod open;
mod show;
mod summary;
pub mod write;

pub use browsable::{Browsable, Content, browsable};
pub use error::Error;
pub use generate::calibration_pages;
pub use graph::{
    After, BodySource, Edge, Estimate, Host, HostId, Kind, Object, ObjectId, Page, Priority,
    Provenance, SkipReason, Skipped,
};
pub use open::{CatalogueEntry, catalogue, open};
pub use show::Table;
pub use summary::{Counts, Summary};
