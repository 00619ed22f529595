//! The present answer of a run that goes on, for its progress line: which arm loads first, and under how many conditions.

use std::collections::BTreeMap;
use std::time::Duration;

use scenario::{JourneyPlan, JourneyResult, Plan};
use statistics::Sample;

use crate::show::arms::{self, Arm};
use crate::show::units::{counted, span_f64};

/// Time between two looks: medians of many loads take a while.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Most arms whose medians are told where there is one condition.
const MOST_ARMS: usize = 4;

/// Most journeys of a run whose medians are looked at while it goes on.
const MOST_JOURNEYS: u64 = 50_000;

/// Load times of a run, by arm.
pub struct LiveAnswer {
    arms: Vec<Arm>,
    /// Indices of the arms of each cell.
    of_cell: BTreeMap<u32, Vec<usize>>,
    is_live: bool,
    /// Load times of each arm, ns.
    times: Vec<Vec<f64>>,
    looked: Duration,
}

impl LiveAnswer {
    /// The arms of a plan, without loads.
    pub fn of(plan: &Plan) -> LiveAnswer {
        let is_live = plan.own_journey_count() <= MOST_JOURNEYS;
        match is_live {
            true => LiveAnswer::over(plan, is_live),
            false => LiveAnswer {
                arms: Vec::new(),
                of_cell: BTreeMap::new(),
                is_live,
                times: Vec::new(),
                looked: Duration::ZERO,
            },
        }
    }

    fn over(plan: &Plan, is_live: bool) -> LiveAnswer {
        let arms = arms::group(plan, Vec::new());
        let times = vec![Vec::new(); arms.len()];
        let mut of_cell: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, arm) in arms.iter().enumerate() {
            of_cell.entry(arm.cell()).or_default().push(index);
        }
        LiveAnswer { arms, of_cell, is_live, times, looked: Duration::ZERO }
    }

    /// The answer of a run that is complete, from its load times by cell and place in the journey. First visits count.
    pub fn of_times(plan: &Plan, times: BTreeMap<(u32, u32), Vec<u64>>) -> Option<String> {
        let mut answer = LiveAnswer::over(plan, false);
        for ((cell, _), times) in times.into_iter().filter(|((_, visit), _)| *visit == 0) {
            let arm = answer.of_cell.get(&cell).and_then(|arms| arms.first());
            if let Some(arm) = arm {
                answer.times[*arm].extend(times.into_iter().map(|ns| ns as f64));
            }
        }
        answer.sentence()
    }

    /// Takes the loads of a journey.
    pub fn take(&mut self, journey: &JourneyPlan, result: &JourneyResult) {
        if !self.is_live {
            return;
        }
        for index in self.of_cell.get(&journey.cell).into_iter().flatten() {
            let view = self.arms[*index].view();
            let its = result.visits.iter().filter(|visit| visit.record.view == view);
            let times = its.filter_map(|visit| visit.record.plt_ns()).map(|ns| ns as f64);
            self.times[*index].extend(times);
        }
    }

    /// The answer so far, `elapsed` after the beginning; `None` if the last one is less than a second old or there is none.
    pub fn look(&mut self, elapsed: Duration) -> Option<String> {
        if !self.is_live || elapsed < self.looked + BETWEEN_LOOKS {
            return None;
        }
        self.looked = elapsed;
        self.sentence()
    }

    fn sentence(&self) -> Option<String> {
        let medians: Vec<Option<f64>> =
            self.times.iter().map(|times| Some(Sample::new(times.clone())?.median())).collect();
        let known = self.arms.iter().zip(&medians).filter_map(|(arm, it)| Some((arm, (*it)?)));
        let known: Vec<(&Arm, f64)> = known.collect();
        let conditions: Vec<&[(&Arm, f64)]> = known
            .chunk_by(|one, next| one.0.condition() == next.0.condition())
            .filter(|arms| arms.len() > 1)
            .collect();
        match conditions.as_slice() {
            [] => None,
            [only] => {
                let mut sorted = only.to_vec();
                sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
                let told = sorted.iter().take(MOST_ARMS);
                let told: Vec<String> = told
                    .map(|(arm, median)| format!("{} {}", arm.name(), span_f64(*median)))
                    .collect();
                Some(told.join(", "))
            }
            several => {
                let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
                for arms in several {
                    let first = arms.iter().min_by(|a, b| a.1.total_cmp(&b.1));
                    *firsts.entry(first.map_or("", |(arm, _)| arm.name())).or_default() += 1;
                }
                let (name, count) = firsts.into_iter().max_by_key(|(_, count)| *count)?;
                Some(format!(
                    "{name} first under {count} of {}",
                    counted(several.len(), "condition")
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use scenario::{MeasuredVisit, NetworkSpec, Order, Protocol, Scenario};
    use store::toy;

    use super::*;

    /// A plan of two protocols over some networks.
    fn plan(rtts: &[u64]) -> Plan {
        let cell = |rtt_ms: u64, protocol| {
            let network =
                NetworkSpec { rtt_ns: Some(rtt_ms * 1_000_000), ..NetworkSpec::default() };
            let mut scenario = Scenario::new("a", network);
            scenario.stack.protocol = protocol;
            scenario
        };
        let cells =
            rtts.iter().flat_map(|rtt| [Protocol::H1, Protocol::H2].map(|it| cell(*rtt, it)));
        Plan::new("test", 1, 3, Order::Alternated, cells.collect())
    }

    fn loaded(plt_ns: u64) -> JourneyResult {
        let filled = toy::filled_store(&toy::plan(1));
        let key = filled.store.visits(filled.run).unwrap()[0].key;
        let mut record = filled.store.record(key).unwrap();
        record.view = "cold".to_owned();
        record.outcome = record::VisitOutcome::Loaded { plt_ns };
        JourneyResult { visits: vec![MeasuredVisit::new(record)], ..JourneyResult::default() }
    }

    fn answer(plan: &Plan, times: &[u64]) -> Option<String> {
        let mut live = LiveAnswer::of(plan);
        for (cell, plt_ns) in times.iter().enumerate() {
            live.take(&plan.journey(plan.position(cell, 0)), &loaded(*plt_ns));
        }
        live.look(Duration::from_secs(2))
    }

    #[test]
    fn the_answer_so_far() {
        let one = plan(&[20]);
        assert_eq!(answer(&one, &[3_000_000_000]), None, "there is nothing to compare");
        let told = answer(&one, &[3_000_000_000, 2_000_000_000]);
        assert_eq!(told.as_deref(), Some("h2 2.00 s, h1 3.00 s"));
        let several = plan(&[20, 100, 300]);
        let told = answer(&several, &[30, 20, 20, 30, 30, 20]);
        assert_eq!(told.as_deref(), Some("h2 first under 2 of 3 conditions"));
    }

    #[test]
    fn looks_are_a_second_apart() {
        let plan = plan(&[20]);
        let mut live = LiveAnswer::of(&plan);
        for cell in 0..2 {
            live.take(&plan.journey(plan.position(cell, 0)), &loaded(5));
        }
        assert_eq!(live.look(Duration::from_millis(500)), None);
        assert!(live.look(Duration::from_millis(1_500)).is_some());
        assert_eq!(live.look(Duration::from_millis(2_000)), None);
    }
}
