//! A report: one HTML file that holds everything it needs, made from the store.
//!
//! Every figure is computed here, in Rust, from stored visits, and stands in a table; the charts are
//! drawn from the same figures by Observable Plot, whose code is part of the file. Without scripts the
//! answers and tables are still there. A content security policy keeps the file from asking the network
//! for anything.
//!
//! One thing the store does not have: how the windows of connections moved. The few visits that a report shows in full are watched
//! once more for it ([`Observe`]), which shows nothing unless it leaves the same record as the one stored.

#![forbid(unsafe_code)]

pub mod answer;
mod cells;
mod charts;
mod energy;
pub mod escape;
pub mod frame;
mod html;
mod keys;
pub mod mechanism;
pub mod number;
mod pages;
mod punctuality;
pub mod rows;
mod summary;
mod tables;
pub mod traces;
mod verdicts;
mod watched;
mod waterfall;

use thiserror::Error;

pub use self::punctuality::Punctuality;
pub use self::watched::Observe;
use store::{RunId, Store, StoreError, VisitKey};

/// Failed to make the report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run has nothing to show.
    #[error("run {run} holds no journeys yet; run the experiment first")]
    Empty {
        /// Which run.
        run: i64,
    },
}

/// The report of `run`, with the waterfalls of `visits`; with none named, the median visit of each arm
/// under the first condition is shown. `observe` shows their journeys once more.
pub fn html(
    store: &Store,
    run: RunId,
    visits: &[VisitKey],
    observe: &Observe<'_>,
) -> Result<String, ReportError> {
    let summary = summary::Summary::gather(store, run)?;
    let chosen = match visits {
        [] => summary.median_visits(),
        named => named.to_vec(),
    };
    let waterfalls = chosen
        .into_iter()
        .map(|key| waterfall::Waterfall::gather(store, &summary, key, observe))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(html::document(&summary, &waterfalls))
}

/// The answer of `run`, in the sentences that its report begins with.
pub fn sentences(store: &Store, run: RunId) -> Result<Vec<String>, ReportError> {
    let summary = summary::Summary::gather(store, run)?;
    Ok(verdicts::Verdicts::of(&summary).sentences())
}

#[cfg(test)]
mod tests;
