//! The answers: each arm against the first, under each condition and in all.

use std::collections::BTreeMap;

use crate::statistics::{Comparison, Pair, Verdict, compare};

use super::cells::Cell;
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

/// The page load times of the repetitions that loaded in both cells.
fn pairs(first: Option<&Cell>, second: Option<&Cell>) -> Vec<Pair> {
    let (Some(first), Some(second)) = (first, second) else { return Vec::new() };
    let seconds: BTreeMap<u32, f64> = second.loaded().map(|(r, _, plt)| (r, plt)).collect();
    let pair = |(repetition, _, first)| {
        seconds.get(&repetition).map(|second| Pair { first, second: *second })
    };
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

fn count(summary: &Summary, arm: usize, answers: &[&Answer]) -> String {
    let (first, second) = (&summary.arms[0], &summary.arms[arm]);
    let verdicts = |wanted: Verdict| {
        answers.iter().filter_map(|a| a.comparison).filter(move |c| c.verdict == wanted)
    };
    let mut parts = Vec::new();
    for (ahead, behind, verdict) in
        [(second, first, Verdict::Second), (first, second, Verdict::First)]
    {
        let advantages: Vec<f64> = verdicts(verdict).map(|c| c.advantage * 100.0).collect();
        if !advantages.is_empty() {
            let range = range(&advantages);
            parts.push((
                advantages.len(),
                format!("{ahead} beats {behind} in {} by {range}", advantages.len()),
            ));
        }
    }
    parts.sort_by_key(|(wins, _)| std::cmp::Reverse(*wins));
    let mut parts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    let settled = |c: &Comparison| matches!(c.verdict, Verdict::First | Verdict::Second);
    let open = answers.len() - answers.iter().filter_map(|a| a.comparison).filter(settled).count();
    if open > 0 {
        parts.push(format!("there is no clear difference between {first} and {second} in {open}"));
    }
    format!("Of {} conditions, {}", answers.len(), parts.join("; "))
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
