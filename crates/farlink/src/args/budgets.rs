//! Options for budgets, of `farlink load` and `farlink run`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::budget::Budget;

#[derive(Args)]
pub struct BudgetArgs {
    /// Budget that the loads must keep, else the exit code is 1: 'plt.p90 < 3s', 'h3 <= h2 * 1.05', 'bytes <= 2MB on 3g'
    /// (repeatable; docs/budgets.md).
    #[arg(long = "assert", value_name = "BUDGET", value_hint = ValueHint::Other)]
    pub budgets: Vec<Budget>,

    /// File of budgets (TOML): assert = ["plt.p90 < 3s"].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub assert_file: Option<PathBuf>,

    /// Write the judgements of the budgets as a JUnit report.
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,

    /// Print broken budgets as annotations of GitHub Actions.
    #[arg(long)]
    pub github: bool,
}
