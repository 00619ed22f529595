//! The answer over many conditions: the number of conditions under which each arm is first, and the best arm
//! overall.

use super::words::list;
use super::{Answer, Moment};
use statistics::percent;

/// Maximum number of arms whose counts are named.
const MOST_COUNTED: usize = 3;

/// One arm over all conditions, by one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmStanding {
    /// Index of the arm.
    pub arm: usize,
    /// Conditions under which it is first alone.
    pub wins: usize,
    /// Conditions under which it shares the first rank.
    pub ties: usize,
    /// The geometric mean of its median over the best one of each condition; `None` unless it is ranked under
    /// every condition with a ranking.
    pub over_best: Option<f64>,
}

/// Arms over all conditions, by one moment.
#[derive(Clone, Debug)]
pub struct OverConditions {
    /// Conditions under which arms are ranked.
    ranked: usize,
    standings: Vec<ArmStanding>,
    names: Vec<String>,
    what: &'static str,
}

impl OverConditions {
    /// Sums up `answers`, one per condition; all have the same arms.
    pub fn of(answers: &[Answer], moment: Moment) -> OverConditions {
        let ranked: Vec<&Answer> =
            answers.iter().filter(|answer| !answer.ranking(moment).first().is_empty()).collect();
        let names = answers.first().map_or(Vec::new(), |answer| answer.names.clone());
        let standing = |arm: usize| {
            let ratios: Vec<f64> =
                ranked.iter().filter_map(|a| over_best(a, moment, arm)).collect();
            let is_everywhere = !ratios.is_empty() && ratios.len() == ranked.len();
            let mean = || (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let wins = ranked.iter().filter(|a| a.ranking(moment).winner() == Some(arm)).count();
            let first = ranked.iter().filter(|a| a.ranking(moment).rank(arm) == Some(0)).count();
            ArmStanding { arm, wins, ties: first - wins, over_best: is_everywhere.then(mean) }
        };
        let mut standings: Vec<ArmStanding> = (0..names.len()).map(standing).collect();
        let key = |one: &ArmStanding| one.over_best.unwrap_or(f64::INFINITY);
        standings.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.arm.cmp(&b.arm)));
        let what = match moment {
            Moment::Load => "Load time",
            Moment::Render => answers.first().map_or("First render", Answer::render_name),
        };
        OverConditions { ranked: ranked.len(), standings, names, what }
    }

    /// The arms, the best over all first.
    pub fn standings(&self) -> &[ArmStanding] {
        &self.standings
    }

    /// The arm that is best overall.
    pub fn best(&self) -> Option<usize> {
        self.standings.first().filter(|one| one.over_best.is_some()).map(|one| one.arm)
    }

    /// "Load time: h2 is best overall, on average 0.5 % above the best of each condition; first alone: h2 under 36 of 60, ...".
    pub fn sentence(&self) -> Option<String> {
        let total = self.ranked;
        let [best, others @ ..] = self.standings.as_slice() else { return None };
        let above = |one: &ArmStanding| one.over_best.map(|ratio| percent(ratio - 1.0));
        let overall = match above(best) {
            None => "no arm is complete under every condition".to_owned(),
            Some(by) => {
                let next = others.iter().find_map(|one| Some((one, above(one)?)));
                let next = next.map_or(String::new(), |(one, by)| {
                    format!(", then {} ({by})", self.names[one.arm])
                });
                format!(
                    "{} is best overall, on average {by} above the best of each condition{next}",
                    self.names[best.arm]
                )
            }
        };
        if best.wins == total && total > 1 {
            let next = others.iter().find_map(|one| Some((one, above(one)?)));
            let next = next.map_or(String::new(), |(one, by)| {
                format!(", then {}, on average {by} behind", self.names[one.arm])
            });
            let name = &self.names[best.arm];
            return Some(format!(
                "{}: {name} is first under all {total} conditions{next}.",
                self.what
            ));
        }
        let wins = self.counts(|one| one.wins);
        let ties = self.counts(|one| one.ties);
        let first = match (wins.is_empty(), ties.is_empty()) {
            (_, true) => wins,
            (true, false) => format!("tied {ties}"),
            (false, false) => format!("{wins}; tied {ties}"),
        };
        Some(format!("{}: {overall}. First of {total} conditions: {first}.", self.what))
    }

    /// "h2 under 36, h3 under 10": the arms with the highest counts; empty if all are 0.
    fn counts(&self, count: fn(&ArmStanding) -> usize) -> String {
        let mut counted: Vec<&ArmStanding> =
            self.standings.iter().filter(|one| count(one) > 0).collect();
        counted.sort_by_key(|one| std::cmp::Reverse(count(one)));
        let (told, rest) = counted.split_at(counted.len().min(MOST_COUNTED));
        let mut counts: Vec<String> = told
            .iter()
            .map(|one| format!("{} under {}", self.names[one.arm], count(one)))
            .collect();
        if !rest.is_empty() {
            counts.push(format!("{} more under fewer", rest.len()));
        }
        list(&counts.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// The arm's median over the least median of its condition.
fn over_best(answer: &Answer, moment: Moment, arm: usize) -> Option<f64> {
    let ranking = answer.ranking(moment);
    let least = ranking.placed().next()?.median_ns;
    let its = ranking.placed().find(|placed| placed.arm == arm)?.median_ns;
    (least > 0.0).then(|| its / least)
}

/// The sentences over all conditions: one per moment, and a note on their agreement.
pub fn sentences(answers: &[Answer]) -> Vec<String> {
    let [load, render] =
        [Moment::Load, Moment::Render].map(|moment| OverConditions::of(answers, moment));
    let mut sentences: Vec<String> = Vec::new();
    sentences.extend(load.sentence().filter(|_| load.ranked > 0));
    sentences.extend(render.sentence().filter(|_| render.ranked > 0));
    let apart = load.best().zip(render.best()).is_some_and(|(load, render)| load != render);
    let disagreeing = answers.iter().filter(|answer| answer.disagrees()).count();
    if apart || disagreeing > 0 {
        sentences.push(format!(
            "Load time and first render disagree {}; use the one that matters to you.",
            match (apart, disagreeing) {
                (true, _) => "on the best arm".to_owned(),
                (false, n) => format!("under {n} of {} conditions", answers.len()),
            }
        ));
    }
    let incomplete = answers.iter().filter(|answer| !answer.incomplete().is_empty()).count();
    if incomplete > 0 {
        let mut arms: Vec<&str> = Vec::new();
        for one in answers.iter().flat_map(Answer::incomplete) {
            if !arms.contains(&one.name.as_str()) {
                arms.push(&one.name);
            }
        }
        let example = answers.iter().flat_map(Answer::incomplete).next();
        let example = example.map_or(String::new(), |one| format!(" {}: {}.", one.name, one.why));
        sentences.push(format!(
            "Not ranked under {incomplete} of {} conditions, because the page was incomplete: {}. For example{example}",
            answers.len(),
            list(&arms)
        ));
    }
    if sentences.is_empty() {
        sentences.push("The page did not load.".to_owned());
    }
    sentences
}
