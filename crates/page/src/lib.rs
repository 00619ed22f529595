//! The object graph of a web page, and sources of pages: HAR files, generators, studies, draws from totals.
//!
//! A page states the objects to fetch and their dependencies. It knows nothing of networks, protocols or results.
//! [`open`] accepts any name of a page.

#![forbid(unsafe_code)]

mod archived;
pub mod browsable;
mod caution;
mod draw;
mod error;
pub mod file;
pub mod generate;
pub mod graph;
pub mod har;
mod list;
mod lookahead;
mod open;
mod recording;
mod rendering;
mod show;
mod site;
mod transform;
mod union;
pub mod write;

pub use self::browsable::{Browsable, Content, browsable};
pub use self::caution::Caution;
pub use self::error::Error;
pub use self::generate::calibration_pages;
pub use self::graph::{
    After, BodyCoding, BodySource, Edge, HostId, Kind, Object, ObjectId, ObjectPriority, Page,
    PageHost, Provenance, SizeEstimate, SkipReason, Skipped,
};
pub use self::list::{List, ListEntry, is_list};
pub use self::open::{CatalogueEntry, catalogue, files, open, open_with};
pub use self::recording::{
    RateEstimate, RecordedNetwork, RecordedTimes, Recording, RoundTripEstimate,
};
pub use self::show::{PageSummary, PageTable, ResourceCounts};
pub use self::transform::of_several;
pub use self::union::{Union, UnionMember};
