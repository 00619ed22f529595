//! Judging: a comparison of a study's claims with the runs of its experiments in the store.
//!
//! [`Measurements`] are read from the store cell by cell; a cell is described by its [`facts`], a load by its
//! [quantities](Queries). A study's `clauses.toml` defines [terms](Terms), arms and grids among them, and the
//! [`Criterion`] that an [expression](Expression) of them must meet; a claim is confirmed if all its clauses hold.
//! The role of chance is documented in [`resample`]. No verdict is written by hand, and a claim that has not been
//! judged states what it waits for.

mod causes;
mod ceiling;
mod clauses;
mod comparison;
mod conclusions;
mod criteria;
mod dataset;
mod evaluation;
mod expression;
mod facts;
mod findings;
mod markdown;
mod measurements;
mod pointwise;
mod quantity;
mod resample;
mod statistic;
mod tables;
mod tally;
mod terms;
mod value;
mod verdict;

pub use causes::{Cause, CauseKind, CauseRun, runs_for_causes};
pub use ceiling::Ceiling;
pub use comparison::{
    Agreement, AgreementCounts, ComparedClaim, WorldComparison, compare, comparison_tables,
};
pub use conclusions::{ConclusionResult, summary};
pub use dataset::{ClauseError, LoadCount};
pub use evaluation::{
    CauseResult, ChangedVerdict, EvaluationError, ExperimentRun, LaboratoryResult, StudyResult,
    VerdictFrequency, evaluate_study,
};
pub use findings::{ClauseResult, Finding, NamedNumber, TestOutcome};
pub use pointwise::PublishedTable;
pub use tables::{DataTable, verdict_tables};
pub use tally::{Counted, Tally, percentage};
pub use verdict::{ClaimResult, Verdict};

pub(crate) use clauses::{ClaimClauses, Clause, Clauses};
pub(crate) use conclusions::Conclusions;
pub(crate) use criteria::Criterion;
pub(crate) use dataset::{Dataset, Sources};
pub(crate) use expression::{Expression, Function, Leaf, Tree};
pub(crate) use facts::{Fact, Facts, Filter};
pub(crate) use measurements::{MeasuredCell, Measurements};
pub(crate) use quantity::{Queries, spread};
pub(crate) use resample::{Estimate, Resample, estimates};
pub(crate) use statistic::Statistic;
pub(crate) use terms::{Grid, MoreTerms, Terms};
pub(crate) use value::{GridPosition, Series, Value};
pub(crate) use verdict::judge_claims;

#[cfg(test)]
mod testdata;
#[cfg(test)]
mod tests;
