//! Results of a comparison by arm, one line each.

use std::collections::BTreeSet;
use std::sync::Arc;

use record::{EmulationRecord, VisitOutcome};
use scenario::settings::{SETTINGS, Setting, SettingRole};
use scenario::{JourneyPlan, JourneyResult, MeasuredVisit, Plan, Scenario, View};
use statistics::Sample;

use super::table::Table;
use super::units::{bytes, span_f64};

/// One arm: a way of loading the page, cold or warm, with all its loads.
#[derive(Clone)]
pub struct Arm {
    stack: String,
    name: String,
    label: String,
    condition: String,
    view: View,
    cell: u32,
    scenario: Arc<Scenario>,
    loads: Vec<Load>,
    lost: Vec<String>,
    notes: BTreeSet<String>,
}

/// One load of an arm.
#[derive(Clone)]
pub struct Load {
    /// Loads of the same repetition and place in the journey are paired across arms.
    pub repetition: u32,
    /// Journey's position in the plan.
    pub position: u64,
    /// Journey's seed.
    pub seed: u64,
    /// The measured visit.
    pub visit: MeasuredVisit,
}

/// Groups the results of `plan` by arm: a cell of the plan, cold and warm separately.
pub fn group(plan: &Plan, results: Vec<(JourneyPlan, JourneyResult)>) -> Vec<Arm> {
    let varied = VariedSettings::of(plan.cells());
    // A journey that keeps its cache has visits of both kinds, too.
    let has = |view: View, cell: u32| {
        let of_cell = results.iter().filter(|(journey, _)| journey.cell == cell);
        of_cell.flat_map(|(_, result)| &result.visits).any(|v| v.record.view == view.name())
    };
    let mut arms: Vec<Arm> = [View::Cold, View::Warm]
        .into_iter()
        .flat_map(|view| {
            plan.cells().iter().enumerate().map(move |(index, cell)| (view, index, cell))
        })
        .filter(|(view, index, cell)| {
            [*view, View::Both].contains(&cell.client.view) || has(*view, *index as u32)
        })
        .map(|(view, index, cell)| Arm::new(view, index as u32, cell, &varied))
        .collect();
    // Arms under the same conditions are adjacent.
    let order = conditions(plan.cells(), &varied);
    arms.sort_by_key(|arm| order[arm.cell as usize]);
    for (journey, result) in results {
        for arm in arms.iter_mut().filter(|arm| arm.cell == journey.cell) {
            arm.take(&journey, &result);
        }
    }
    arms
}

/// Settings that differ between cells, except for the protocol, which every arm states.
struct VariedSettings(Vec<&'static Setting>);

impl VariedSettings {
    fn of(cells: &[Arc<Scenario>]) -> VariedSettings {
        let differs = |setting: &&Setting| {
            let first = setting.get(&cells[0]);
            cells.iter().any(|cell| setting.get(cell) != first)
        };
        let is_named = |setting: &&Setting| setting.key == "stack.protocol";
        let own = SETTINGS.iter().filter(|setting| setting.within.is_none());
        VariedSettings(own.filter(|setting| !is_named(setting)).filter(differs).collect())
    }

    /// The values of the settings with this role that apply to `scenario`.
    fn text(&self, scenario: &Scenario, role: SettingRole) -> String {
        let own = self.0.iter().filter(|setting| setting.role == role && setting.applies(scenario));
        let value = |setting: &Setting| match setting.get(scenario) {
            value if value.is_empty() => format!("no {}", setting.column.replace('_', " ")),
            // Numbers and switches mean nothing without their name.
            value if value.parse::<f64>().is_ok() || ["on", "off"].contains(&&*value) => {
                format!("{} {value}", setting.column.replace('_', " "))
            }
            value => value,
        };
        own.map(|setting| value(setting)).collect::<Vec<_>>().join(" ")
    }
}

/// The number of each cell's conditions, in order of first appearance.
fn conditions(cells: &[Arc<Scenario>], varied: &VariedSettings) -> Vec<usize> {
    let mut known: Vec<String> = Vec::new();
    let number = |cell: &Arc<Scenario>| {
        let text = varied.text(cell, SettingRole::Condition);
        known.iter().position(|known| *known == text).unwrap_or_else(|| {
            known.push(text);
            known.len() - 1
        })
    };
    cells.iter().map(number).collect()
}

/// The arms grouped by condition.
pub fn by_condition(arms: &[Arm]) -> impl Iterator<Item = &[Arm]> {
    arms.chunk_by(|one, next| one.condition == next.condition)
}

impl Arm {
    fn new(view: View, cell: u32, scenario: &Arc<Scenario>, varied: &VariedSettings) -> Arm {
        let protocol = scenario.stack.protocol;
        let others = varied.text(scenario, SettingRole::Arm);
        let stack = match others.is_empty() {
            true => protocol.to_string(),
            false => format!("{protocol} {others}"),
        };
        let comes_back = scenario.visits_each() > 1 && scenario.journey.keeps.cache;
        let name = match scenario.client.view == View::Both || comes_back {
            true => format!("{stack} {view}"),
            false => stack.clone(),
        };
        let condition = varied.text(scenario, SettingRole::Condition);
        let label = match condition.is_empty() {
            true => name.clone(),
            false => format!("{name} {condition}"),
        };
        let scenario = Arc::clone(scenario);
        let (loads, lost, notes) = (Vec::new(), Vec::new(), BTreeSet::new());
        Arm { stack, name, label, condition, view, cell, scenario, loads, lost, notes }
    }

    /// The arms of one cell, one for each state of the cache, with its loads among `results`.
    pub fn of_cell(
        scenario: &Arc<Scenario>,
        cell: u32,
        results: &[(JourneyPlan, JourneyResult)],
    ) -> Vec<Arm> {
        let own = || results.iter().filter(|(journey, _)| journey.cell == cell);
        let has = |view: View| {
            own().flat_map(|(_, result)| &result.visits).any(|v| v.record.view == view.name())
        };
        let views = [View::Cold, View::Warm].into_iter();
        let views =
            views.filter(|view| [*view, View::Both].contains(&scenario.client.view) || has(*view));
        let arm = |view| {
            let mut arm = Arm::new(view, cell, scenario, &VariedSettings(Vec::new()));
            own().for_each(|(journey, result)| arm.take(journey, result));
            arm
        };
        views.map(arm).collect()
    }

    /// The same arm under another name and condition.
    pub fn renamed(self, name: &str, condition: &str) -> Arm {
        let (stack, condition) = (name.to_owned(), condition.to_owned());
        let label = format!("{name} {condition}");
        Arm { name: stack.clone(), stack, label, condition, ..self }
    }

    fn take(&mut self, journey: &JourneyPlan, result: &JourneyResult) {
        let JourneyPlan { repetition, position, seed, .. } = *journey;
        let visits = result.visits.iter().filter(|visit| visit.record.view == self.view.name());
        let load = |v: &MeasuredVisit| Load { repetition, position, seed, visit: v.clone() };
        self.loads.extend(visits.map(load));
        self.lost.extend(result.failure.clone());
        self.notes.extend(result.notes.iter().cloned());
    }

    /// The protocol stack: `h2`, or `h2 tls13` if security tells arms apart.
    pub fn stack(&self) -> &str {
        &self.stack
    }

    /// The stack, with the state of the cache if that tells arms apart.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name, with the conditions if they vary.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The varying settings of its conditions.
    pub fn condition(&self) -> &str {
        &self.condition
    }

    /// Its cell of the plan.
    pub fn cell(&self) -> u32 {
        self.cell
    }

    /// The state of the cache.
    pub fn view(&self) -> &'static str {
        self.view.name()
    }

    /// The scenario of the arm.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Its loads, in the order of repetitions.
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// Notes for the reader: what was modelled, defaulted or not shaped.
    pub fn notes(&self) -> &BTreeSet<String> {
        &self.notes
    }

    /// The page load times, in ns; `None` if no visit loaded.
    pub fn plt(&self) -> Option<Sample> {
        Sample::new(self.visits().filter_map(|v| v.record.plt_ns()).map(|ns| ns as f64))
    }

    /// The median of page load time to floor.
    pub fn over_floor(&self) -> Option<f64> {
        self.median_of(|v| Some(v.record.plt_ns()? as f64 / v.floors?.graph_ns as f64))
    }

    /// The load whose page load time is the median (of an even number, the lower one).
    pub fn median_load(&self) -> Option<&Load> {
        let plt = |load: &&Load| load.visit.record.plt_ns();
        let mut loaded: Vec<&Load> = self.loads.iter().filter(|load| plt(load).is_some()).collect();
        loaded.sort_by_key(plt);
        loaded.get(loaded.len().saturating_sub(1) / 2).copied()
    }

    /// Reasons for failed visits, and for journeys without visits.
    pub fn failures(&self) -> impl Iterator<Item = &str> {
        let reasons = self.visits().filter_map(|visit| match &visit.record.outcome {
            VisitOutcome::Failed { reason } => Some(reason.as_str()),
            VisitOutcome::Loaded { .. } => None,
        });
        reasons.chain(self.lost.iter().map(String::as_str))
    }

    /// Reasons for journeys without visits.
    pub fn lost(&self) -> impl Iterator<Item = &str> {
        self.lost.iter().map(String::as_str)
    }

    /// Loads that reached the load event without some of their objects.
    pub fn partial(&self) -> usize {
        let lacks = |v: &&MeasuredVisit| v.figures().requests_failed > 0;
        self.visits().filter(|v| v.record.plt_ns().is_some()).filter(lacks).count()
    }

    /// Number of attempted loads.
    pub fn attempts(&self) -> usize {
        self.loads.len() + self.lost.len()
    }

    /// Number of failed loads.
    pub fn failed(&self) -> usize {
        self.failures().count()
    }

    /// Findings in the figures that the reader should know.
    pub fn findings(&self) -> Vec<String> {
        let name = &self.name;
        let mut findings = Vec::new();
        if self.loads.len() > 1 && self.plt().is_some_and(|plt| !plt.has_spread()) {
            findings.push(format!("{name}: all loads are identical, so there is no spread"));
        }
        if self.failed() > 0 && self.plt().is_some() {
            let (failed, all) = (self.failed(), self.attempts());
            findings
                .push(format!("{name}: {failed} of {all} loads failed; the figures exclude them"));
        }
        match self.visits().map(|visit| visit.figures().connections_flow_limited).max() {
            None | Some(0) => {}
            Some(1) => findings.push(format!(
                "{name}: flow control held back a connection for over 1 % of its busy time"
            )),
            Some(n) => findings.push(format!(
                "{name}: flow control held back {n} connections for over 1 % of their busy time"
            )),
        }
        findings
    }

    /// Emulation records of emulated visits.
    pub fn emulations(&self) -> impl Iterator<Item = &EmulationRecord> {
        self.visits().filter_map(|visit| visit.record.emulation.as_ref())
    }

    fn visits(&self) -> impl Iterator<Item = &MeasuredVisit> {
        self.loads.iter().map(|load| &load.visit)
    }

    fn median_of(&self, value: impl Fn(&MeasuredVisit) -> Option<f64>) -> Option<f64> {
        Some(Sample::new(self.visits().filter_map(value))?.median())
    }

    fn row(&self, sights: &[MomentColumn]) -> Vec<String> {
        let plt = self.plt();
        let floor = |v: &MeasuredVisit| v.floors.map(|f| f.graph_ns as f64);
        let mut row = vec![
            self.name.clone(),
            some(plt.as_ref().map(Sample::median), &span_f64),
            some(plt.as_ref().map(|s| s.quantile(0.9)), &span_f64),
            some(self.median_of(floor), &span_f64),
            some(self.over_floor(), &|ratio| format!("{ratio:.2}")),
            some(self.median_of(|v| v.record.ttfb_ns.map(|ns| ns as f64)), &span_f64),
        ];
        row.extend(sights.iter().map(|sight| some(self.median_of(sight.of), &span_f64)));
        row.extend([
            some(self.median_of(|v| Some(v.figures().connections as f64)), &count),
            some(self.median_of(|v| Some(v.record.wire_bytes_down as f64)), &bytes),
            some(self.median_of(retransmits), &count),
        ]);
        row
    }
}

fn retransmits(visit: &MeasuredVisit) -> Option<f64> {
    visit.figures().retransmits.map(|segments| segments as f64)
}

fn some(value: Option<f64>, show: &dyn Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// A moment at which a reader of the page sees something: a column of the table.
struct MomentColumn {
    column: &'static str,
    of: fn(&MeasuredVisit) -> Option<f64>,
}

/// Estimates, for loads that paint nothing.
const MODELLED: [MomentColumn; 2] = [
    MomentColumn { column: "render*", of: |v| Some(v.figures().first_render_ns? as f64) },
    MomentColumn { column: "ByteIndex*", of: |v| Some(v.figures().byte_index_ns? as f64) },
];

/// Measurements of a real browser.
const PAINTED: [MomentColumn; 3] = [
    MomentColumn { column: "FCP", of: |v| Some(v.record.paint?.first_contentful_paint_ns? as f64) },
    MomentColumn {
        column: "LCP",
        of: |v| Some(v.record.paint?.largest_contentful_paint_ns? as f64),
    },
    MomentColumn { column: "Speed Index", of: |v| Some(v.record.paint?.speed_index_ns? as f64) },
];

/// Returns true if a real browser loaded any of it.
fn is_painted(arms: &[Arm]) -> bool {
    arms.iter().flat_map(Arm::visits).any(|visit| visit.record.paint.is_some())
}

/// Legend of the table's columns.
pub fn legend(arms: &[Arm]) -> &'static str {
    match is_painted(arms) {
        true => {
            "FCP, LCP: first and largest contentful paint of a stand-in page. It renders nothing until all render-blocking resources have arrived; images are boxes sized by their bytes."
        }
        false => {
            "* Estimated, not painted. render: when all render-blocking resources have arrived. ByteIndex: mean arrival time of a byte."
        }
    }
}

fn sights(arms: &[Arm]) -> &'static [MomentColumn] {
    if !is_painted(arms) {
        return &MODELLED;
    }
    let [.., speed_index] = &PAINTED;
    match arms.iter().flat_map(Arm::visits).any(|visit| (speed_index.of)(visit).is_some()) {
        true => &PAINTED,
        // It was not filmed.
        false => &PAINTED[..2],
    }
}

fn count(n: f64) -> String {
    if n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") }
}

/// The table of all arms, with a column for failures if there are any.
pub fn table(arms: &[Arm]) -> Table {
    let sights = sights(arms);
    let mut columns = vec!["", "median PLT", "p90", "floor", "PLT/floor", "TTFB"];
    columns.extend(sights.iter().map(|sight| sight.column));
    columns.extend(["conns", "bytes", "retrans"]);
    let tells_failures = arms.iter().any(|arm| arm.failed() > 0);
    if tells_failures {
        columns.push("failed");
    }
    let tells_partial = arms.iter().any(|arm| arm.partial() > 0);
    if tells_partial {
        columns.push("incomplete");
    }
    let mut table = Table::new(&columns);
    for arm in arms {
        let failed = tells_failures.then(|| arm.failed().to_string());
        let partial = tells_partial.then(|| arm.partial().to_string());
        table.row(arm.row(sights).into_iter().chain(failed).chain(partial));
    }
    table
}

/// The arm with the smallest median, among those that loaded the whole page if there are any.
pub fn fastest<'a>(arms: impl IntoIterator<Item = &'a Arm>) -> Option<&'a Arm> {
    let loaded: Vec<&Arm> = arms.into_iter().filter(|arm| arm.plt().is_some()).collect();
    let is_whole = |arm: &&Arm| arm.failed() == 0 && arm.partial() == 0;
    let whole: Vec<&Arm> = loaded.iter().copied().filter(is_whole).collect();
    let ranked = if whole.is_empty() { loaded } else { whole };
    let medians = ranked.into_iter().filter_map(|arm| Some((arm, arm.plt()?.median())));
    medians.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(arm, _)| arm)
}
