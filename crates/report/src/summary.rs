//! A run, read once and arranged into arms, conditions, cells, notes and the punctuality of its emulator.

use std::collections::{BTreeMap, BTreeSet};

use record::{EmulationRecord, ObjectRecord};
use scenario::World;
use scenario::settings::SettingRole;
use statistics::Sample;
use store::{JourneyRow, RunId, RunRow, Store, VisitKey, VisitRow};

use super::causes::MeanLoadTime;
use super::cells::{LoadIndex, ReportCell};
use super::keys::{self, Property};
use super::number::{grouped, ms};
use super::{ReportError, pages};

/// A run, arranged by its question.
#[derive(Clone, Debug)]
pub struct ReportSummary {
    /// The run's own row.
    pub run: RunRow,
    /// Properties that are the same for every visit: name and value.
    pub fixed: Vec<(String, String)>,
    /// Properties that vary: name and values, in order of appearance.
    pub varied: Vec<(String, Vec<String>)>,
    /// The ways that are compared.
    pub arms: Vec<String>,
    /// The conditions under which they are compared.
    pub conditions: Vec<Condition>,
    /// The properties of conditions that are numbers everywhere and vary: candidates for an x axis, the
    /// one with the most values first.
    pub axes: Vec<NumericProperty>,
    /// All cells, by condition and arm.
    pub cells: Vec<ReportCell>,
    /// Notes of journeys, each with its number of occurrences.
    pub notes: Vec<(String, u64)>,
    /// Reasons why visits and journeys failed, each with its number of occurrences.
    pub failures: Vec<(String, u64)>,
    /// Punctuality of the emulators.
    pub punctuality: Punctuality,
}

/// A condition of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// A label that distinguishes it: "RTT 100 ms".
    pub label: String,
    /// Its varied properties, in order: name, label and number.
    pub keys: Vec<Property>,
}

/// A numeric property.
#[derive(Clone, Debug, PartialEq)]
pub struct NumericProperty {
    /// The property's name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
}

impl ReportSummary {
    /// Reads `run`.
    pub fn gather(store: &Store, run: RunId) -> Result<ReportSummary, ReportError> {
        let row = store.run(run)?;
        let journeys = store.journeys(run)?;
        if journeys.is_empty() {
            return Err(ReportError::Empty { run: run.0 });
        }
        let mut tally = NoteCounts::default();
        journeys.iter().for_each(|journey| tally.journey(journey));
        let mut cells = gather_cells(store, run, &journeys, &mut tally)?;
        let excess = store.excess_by_cause(run)?;
        for cell in &mut cells {
            cell.load_time =
                MeanLoadTime::of(cell, |journey, visit| excess.get(&(journey, visit)).cloned());
        }
        let grid = PropertyGrid::of(&cells);
        let (arms, conditions) = grid.place(&mut cells);
        cells.sort_by_key(|cell| (cell.condition, cell.arm));
        Ok(ReportSummary {
            run: row,
            fixed: grid.fixed(),
            varied: grid.varied(),
            axes: grid.axes(),
            arms,
            conditions,
            cells,
            notes: tally.notes.into_iter().collect(),
            failures: tally.failures.into_iter().collect(),
            punctuality: tally.punctuality,
        })
    }

    /// The cell of an arm under a condition.
    pub fn cell(&self, arm: usize, condition: usize) -> Option<&ReportCell> {
        self.cells.iter().find(|c| c.arm == arm && c.condition == condition)
    }

    /// Median load time of an arm under a condition, milliseconds.
    pub fn median(&self, arm: usize, condition: usize) -> Option<f64> {
        let cell = self.cell(arm, condition)?;
        Some(Sample::new(cell.loaded().map(|(_, _, plt)| plt))?.median())
    }

    /// The median visit of each arm under the first condition.
    pub fn median_visits(&self) -> Vec<VisitKey> {
        (0..self.arms.len())
            .filter_map(|arm| self.cell(arm, 0)?.median_visit().map(|visit| visit.key))
            .collect()
    }

    /// Number of connections that flow control limited for over 1 % of their busy time, over all visits.
    pub fn connections_flow_limited(&self) -> u64 {
        let visits = self.cells.iter().flat_map(|cell| &cell.visits);
        visits.map(|(_, visit)| visit.connections_flow_limited).sum()
    }
}

/// Counts of notes and failures, and punctuality of the emulators.
#[derive(Default)]
struct NoteCounts {
    notes: BTreeMap<String, u64>,
    failures: BTreeMap<String, u64>,
    punctuality: Punctuality,
}

impl NoteCounts {
    fn journey(&mut self, journey: &JourneyRow) {
        for note in &journey.notes {
            *self.notes.entry(note.clone()).or_default() += 1;
        }
        self.failure(journey.failure.as_deref());
    }

    fn failure(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            *self.failures.entry(reason.to_owned()).or_default() += 1;
        }
    }
}

/// The cells of a run with their visits, in the plan's order, cold before warm.
fn gather_cells(
    store: &Store,
    run: RunId,
    journeys: &[JourneyRow],
    tally: &mut NoteCounts,
) -> Result<Vec<ReportCell>, ReportError> {
    let by_position: BTreeMap<u64, &JourneyRow> =
        journeys.iter().map(|journey| (journey.position, journey)).collect();
    let mut cells: BTreeMap<(u32, usize, String), ReportCell> = BTreeMap::new();
    let mut turns = VisitCounter::default();
    for visit in store.visits(run)? {
        tally.failure(visit.failure.as_deref());
        let Some(journey) = by_position.get(&visit.key.journey) else { continue };
        if journey.scenario.world == World::Emu
            && let Some(emulation) = store.emulation(visit.key)?
        {
            tally.punctuality.take(&emulation);
        }
        let radio = store.radio(visit.key)?;
        let (client, _) = journey.scenario.who(visit.key.visit);
        let listed = &journey.scenario.page.pages;
        let place = listed.iter().position(|page| Some(page) == visit.page.as_ref());
        let cell = cells
            .entry((journey.cell, place.unwrap_or(0), visit.view.clone()))
            .or_insert_with(|| ReportCell::new(journey, &visit));
        radio.into_iter().for_each(|radio| cell.radios.take(radio));
        match (&visit.failure, visit.requests_failed) {
            (Some(why), _) => cell.shortfall.failed(why),
            (None, 0) => cell.shortfall.loaded(0, || None),
            (None, some) => {
                let objects = store.objects(visit.key)?;
                let failed = |o: ObjectRecord| Some((o.url, o.error?));
                cell.shortfall.loaded(some, || objects.into_iter().find_map(failed));
            }
        }
        let turn = turns.next(&visit, client);
        cell.visits.push((LoadIndex { repetition: journey.repetition, client, turn }, visit));
    }
    for journey in journeys.iter().filter(|j| j.failure.is_some()) {
        // Counted once, with the first of the cells that its visits would be in.
        let known = cells.iter_mut().find(|((cell, ..), _)| *cell == journey.cell);
        match known {
            Some((_, cell)) => cell.lose(journey),
            None => {
                let mut cell = ReportCell::without_visits(journey);
                cell.lose(journey);
                cells.insert((journey.cell, 0, cell.view.clone()), cell);
            }
        }
    }
    Ok(cells.into_values().collect())
}

/// Number of visits so far by each client of a journey to each page with the same cache.
#[derive(Default)]
struct VisitCounter(BTreeMap<(u64, u32, Option<String>, String), u32>);

impl VisitCounter {
    /// Number of this visit among those of its client to its page.
    fn next(&mut self, visit: &VisitRow, client: u32) -> u32 {
        let key = (visit.key.journey, client, visit.page.clone(), visit.view.clone());
        let turn = self.0.entry(key).or_default();
        *turn += 1;
        *turn - 1
    }
}

/// Varying properties of the cells, and the subset that defines arms.
struct PropertyGrid {
    /// The properties of each cell.
    rows: Vec<Vec<Property>>,
    /// For each property, the distinct values in order of appearance.
    values: Vec<Vec<String>>,
    /// The varying properties that distinguish arms.
    arm_columns: Vec<usize>,
    /// The varying properties that distinguish conditions.
    condition_columns: Vec<usize>,
}

impl PropertyGrid {
    fn of(cells: &[ReportCell]) -> PropertyGrid {
        let rows: Vec<Vec<Property>> =
            cells.iter().map(|c| keys::of(&c.scenario, &c.view, c.page.as_deref())).collect();
        let columns = rows[0].len();
        let values: Vec<Vec<String>> = (0..columns).map(|c| distinct(&rows, c)).collect();
        let varies = |column: &usize| values[*column].len() > 1;
        let is_arm = |column: &usize| rows[0][*column].role == SettingRole::Arm;
        let (mut arm_columns, mut condition_columns): (Vec<usize>, Vec<usize>) =
            (0..columns).filter(varies).partition(is_arm);
        // If no stack or transport is compared, the first property that is a name (a device, a browser), except
        // the page, defines the arms.
        if arm_columns.is_empty() {
            let is_name =
                |c: &usize| rows[0][*c].number.is_none() && rows[0][*c].name != pages::PAGE;
            let stand_in = condition_columns.iter().position(is_name);
            arm_columns.extend(stand_in.map(|at| condition_columns.remove(at)));
        }
        PropertyGrid { rows, values, arm_columns, condition_columns }
    }

    /// Assigns each cell its arm and condition; returns the arms' labels and the conditions.
    fn place(&self, cells: &mut [ReportCell]) -> (Vec<String>, Vec<Condition>) {
        let mut arms: Vec<String> = Vec::new();
        let mut conditions: Vec<Condition> = Vec::new();
        for (cell, row) in cells.iter_mut().zip(&self.rows) {
            let arm = match self.arm_columns.is_empty() {
                true => cell.scenario.stack.protocol.to_string(),
                false => label(row, &self.arm_columns),
            };
            cell.arm = place(&mut arms, arm);
            let keys = self.condition_columns.iter().map(|c| row[*c].clone()).collect();
            let label = label(row, &self.condition_columns);
            cell.condition = place(&mut conditions, Condition { label, keys });
        }
        (arms, conditions)
    }

    fn fixed(&self) -> Vec<(String, String)> {
        let mut columns = self.columns(|values| values.len() == 1);
        columns.retain(|(_, values)| values[0] != keys::PROFILE);
        columns.into_iter().map(|(name, mut values)| (name, values.remove(0))).collect()
    }

    fn varied(&self) -> Vec<(String, Vec<String>)> {
        self.columns(|values| values.len() > 1)
    }

    fn columns(&self, wanted: fn(&[String]) -> bool) -> Vec<(String, Vec<String>)> {
        let named =
            self.rows[0].iter().map(|key| key.name.clone()).zip(self.values.iter().cloned());
        named.filter(|(_, values)| wanted(values)).collect()
    }

    fn axes(&self) -> Vec<NumericProperty> {
        let is_numeric = |c: &&usize| self.rows.iter().all(|row| row[**c].number.is_some());
        let mut columns: Vec<usize> =
            self.condition_columns.iter().filter(is_numeric).copied().collect();
        columns.sort_by_key(|column| std::cmp::Reverse(self.values[*column].len()));
        let axis = |c: usize| NumericProperty {
            name: self.rows[0][c].name.clone(),
            unit: self.rows[0][c].unit,
        };
        columns.into_iter().map(axis).collect()
    }
}

/// The distinct values of a column, in order of appearance, without rows to which the property does not apply.
fn distinct(rows: &[Vec<Property>], column: usize) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for text in rows.iter().map(|row| &row[column].text).filter(|text| !text.is_empty()) {
        place(&mut values, text.clone());
    }
    values
}

/// The values of some columns as one label.
fn label(row: &[Property], columns: &[usize]) -> String {
    let labels = columns.iter().map(|c| row[*c].label.as_str());
    labels.filter(|label| !label.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Index of `item` in `list`; it is appended if new.
fn place<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

// Punctuality of a run's emulator: only if it is on time are page load times the network's.

/// Totals over the emulators of a run's visits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    visits: u64,
    packets: u64,
    worst_p99_ns: u64,
    worst_ns: u64,
    repeated: u64,
    without_precedence: u64,
    kernels: BTreeSet<String>,
}

impl Punctuality {
    /// Counts the emulator of one visit.
    pub fn take(&mut self, visit: &EmulationRecord) {
        self.visits += 1;
        self.packets += visit.delivered_packets;
        self.worst_p99_ns = self.worst_p99_ns.max(visit.late_p99_ns);
        self.worst_ns = self.worst_ns.max(visit.late_max_ns);
        self.repeated += u64::from(visit.attempts.saturating_sub(1));
        self.without_precedence += u64::from(!visit.realtime);
        self.kernels.insert(visit.kernel.clone());
    }

    /// The kernels whose TCP was used: "Linux 6.18".
    pub fn kernels(&self) -> String {
        let kernels: Vec<&str> = self.kernels.iter().map(String::as_str).collect();
        format!("Linux {}", kernels.join(", "))
    }

    /// Name and value of each; empty if nothing was emulated.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        if self.visits == 0 {
            return Vec::new();
        }
        let late = |ns: u64| format!("{} ms", ms(ns as f64 / 1e6));
        let mut facts = vec![
            ("emulated with the TCP of", self.kernels()),
            ("visits emulated", grouped(self.visits)),
            ("packets delivered", grouped(self.packets)),
            ("p99 packet lateness of a visit, at most", late(self.worst_p99_ns)),
            ("maximum packet lateness", late(self.worst_ns)),
            ("attempts discarded because of late packets", grouped(self.repeated)),
        ];
        if self.without_precedence > 0 {
            let visits = grouped(self.without_precedence);
            facts.push(("visits emulated without real-time priority", visits));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_counts() {
        assert!(Punctuality::default().facts().is_empty());
        let visit = |late_max_ns, attempts| EmulationRecord {
            delivered_packets: 1000,
            late_p50_ns: 40_000,
            late_p99_ns: late_max_ns / 4,
            late_max_ns,
            realtime: true,
            attempts,
            kernel: "6.1".to_owned(),
        };
        let mut punctuality = Punctuality::default();
        punctuality.take(&visit(1_200_000, 1));
        punctuality.take(&visit(400_000, 3));
        let facts = punctuality.facts();
        let of = |name: &str| &facts.iter().find(|(known, _)| known.contains(name)).unwrap().1;
        assert_eq!(of("TCP"), "Linux 6.1");
        assert_eq!(of("p99"), "0.30 ms");
        assert_eq!(of("maximum"), "1.20 ms");
        assert_eq!(of("discarded"), "2");
        assert_eq!(facts.len(), 6);
    }
}
