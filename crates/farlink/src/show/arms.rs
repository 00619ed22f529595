//! What the arms of a comparison came to: a line each, and the sentence that answers.

use std::collections::BTreeSet;

use lab::early::EarlyMetrics;
use lab::scenario::Scenario;
use lab::statistics::{Pair, Sample, compare};
use lab::{JourneyPlan, JourneyResult, MeasuredVisit};

use super::table::Table;
use super::units::{bytes, span_f64};

/// One arm: a way of loading the page, with all its visits.
pub struct Arm {
    /// `h2 tls13`, with what else tells it from the others.
    pub name: String,
    /// What was run.
    pub scenario: Scenario,
    /// Its measured visits, in the order of repetitions.
    pub visits: Vec<MeasuredVisit>,
    /// The seed of each.
    pub seeds: Vec<u64>,
    /// Why journeys have no visits.
    pub failures: Vec<String>,
    /// What a reader must know.
    pub notes: BTreeSet<String>,
}

/// Groups results by arm: by scenario, and by view where a journey has two.
pub fn group(results: Vec<(JourneyPlan, JourneyResult)>) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    for (journey, result) in results {
        let scenario = &*journey.scenario;
        let base = format!("{} {}", scenario.stack.protocol, scenario.stack.tls);
        let views: BTreeSet<String> = result.visits.iter().map(|v| v.record.view.clone()).collect();
        let is_split = scenario.client.view != lab::scenario::View::Cold;
        let views = if views.is_empty() { BTreeSet::from([String::new()]) } else { views };
        for view in views {
            let name = if is_split { format!("{base} {view}") } else { base.clone() };
            let index = arms.iter().position(|arm| arm.name == name).unwrap_or_else(|| {
                arms.push(Arm {
                    name,
                    scenario: scenario.clone(),
                    visits: Vec::new(),
                    seeds: Vec::new(),
                    failures: Vec::new(),
                    notes: BTreeSet::new(),
                });
                arms.len() - 1
            });
            let arm = &mut arms[index];
            let visits = result.visits.iter().filter(|v| v.record.view == view);
            arm.seeds.extend(visits.clone().map(|_| journey.seed));
            arm.visits.extend(visits.cloned());
            arm.failures.extend(result.failure.clone());
            arm.notes.extend(result.notes.iter().cloned());
        }
    }
    arms
}

impl Arm {
    /// The page load times, in ns; `None` if no visit loaded.
    pub fn plt(&self) -> Option<Sample> {
        Sample::new(self.visits.iter().filter_map(|v| v.record.plt_ns()).map(|ns| ns as f64))
    }

    /// The visit whose page load time is the median (of an even number, the lower one), with its seed.
    pub fn median_visit(&self) -> Option<(u64, &MeasuredVisit)> {
        let all = self.seeds.iter().copied().zip(&self.visits);
        let mut loaded: Vec<_> = all.filter(|(_, v)| v.record.plt_ns().is_some()).collect();
        loaded.sort_by_key(|(_, v)| v.record.plt_ns());
        loaded.get(loaded.len().saturating_sub(1) / 2).copied()
    }

    fn median_of(&self, value: impl Fn(&MeasuredVisit) -> Option<f64>) -> Option<f64> {
        Some(Sample::new(self.visits.iter().filter_map(value))?.median())
    }

    /// Visits that failed, and journeys without any.
    pub fn failed(&self) -> usize {
        self.failures.len() + self.visits.iter().filter(|v| v.record.plt_ns().is_none()).count()
    }

    fn row(&self) -> Vec<String> {
        let some = |value: Option<f64>, show: &dyn Fn(f64) -> String| {
            value.map_or_else(|| "-".to_owned(), show)
        };
        let plt = self.plt();
        let floor = |v: &MeasuredVisit| v.floors.map(|f| f.graph_ns as f64);
        let ratio = |v: &MeasuredVisit| Some(v.record.plt_ns()? as f64 / floor(v)?);
        let early = |v: &MeasuredVisit| EarlyMetrics::of(&v.record);
        let index = |v: &MeasuredVisit| Some(early(v)?.byte_index.as_nanos() as f64);
        vec![
            self.name.clone(),
            some(plt.as_ref().map(Sample::median), &span_f64),
            some(plt.as_ref().map(|s| s.quantile(0.9)), &span_f64),
            some(self.median_of(floor), &span_f64),
            some(self.median_of(ratio), &|r| format!("{r:.2}")),
            some(self.median_of(|v| v.record.ttfb_ns.map(|ns| ns as f64)), &span_f64),
            some(self.median_of(index), &span_f64),
            some(self.median_of(|v| Some(v.record.connections.len() as f64)), &count),
            some(self.median_of(|v| Some(v.record.wire_bytes_down as f64)), &bytes),
            some(self.median_of(|v| Some(v.record.retransmits() as f64)), &count),
            self.failed().to_string(),
        ]
    }
}

fn count(n: f64) -> String {
    if n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") }
}

/// The table of all arms.
pub fn table(arms: &[Arm]) -> Table {
    let mut table = Table::new(&[
        "",
        "median PLT",
        "p90",
        "floor",
        "PLT/floor",
        "TTFB",
        "ByteIndex*",
        "conns",
        "bytes down",
        "retrans",
        "failed",
    ]);
    for arm in arms {
        table.row(arm.row());
    }
    table
}

/// The sentence that answers: the fastest arm against each other one. `None` with fewer than two.
pub fn answer(arms: &[Arm], seed: u64) -> Option<String> {
    let fastest = fastest(arms)?;
    let others = arms.iter().filter(|arm| !std::ptr::eq(*arm, fastest));
    let sentences: Vec<String> =
        others.filter_map(|other| Some(versus(fastest, other, seed)? + ".")).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The arm with the least median.
pub fn fastest(arms: &[Arm]) -> Option<&Arm> {
    let medians = arms.iter().filter_map(|arm| Some((arm, arm.plt()?.median())));
    medians.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(arm, _)| arm)
}

fn versus(first: &Arm, second: &Arm, seed: u64) -> Option<String> {
    let pairs: Vec<Pair> = first
        .visits
        .iter()
        .zip(&second.visits)
        .filter_map(|(a, b)| {
            Some(Pair { first: a.record.plt_ns()? as f64, second: b.record.plt_ns()? as f64 })
        })
        .collect();
    Some(compare(&pairs, seed)?.sentence(&first.name, &second.name))
}
