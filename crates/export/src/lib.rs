//! Tables of a run as Parquet, Arrow and CSV files, for notebooks, DuckDB and statistics packages.
//!
//! A [`Table`] is a list of columns, each with a type, a description and a function that reads it; files, the data
//! dictionary (`docs/data-dictionary.md`) and the metadata of Arrow fields all come from that list. Rows are read
//! some thousand visits at a time, so that memory does not grow with the run.

#![forbid(unsafe_code)]

mod column;
mod details;
mod dictionary;
mod error;
mod packets;
mod rows;
mod series;
mod tables;
mod visits;
mod write;

pub use column::{Column, Kind};
pub use dictionary::markdown;
pub use error::ExportError;
pub use packets::PacketRow;
pub use rows::schema;
pub use tables::{TABLES, Table, named};
pub use write::{Format, ObservePackets, batches, write};
