//! Judgements of budgets: each is checked for every arm and condition that it is for.

use scenario::nearest;
use scenario::settings::{SETTINGS, SettingRole};
use statistics::Sample;

use super::expression::{Budget, Limit, Quantity};
use super::metric::FAILED;
use crate::failure::CliError;
use crate::show::arms::{self, Arm};

/// A budget for an arm under one condition.
pub struct Judgement {
    /// The budget as written.
    pub budget: String,
    /// The arm, with its condition if those vary.
    pub arm: String,
    /// True if it is kept.
    pub is_kept: bool,
    /// The figures, or why there are none: `4.97 s, limit 6 s`.
    pub finding: String,
}

/// Rejects budgets for arms, conditions and metrics that these loads will not have. `arms` need no loads yet.
pub fn check(budgets: &[Budget], arms: &[Arm]) -> Result<(), CliError> {
    for budget in budgets {
        let refused =
            |problem: String| CliError::bad_input(format!("--assert `{budget}`: {problem}"));
        if let Some(condition) = &budget.condition
            && !arms.iter().any(|arm| is_under(arm, condition))
        {
            let known: Vec<String> = arms.iter().flat_map(conditions).collect();
            let meant = nearest(condition, known.iter().map(String::as_str));
            let hint = meant.map(|meant| format!("did you mean `on {meant}`?"));
            return Err(refused(format!("nothing is loaded on {condition}")).hint(hint));
        }
        for quantity in [Some(&budget.quantity), budget.limit.quantity()].into_iter().flatten() {
            check_quantity(quantity, arms)
                .map_err(|(problem, hint)| refused(problem).hint(hint))?;
        }
    }
    Ok(())
}

fn check_quantity(quantity: &Quantity, arms: &[Arm]) -> Result<(), (String, String)> {
    let of: Vec<&Arm> = arms.iter().filter(|arm| is_meant(quantity, arm)).collect();
    if of.is_empty() {
        let mut names: Vec<&str> = arms.iter().map(Arm::name).collect();
        names.dedup();
        let arm = quantity.arm.as_deref().unwrap_or_default();
        return Err((format!("no arm is `{arm}`"), format!("arms are {}", names.join(", "))));
    }
    let paints = |arm: &&Arm| arm.scenario().client.program != scenario::Program::Loader;
    if quantity.metric.is_painted && !of.iter().any(paints) {
        let problem = format!("`{}` needs a browser that paints", quantity.metric.name);
        return Err((problem, "add --client chromium, or limit `render`, an estimate".to_owned()));
    }
    Ok(())
}

/// Judges all budgets.
pub fn judge(budgets: &[Budget], arms: &[Arm]) -> Vec<Judgement> {
    let groups: Vec<&[Arm]> = arms::by_condition(arms).collect();
    let judged = |budget: &Budget| -> Vec<Judgement> {
        let of_group = |arms: &[Arm]| -> Vec<Judgement> {
            let is_for = |arm: &&Arm| {
                budget.condition.as_ref().is_none_or(|condition| is_under(arm, condition))
                    && is_meant(&budget.quantity, arm)
            };
            arms.iter().filter(is_for).map(|arm| judge_one(budget, arm, arms)).collect()
        };
        groups.iter().flat_map(|arms| of_group(arms)).collect()
    };
    budgets.iter().flat_map(judged).collect()
}

fn judge_one(budget: &Budget, arm: &Arm, beside: &[Arm]) -> Judgement {
    let kind = budget.quantity.metric.kind;
    let figures = || -> Result<(f64, f64), String> {
        let value = value(&budget.quantity, arm)?;
        let limit = match &budget.limit {
            Limit::Value(limit) => *limit,
            Limit::Relative { quantity, factor, plus } => {
                // Cold and warm loads are limited by their like.
                let mut others = beside.iter().filter(|other| is_meant(quantity, other));
                let other = others
                    .clone()
                    .find(|other| other.view() == arm.view())
                    .or_else(|| others.next())
                    .ok_or("the other arm was not loaded under this condition")?;
                self::value(quantity, other)? * factor + plus
            }
        };
        Ok((value, limit))
    };
    let (is_kept, finding) = match figures() {
        Ok((value, limit)) => {
            let is_kept = budget.relation.holds(value, limit);
            let (value, limit) = (kind.show(value), kind.show(limit));
            let sign = budget.relation.sign();
            let not = if is_kept { "" } else { "not " };
            (is_kept, format!("{value}, {not}{sign} {limit}"))
        }
        Err(problem) => (false, problem),
    };
    let text = budget.to_string();
    Judgement { budget: text, arm: arm.label().to_owned(), is_kept, finding }
}

/// The value of a quantity of an arm; why there is none otherwise.
fn value(quantity: &Quantity, arm: &Arm) -> Result<f64, String> {
    let (failed, attempts) = (arm.failed(), arm.attempts());
    if attempts == 0 {
        return Err(format!("{}: not loaded", arm.name()));
    }
    if quantity.metric.name == FAILED {
        return Ok(failed as f64 / attempts as f64);
    }
    if failed > 0 {
        return Err(format!("{}: {failed} of {attempts} loads failed", arm.name()));
    }
    let values = arm.loads().iter().filter_map(|load| (quantity.metric.of)(&load.visit));
    let sample = Sample::new(values);
    let sample =
        sample.ok_or_else(|| format!("{}: no load has a {}", arm.name(), quantity.metric.name))?;
    Ok(quantity.statistic.of(&sample))
}

fn is_meant(quantity: &Quantity, arm: &Arm) -> bool {
    quantity.arm.as_ref().is_none_or(|name| name == arm.name() || name == arm.stack())
}

fn is_under(arm: &Arm, condition: &str) -> bool {
    arm.condition().split(' ').any(|word| word == condition)
        || conditions(arm).iter().any(|value| value == condition)
}

/// The values of the settings that are conditions of an arm.
fn conditions(arm: &Arm) -> Vec<String> {
    let own = SETTINGS.iter().filter(|setting| setting.role == SettingRole::Condition);
    own.map(|setting| setting.get(arm.scenario())).filter(|value| !value.is_empty()).collect()
}

impl Limit {
    fn quantity(&self) -> Option<&Quantity> {
        match self {
            Limit::Value(_) => None,
            Limit::Relative { quantity, .. } => Some(quantity),
        }
    }
}
