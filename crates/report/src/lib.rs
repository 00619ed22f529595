//! A report: one self-contained HTML file, made from the store.
//!
//! Every figure is computed here, in Rust, from stored visits, and stands in a table; the charts are drawn from
//! the same figures by Observable Plot, whose code is part of the file. Without scripts, answers and tables
//! remain. A content security policy keeps the file from accessing the network.
//!
//! The store lacks one thing: the windows of connections over time. The few visits that a report shows in full
//! are observed once more for it ([`Observe`]); windows are shown only if that leaves the same record as the
//! stored one.

#![forbid(unsafe_code)]

pub mod answer;
mod causes;
mod cells;
mod charts;
pub mod escape;
pub mod frame;
mod heat_map;
mod html;
mod keys;
pub mod mechanism;
mod methods;
pub mod number;
mod on_the_way;
mod pages;
mod pair_tests;
pub mod rows;
mod summary;
mod tables;
pub mod traces;
mod watched;
mod waterfall;

use thiserror::Error;

pub use self::watched::Observe;
use store::{RunId, Store, StoreError, VisitKey};
pub use summary::Punctuality;

/// Failed to make the report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run has nothing to show.
    #[error("run {run} holds no journeys yet; run the experiment first")]
    Empty {
        /// The run.
        run: i64,
    },
}

/// The report of `run`, with the waterfalls of `visits`; if empty, the median visit of each arm under the first
/// condition is shown. `observe` runs their journeys once more.
pub fn html(
    store: &Store,
    run: RunId,
    visits: &[VisitKey],
    observe: &Observe<'_>,
) -> Result<String, ReportError> {
    let summary = summary::ReportSummary::gather(store, run)?;
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

/// The first part of the report of `run` as HTML without scripts: the answer and the figures.
pub fn answer(store: &Store, run: RunId) -> Result<String, ReportError> {
    Ok(html::first_part(&summary::ReportSummary::gather(store, run)?))
}

/// The answer of `run`, in the sentences that its report begins with.
pub fn sentences(store: &Store, run: RunId) -> Result<Vec<String>, ReportError> {
    let summary = summary::ReportSummary::gather(store, run)?;
    Ok(answer::Answers::of(&summary).sentences())
}

#[cfg(test)]
mod tests;
