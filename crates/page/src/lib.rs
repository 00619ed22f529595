//! The object graph of a web page, and where pages come from: HAR files, generators, studies.
//!
//! A page says what must be fetched and what waits for what. It knows nothing of networks,
//! protocols or results.

#![forbid(unsafe_code)]

pub mod graph;

pub use graph::{
    After, Edge, Estimate, Host, HostId, Kind, Object, ObjectId, Page, Priority, Provenance,
    Skipped,
};
