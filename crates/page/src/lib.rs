//! The object graph of a web page, and sources of pages: HAR files, generators, studies, draws from totals.
//!
//! A page states the objects to fetch and their dependencies. It knows nothing of networks, protocols or results.
//! [`open`] accepts any name of a page.

#![forbid(unsafe_code)]

pub mod browsable;
mod caution;
mod draw;
mod error;
pub mod file;
pub mod generate;
pub mod graph;
pub mod har;
mod list;
mod open;
mod rendering;
mod show;
mod transform;
mod union;
pub mod write;

pub use browsable::{Browsable, Content, browsable};
pub use caution::Caution;
pub use error::Error;
pub use generate::calibration_pages;
pub use graph::{
    After, BodySource, Edge, Estimate, Host, HostId, Kind, Object, ObjectId, Page, Priority,
    Provenance, SkipReason, Skipped,
};
pub use list::{List, Listed, is_list};
pub use open::{CatalogueEntry, catalogue, files, open};
pub use show::Table;
pub use show::{Counts, Summary};
pub use transform::of_several;
pub use union::{Member, Union};
