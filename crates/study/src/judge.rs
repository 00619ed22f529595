//! Judging: a comparison of a study's claims with the runs of its experiments in the store.
//!
//! [`measured`] reads the store cell by cell; a cell is described by its [`facts`], a load by its
//! [quantities](Quantity). A study's `clauses.toml` defines [terms](Terms), arms and grids among them, and the
//! [`Test`] that an [expression](Expression) of them must pass; a claim is confirmed if all its clauses hold.
//! The role of chance is documented in [`draw`]. No verdict is written by hand, and a claim that has not been
//! judged states what it waits for.

pub mod facts;
pub mod measured;

mod causes;
mod chance;
mod clauses;
mod comparison;
mod comparison_page;
mod conclusions;
mod conclusions_page;
mod draw;
mod estimate;
mod evaluate;
mod expression;
mod finding;
mod frame;
mod hearing;
mod inquiry;
mod laboratories;
mod page;
mod quantity;
mod reasons;
mod series;
mod shown;
mod statistic;
mod swapped;
mod tally;
mod terms;
mod test;
mod verdict;

pub use causes::{Cause, Run, Whose, runs_for_causes};
pub use chance::Chance;
pub use clauses::{Cases, ClaimClauses, Clause, Clauses, FILE};
pub use comparison::{Agreement, Agreements, Both, Comparison, ReducedRuns, compare};
pub use comparison_page::{comparison_markdown, percentage};
pub use conclusions::{Compared, Concluded, Conclusions, Saved, Since, Way};
pub use conclusions_page::summary;
pub use draw::{DRAWS, Draw};
pub use estimate::{Estimate, estimates};
pub use expression::{Expression, Function, Leaf, Operator, Tree};
pub use facts::{Fact, Facts, Filter};
pub use finding::{Figure, Finding, Found, Outcome};
pub use frame::{Fault, Frame, Grounds, Sources};
pub use hearing::{Elsewhere, Evidence, Hearing, HearingError, Shown, hear};
pub use laboratories::Turn;
pub use measured::{Cell, Measured, Portion};
pub use page::markdown;
pub use quantity::{Load, Quantity, spread, stood};
pub use series::{Place, Value};
pub use statistic::Statistic;
pub use tally::{Counted, Tally};
pub use terms::{Column, Grid, Terms};
pub use test::{Reading, Test};
pub use verdict::{Judged, Verdict, judge};

#[cfg(test)]
mod bench;
#[cfg(test)]
mod tests;
