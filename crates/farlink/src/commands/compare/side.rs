//! The two sides of a comparison, and which of their arms belong together.

use std::collections::BTreeMap;
use std::sync::Arc;

use scenario::settings::{SETTINGS, Setting};
use scenario::{JourneyPlan, JourneyResult, Plan, Scenario};
use store::{RunId, Store};

use crate::commands::{report, stores};
use crate::failure::CliError;
use crate::show::arms::Arm;

/// Names of the sides' arms, as budgets have them.
pub const SIDES: [&str; 2] = ["before", "after"];

/// One side of a comparison: scenarios with their loads.
pub struct Side {
    cells: Vec<Arc<Scenario>>,
    results: Vec<(JourneyPlan, JourneyResult)>,
}

impl Side {
    /// The loads of a plan.
    pub fn of_loads(plan: &Plan, results: Vec<(JourneyPlan, JourneyResult)>) -> Side {
        Side { cells: plan.cells().to_vec(), results }
    }

    /// A run of a store.
    pub fn of_run(store: &Store, run: RunId) -> Result<Side, CliError> {
        let visits = store.visits(run).map_err(stores::failed)?;
        let results = report::results(store, run, visits).map_err(stores::failed)?;
        let mut cells = BTreeMap::new();
        for (journey, _) in &results {
            cells.entry(journey.cell).or_insert_with(|| Arc::clone(&journey.scenario));
        }
        // Cells without journeys have nothing to compare.
        let numbers: BTreeMap<u32, u32> = cells.keys().copied().zip(0..).collect();
        let results = results.into_iter().map(|(journey, result)| {
            (JourneyPlan { cell: numbers[&journey.cell], ..journey }, result)
        });
        Ok(Side { results: results.collect(), cells: cells.into_values().collect() })
    }

    /// Its scenarios.
    pub fn cells(&self) -> &[Arc<Scenario>] {
        &self.cells
    }

    /// Its journeys.
    pub fn results(&self) -> &[(JourneyPlan, JourneyResult)] {
        &self.results
    }

    /// True if the setting differs between its cells.
    fn varies(&self, setting: &Setting) -> bool {
        self.cells.iter().any(|cell| setting.get(cell) != setting.get(&self.cells[0]))
    }
}

/// Arms of both sides, and what is peculiar to one.
pub struct Pairing {
    /// Arms in pairs: before, after.
    pub arms: Vec<Arm>,
    /// Settings that differ between the sides as wholes: `tcp.initial_window: 10 before, 20 after`.
    pub changed: Vec<String>,
    /// Arms of one side alone.
    pub lonely: Vec<String>,
}

impl Pairing {
    /// Pairs the cells of both sides that have the same values of all settings that vary within a side. The page is no
    /// such setting if each side has one.
    pub fn of(before: &Side, after: &Side) -> Pairing {
        let own = || SETTINGS.iter().filter(|setting| setting.within.is_none());
        let varied: Vec<&Setting> =
            own().filter(|setting| before.varies(setting) || after.varies(setting)).collect();
        let of_both = |setting: &&Setting| !varied.iter().any(|it| it.key == setting.key);
        let changed = own().filter(of_both).filter_map(|setting| {
            let values = [before, after].map(|side| setting.get(&side.cells[0]));
            let shown =
                |value: &String| if value.is_empty() { "-".to_owned() } else { value.clone() };
            let [one, other] = values.each_ref().map(shown);
            (values[0] != values[1])
                .then(|| format!("{}: {one} before, {other} after", setting.key))
        });
        let mut pairing =
            Pairing { arms: Vec::new(), changed: changed.collect(), lonely: Vec::new() };
        let label = |cell: &Scenario| -> Vec<String> {
            let applies = varied.iter().filter(|setting| setting.applies(cell));
            applies.map(|setting| setting.get(cell)).filter(|value| !value.is_empty()).collect()
        };
        let mut left: BTreeMap<Vec<String>, u32> = BTreeMap::new();
        for (at, cell) in (0..).zip(&after.cells) {
            left.insert(label(cell), at);
        }
        for (at, cell) in (0..).zip(&before.cells) {
            let values = label(cell);
            match left.remove(&values) {
                Some(other) => pairing.add(&values, (before, at), (after, other)),
                None => pairing.lonely.push(format!("only before: {}", values.join(" "))),
            }
        }
        let only_after = left.into_keys().map(|values| format!("only after: {}", values.join(" ")));
        pairing.lonely.extend(only_after);
        pairing
    }

    /// Adds the arms of a pair of cells, for each state of the cache.
    fn add(&mut self, values: &[String], before: (&Side, u32), after: (&Side, u32)) {
        // Each value once: a page that is named after its network, say.
        let mut words: Vec<&str> = Vec::new();
        values.iter().for_each(|value| {
            if !words.contains(&value.as_str()) {
                words.push(value);
            }
        });
        let sides = [before, after].map(|(side, cell)| {
            let scenario = &side.cells[cell as usize];
            Arm::of_cell(scenario, cell, &side.results)
        });
        let [before, after] = sides;
        for one in before {
            let Some(other) = after.iter().position(|arm| arm.view() == one.view()) else {
                continue;
            };
            let mut condition = words.join(" ");
            if condition.is_empty() {
                condition = one.name().to_owned();
            }
            if one.scenario().visits_each() > 1 || one.view() != "cold" {
                condition = format!("{condition} {}", one.view());
            }
            let other = after[other].clone();
            self.arms.push(one.renamed(SIDES[0], &condition));
            self.arms.push(other.renamed(SIDES[1], &condition));
        }
    }
}
