//! Budgets: limits on what loads take, for CI. A broken budget makes the exit code 1.

mod expression;
mod judgement;
mod metric;
mod output;

pub use expression::Budget;
pub use judgement::{check, judge};
pub use metric::{Metric, metric};
pub use output::{github, junit, text};
