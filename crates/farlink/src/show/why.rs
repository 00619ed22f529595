//! Why loads took longer than the floor: the mean excess of each arm by cause, and the critical path of one load.

use record::{CriticalPath, PathCause, VisitRecord};

use super::arms::{Arm, Load};
use super::table::Table;
use super::units::{span, span_f64};

/// Share of the mean page load time below which a cause is not listed by itself, in every arm.
const LEAST_SHARE: f64 = 0.005;

/// Excess by cause of the arms, one row each: means over the loads that have a floor, so that each row sums to its load time.
/// `None` if no load has one.
pub fn table(arms: &[Arm]) -> Option<Table> {
    let rows: Vec<(&Arm, MeanExcess)> =
        arms.iter().filter_map(|arm| Some((arm, MeanExcess::of(arm.loads())?))).collect();
    let is_listed = |cause: &PathCause| {
        let large = |row: &MeanExcess| row.excess(*cause).abs() > LEAST_SHARE * row.plt;
        *cause != PathCause::Other && rows.iter().any(|(_, row)| large(row))
    };
    let listed: Vec<PathCause> = PathCause::ALL.into_iter().filter(is_listed).collect();
    let rest = |row: &MeanExcess| {
        let unlisted = PathCause::ALL.into_iter().filter(|cause| !listed.contains(cause));
        unlisted.map(|cause| row.excess(cause)).sum::<f64>()
    };
    let has_rest = rows.iter().any(|(_, row)| rest(row).abs() >= 1e6);
    let mut columns = vec!["mean load time", "floor"];
    columns.extend(listed.iter().map(|cause| heading(*cause)));
    columns.extend(has_rest.then_some("other"));
    columns.push("sum");
    let mut table = Table::new(&columns);
    for (arm, row) in &rows {
        let mut cells = vec![arm.name().to_owned(), span_f64(row.floor)];
        let causes = listed.iter().map(|cause| row.excess(*cause));
        let causes = causes.chain(has_rest.then(|| rest(row)));
        cells.extend(causes.map(|ns| if ns.abs() < 5e5 { "-".to_owned() } else { span_f64(ns) }));
        cells.push(span_f64(row.plt));
        table.row(cells);
    }
    (!rows.is_empty()).then_some(table)
}

/// A cause as the head of a column: several must fit a terminal.
fn heading(cause: PathCause) -> &'static str {
    match cause {
        PathCause::Connection => "connection",
        PathCause::Dns => "lookups",
        PathCause::HeadOfLine => "head of line",
        PathCause::Loss => "loss",
        PathCause::Radio => "radio",
        PathCause::Sending => "sending",
        cause => cause.words(),
    }
}

/// Means of the loads of an arm, in nanoseconds.
struct MeanExcess {
    plt: f64,
    floor: f64,
    by_cause: Vec<(PathCause, f64)>,
}

impl MeanExcess {
    fn of(loads: &[Load]) -> Option<MeanExcess> {
        let known = loads.iter().filter_map(|load| {
            let visit = &load.visit;
            Some((visit.record.plt_ns()?, visit.floors?.graph_ns, visit.critical_path.as_ref()?))
        });
        let known: Vec<(u64, u64, &CriticalPath)> = known.collect();
        let mean = |sum: f64| sum / known.len() as f64;
        let of_cause = |cause: PathCause| {
            mean(known.iter().map(|(_, _, path)| path.excess_ns(cause) as f64).sum())
        };
        (!known.is_empty()).then(|| MeanExcess {
            plt: mean(known.iter().map(|(plt, ..)| *plt as f64).sum()),
            floor: mean(known.iter().map(|(_, floor, _)| *floor as f64).sum()),
            by_cause: PathCause::ALL.into_iter().map(|cause| (cause, of_cause(cause))).collect(),
        })
    }

    fn excess(&self, cause: PathCause) -> f64 {
        self.by_cause.iter().find(|(other, _)| *other == cause).map_or(0.0, |(_, ns)| *ns)
    }
}

/// The steps of a critical path, in order.
pub fn path(record: &VisitRecord, path: &CriticalPath) -> Table {
    let mut table = Table::new(&["critical path", "from", "to", "waited for", "excess"]);
    table.left(3);
    for step in &path.steps {
        let object = record.objects.iter().find(|object| object.object == step.object);
        let excess = match step.excess_ns {
            ns if ns.abs() < 50_000 => "-".to_owned(),
            ns => span_f64(ns as f64),
        };
        table.row([
            object.map_or_else(String::new, super::waterfall::short_name),
            span(step.from_ns),
            span(step.until_ns),
            words(step.cause).to_owned(),
            excess,
        ]);
    }
    table
}

/// A step's cause, as the path's wait.
fn words(cause: PathCause) -> &'static str {
    match cause {
        PathCause::Queue => "the link",
        PathCause::RoundTrip => "a round trip and the server",
        PathCause::Window => "the sender's window",
        cause => cause.words(),
    }
}
