//! Tests of pairs of arms, for a paper: differences with intervals, Wilcoxon's signed-rank test with its effect size, adjusted for the number
//! of tests, and equivalence.

use std::collections::BTreeMap;

use serde::Serialize;
use statistics::{Pair, Sample, gain, holm, wilcoxon};

use super::cells::{LoadIndex, ReportCell};
use super::escape::html;
use super::rows::csv;
use super::summary::ReportSummary;

/// Differences within this are of no consequence.
const EQUIVALENT: f64 = 0.05;

/// Most rows that are also a table; all are in the CSV.
const MOST_IN_TABLE: usize = 150;

/// Test of two arms under a condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairTest {
    /// The condition.
    pub condition: String,
    /// The arm.
    pub arm: String,
    /// The arm that it is compared with.
    pub against: String,
    /// Number of pairs of loads.
    pub pairs: usize,
    /// Median load time of the arm, ms.
    pub median_ms: f64,
    /// That of the other.
    pub against_ms: f64,
    /// Change of the median from the other to the arm, percent.
    pub change_percent: f64,
    /// Lower end of the change's 95 % interval.
    pub low_percent: Option<f64>,
    /// Upper end.
    pub high_percent: Option<f64>,
    /// Probability of Wilcoxon's signed-rank test.
    pub p: f64,
    /// The same adjusted by Holm for all tests of the run.
    pub p_holm: f64,
    /// Matched-pairs rank-biserial correlation: -1 if the arm is faster in all pairs.
    pub effect: f64,
    /// `different` if the adjusted probability is below 5 %, `equivalent` if the interval lies within 5 % either way, else `undecided`.
    pub verdict: &'static str,
}

/// Tests of all pairs of arms under each condition.
pub fn all(summary: &ReportSummary) -> Vec<PairTest> {
    let mut tests = Vec::new();
    for condition in 0..summary.conditions.len() {
        let cells: Vec<&ReportCell> =
            (0..summary.arms.len()).filter_map(|arm| summary.cell(arm, condition)).collect();
        for (index, other) in cells.iter().enumerate() {
            tests.extend(cells[index + 1..].iter().filter_map(|one| of(summary, one, other)));
        }
    }
    let adjusted = holm(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
    for (test, adjusted) in tests.iter_mut().zip(adjusted) {
        test.p_holm = adjusted;
        test.verdict = verdict(test);
    }
    tests
}

/// The test of two cells, before the adjustment; `None` without pairs.
fn of(summary: &ReportSummary, one: &ReportCell, other: &ReportCell) -> Option<PairTest> {
    let times = |cell: &ReportCell| -> BTreeMap<LoadIndex, f64> {
        cell.loaded().map(|(index, _, plt)| (index, plt)).collect()
    };
    let second = times(other);
    let pairs = times(one).into_iter();
    let pairs: Vec<Pair> = pairs
        .filter_map(|(index, first)| Some(Pair { first, second: *second.get(&index)? }))
        .collect();
    let test = wilcoxon(&pairs)?;
    let median = |of: fn(&Pair) -> f64| Some(Sample::new(pairs.iter().map(of))?.median());
    let (median_ms, against_ms) = (median(|it| it.first)?, median(|it| it.second)?);
    // The gain is the first over the second: the change from the second to the first.
    let ends = gain(&pairs, summary.run.seed).and_then(|(_, ends)| ends.ok());
    let percent = |ratio: f64| rounded(100.0 * (ratio - 1.0));
    Some(PairTest {
        condition: summary.conditions[one.condition].label.clone(),
        arm: summary.arms[one.arm].clone(),
        against: summary.arms[other.arm].clone(),
        pairs: pairs.len(),
        median_ms: rounded(median_ms),
        against_ms: rounded(against_ms),
        change_percent: percent(median_ms / against_ms),
        low_percent: ends.map(|(low, _)| percent(low.ratio())),
        high_percent: ends.map(|(_, high)| percent(high.ratio())),
        p: test.p,
        p_holm: 1.0,
        effect: rounded(test.effect),
        verdict: "undecided",
    })
}

fn verdict(test: &PairTest) -> &'static str {
    let limit = 100.0 * EQUIVALENT;
    match (test.low_percent, test.high_percent) {
        (Some(low), Some(high)) if low > -limit && high < limit => "equivalent",
        _ if test.p_holm < 0.05 => "different",
        _ => "undecided",
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// The tests, folded: a table, and all of them as CSV. Empty with a single arm.
pub fn section(summary: &ReportSummary) -> String {
    let tests = all(summary);
    if tests.is_empty() {
        return String::new();
    }
    let table = if tests.len() <= MOST_IN_TABLE { table(&tests) } else { String::new() };
    format!(
        "<details><summary>Tests of all pairs, for a paper</summary>\
         <p class=\"small\">Change of the median load time from one arm to another, with 95 % bootstrap intervals over pairs; Wilcoxon's signed-rank test, \
         two-sided, its probabilities adjusted for {} by Holm's method; effect: matched-pairs rank-biserial correlation, -1 if the arm \
         is faster in all pairs. Equivalent: the interval lies within 5 % either way, and no difference above 5 % is plausible.</p>\
         {table}<pre tabindex=\"0\" id=\"tests\" class=\"csv\">{}</pre></details>",
        match tests.len() {
            1 => "one test".to_owned(),
            n => format!("all {n} tests"),
        },
        html(&csv(&tests))
    )
}

fn table(tests: &[PairTest]) -> String {
    let heads = [
        "condition",
        "arm",
        "against",
        "pairs",
        "change, %",
        "95 % interval",
        "p (Holm)",
        "effect",
        "",
    ];
    let numbers = 3..=7;
    let class = |column: usize| if numbers.contains(&column) { " class=\"n\"" } else { "" };
    let heads: String = heads
        .iter()
        .enumerate()
        .map(|(column, head)| format!("<th{}>{head}</th>", class(column)))
        .collect();
    let row = |test: &PairTest| {
        let interval = match (test.low_percent, test.high_percent) {
            (Some(low), Some(high)) => format!("{low:+.1} to {high:+.1}"),
            _ => "-".to_owned(),
        };
        let p = if test.p_holm < 0.001 {
            "&lt; 0.001".to_owned()
        } else {
            format!("{:.3}", test.p_holm)
        };
        let cells = [
            html(&test.condition),
            html(&test.arm),
            html(&test.against),
            test.pairs.to_string(),
            format!("{:+.1}", test.change_percent),
            interval,
            p,
            format!("{:+.2}", test.effect),
            test.verdict.to_owned(),
        ];
        let cells = cells
            .iter()
            .enumerate()
            .map(|(column, text)| format!("<td{}>{text}</td>", class(column)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures plain\"><thead><tr>{heads}</tr></thead><tbody>{}</tbody></table></div>",
        tests.iter().map(row).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use store::toy;

    use super::*;

    #[test]
    fn every_pair_is_tested_once_and_adjusted() {
        let filled = toy::filled_store(&toy::plan(8));
        let summary = ReportSummary::gather(&filled.store, filled.run).unwrap();
        let tests = all(&summary);
        let arms = summary.arms.len();
        assert_eq!(tests.len(), summary.conditions.len() * arms * (arms - 1) / 2);
        for test in &tests {
            assert_eq!(test.pairs, 8);
            assert!(test.p <= test.p_holm && test.p_holm <= 1.0, "{test:?}");
            assert_eq!(test.change_percent < 0.0, test.median_ms < test.against_ms, "{test:?}");
        }
        let text = section(&summary);
        assert_eq!(text.matches("<td class=\"n\">8</td>").count(), tests.len());
        assert!(text.contains("condition,arm,against,pairs,"), "{text}");
    }
}
