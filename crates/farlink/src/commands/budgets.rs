//! Budgets of a command: read, checked before anything is loaded, and judged afterwards.

use std::path::Path;

use scenario::Plan;
use serde::Deserialize;
use toml::Spanned;

use super::{files, output};
use crate::args::BudgetArgs;
use crate::budget::{self, Budget};
use crate::failure::{CliError, ExitCode};
use crate::show::arms::{self, Arm};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetFile {
    assert: Vec<Spanned<String>>,
}

/// The budgets of a command.
pub struct Budgets<'a> {
    args: &'a BudgetArgs,
    budgets: Vec<Budget>,
}

impl Budgets<'_> {
    /// Reads the budgets, and rejects those that the loads of `plan` cannot keep or break.
    pub fn of<'a>(args: &'a BudgetArgs, plan: &Plan) -> Result<Budgets<'a>, CliError> {
        Budgets::for_arms(args, &arms::group(plan, Vec::new()))
    }

    /// The same for `arms`, which need no loads yet.
    pub fn for_arms<'a>(args: &'a BudgetArgs, arms: &[Arm]) -> Result<Budgets<'a>, CliError> {
        let mut budgets = args.budgets.clone();
        if let Some(path) = &args.assert_file {
            budgets.extend(read(path)?);
        }
        if let Some(path) = &args.junit {
            files::check_place(path)?;
        }
        if budgets.is_empty() && (args.junit.is_some() || args.github) {
            let option = if args.github { "--github" } else { "--junit" };
            return Err(CliError::bad_input(format!(
                "{option} reports budgets, and there are none"
            ))
            .hint("add --assert 'plt.p90 < 3s'".to_owned()));
        }
        budget::check(&budgets, arms)?;
        Ok(Budgets { args, budgets })
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty()
    }

    /// Judges the budgets by the loads of `arms`, and reports them: to standard error if `is_data` goes to standard output.
    pub fn judge(&self, arms: &[Arm], suite: &str, is_data: bool) -> Result<ExitCode, CliError> {
        let judgements = budget::judge(&self.budgets, arms);
        let mut told = budget::text(&judgements);
        if self.args.github {
            told += &budget::github(&judgements);
        }
        match is_data {
            true => anstream::eprint!("{told}"),
            false if !told.is_empty() => output::print(format!("\n{told}"))?,
            false => {}
        }
        if let Some(path) = &self.args.junit {
            files::write_whole(path, budget::junit(&judgements, suite).as_bytes())?;
        }
        Ok(match judgements.iter().all(|judgement| judgement.is_kept) {
            true => ExitCode::Success,
            false => ExitCode::Failed,
        })
    }
}

fn read(path: &Path) -> Result<Vec<Budget>, CliError> {
    let shown = path.display();
    let refused = |at: Option<(usize, &str)>, problem: String| {
        let line = at.map(|(at, text)| {
            let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
            format!(":{line}")
        });
        CliError::bad_input(format!("{shown}{}: {problem}", line.unwrap_or_default()))
            .hint("write assert = [\"plt.p90 < 3s\", \"h3 <= h2 * 1.05\"]".to_owned())
    };
    let text = std::fs::read_to_string(path).map_err(|error| refused(None, error.to_string()))?;
    let file: BudgetFile = toml::from_str(&text).map_err(|error| {
        let at = error.span().map(|span| (span.start, text.as_str()));
        refused(at, error.message().trim_end().to_owned())
    })?;
    let budget = |written: &Spanned<String>| {
        written.get_ref().parse::<Budget>().map_err(|problem| {
            let at = Some((written.span().start, text.as_str()));
            refused(at, format!("`{}`: {problem}", written.get_ref()))
        })
    };
    file.assert.iter().map(budget).collect()
}
