//! Errors of an export.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use store::StoreError;
use thiserror::Error;

/// Failed to export a table.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A journey cannot be observed again.
    #[error("the packets of journey {journey} cannot be seen again: {why}")]
    NotObserved {
        /// Its position in the plan.
        journey: u64,
        /// The reason.
        why: String,
    },
    /// The file cannot be written.
    #[error("the table cannot be written: {0}")]
    Arrow(#[from] ArrowError),
    /// The Parquet file cannot be written.
    #[error("the table cannot be written: {0}")]
    Parquet(#[from] ParquetError),
}
