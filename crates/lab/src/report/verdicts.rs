//! The answers: each arm against the first, under each condition and in all.

use std::collections::BTreeMap;

use crate::statistics::{Comparison, Pair, Verdict, compare};

use super::cells::{Cell, Load};
use super::summary::Summary;

/// One arm against the first under one condition.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The condition's place.
    pub condition: usize,
    /// The other arm's place; the first arm is what it is compared with.
    pub arm: usize,
    /// What came of it; `None` if the arms have no repetition in common that loaded.
    pub comparison: Option<Comparison>,
}

/// Every comparison of the run.
pub fn answers(summary: &Summary) -> Vec<Answer> {
    let mut answers = Vec::new();
    for condition in 0..summary.conditions.len() {
        for arm in 1..summary.arms.len() {
            let pairs = pairs(summary.cell(0, condition), summary.cell(arm, condition));
            let comparison = compare(&pairs, summary.run.seed);
            answers.push(Answer { condition, arm, comparison });
        }
    }
    answers
}

/// The page load times of the loads that came to their end in both cells.
fn pairs(first: Option<&Cell>, second: Option<&Cell>) -> Vec<Pair> {
    let (Some(first), Some(second)) = (first, second) else { return Vec::new() };
    let seconds: BTreeMap<Load, f64> = second.loaded().map(|(load, _, plt)| (load, plt)).collect();
    let pair = |(load, _, first)| seconds.get(&load).map(|second| Pair { first, second: *second });
    first.loaded().filter_map(pair).collect()
}

/// An answer's sentence.
pub fn sentence(summary: &Summary, answer: &Answer) -> String {
    let (first, second) = (&summary.arms[0], &summary.arms[answer.arm]);
    match &answer.comparison {
        Some(comparison) => comparison.sentence(first, second),
        None => format!("{first} and {second} cannot be compared: no repetition loaded in both"),
    }
}

/// The headlines: a sentence an arm that is compared with the first. Under one condition it is that
/// condition's sentence, under several it counts who is ahead where.
pub fn headlines(summary: &Summary, answers: &[Answer]) -> Vec<String> {
    let headline = |arm: usize| {
        let of_arm: Vec<&Answer> = answers.iter().filter(|a| a.arm == arm).collect();
        match of_arm.as_slice() {
            [only] => sentence(summary, only),
            several => count(summary, arm, several),
        }
    };
    (1..summary.arms.len()).map(headline).collect()
}

/// Who is ahead under how many of several conditions, the more frequent first.
fn count(summary: &Summary, arm: usize, answers: &[&Answer]) -> String {
    let (first, second) = (&summary.arms[0], &summary.arms[arm]);
    let total = answers.len();
    let mut wins = [(second, first, Verdict::Second), (first, second, Verdict::First)]
        .map(|(ahead, behind, verdict)| (advantages(answers, verdict), ahead, behind))
        .to_vec();
    wins.retain(|(percentages, ..)| !percentages.is_empty());
    wins.sort_by_key(|(percentages, ..)| std::cmp::Reverse(percentages.len()));
    let settled: usize = wins.iter().map(|(percentages, ..)| percentages.len()).sum();
    if let [(percentages, ahead, behind)] = wins.as_slice()
        && settled == total
    {
        return format!(
            "{ahead} beats {behind} under all {total} conditions, by {}",
            range(percentages)
        );
    }
    let mut parts: Vec<String> = wins
        .iter()
        .map(|(percentages, ahead, behind)| {
            let (wins, by) = (percentages.len(), range(percentages));
            format!("{ahead} beats {behind} under {wins} of {total} conditions, by {by}")
        })
        .collect();
    if settled < total {
        let open = total - settled;
        parts.push(format!(
            "no clear difference between {first} and {second} under {open} of {total}"
        ));
    }
    parts.join("; ")
}

/// By how many per cent, where the verdict is this one.
fn advantages(answers: &[&Answer], verdict: Verdict) -> Vec<f64> {
    let comparisons = answers.iter().filter_map(|answer| answer.comparison);
    comparisons.filter(|c| c.verdict == verdict).map(|c| c.advantage * 100.0).collect()
}

/// "12-45 %".
fn range(percentages: &[f64]) -> String {
    let low = percentages.iter().copied().fold(f64::INFINITY, f64::min);
    let high = percentages.iter().copied().fold(0.0, f64::max);
    match format!("{low:.0}") == format!("{high:.0}") {
        true => format!("{high:.0} %"),
        false => format!("{low:.0}-{high:.0} %"),
    }
}
