//! Distributions: the share of loads, or of objects, up to a value.

use record::ObjectRecord;
use serde::Serialize;

use super::drawn::{Drawn, Shape, Undrawn, row};
use super::kind::{Arm, Cumulative, CumulativeObjects, Scope, Span};
use super::sources::{Evidence, Which};
use crate::judge::Fault;
use statistics::Sample;

/// Maximum number of points of a distribution; larger samples are reduced to evenly spaced quantiles.
pub const MOST_POINTS: usize = 200;

const Y: &str = "share with at most that (%)";

/// A point of a distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Step {
    panel: String,
    line: String,
    x: f64,
    share_percent: f64,
}

row!(Step);

/// The figure of loads.
pub fn of_loads(evidence: &Evidence<'_>, show: &Cumulative) -> Result<Drawn, Fault> {
    let mut rows = Vec::new();
    for (panel, which, arm) in lines(&show.scope, &show.lines) {
        let cells = evidence.cells(which)?;
        let values = cells.iter().filter_map(|it| it.cell.values.get(&show.of));
        let sample = Sample::new(values.flat_map(|repeated| repeated.values().copied()));
        rows.extend(sample.iter().flat_map(|sample| steps(&panel, &arm.name, sample)));
    }
    let mut drawn = Drawn::new(Shape::Steps, &show.x, Y, &rows);
    drawn.layout.scale = show.scale;
    Ok(drawn)
}

/// The figure of objects.
///
/// # Errors
/// Missing data, or a store that cannot be read.
pub fn of_objects(evidence: &Evidence<'_>, show: &CumulativeObjects) -> Result<Drawn, Undrawn> {
    let mut rows = Vec::new();
    for (panel, which, arm) in lines(&show.scope, &show.lines) {
        evidence.grid(which)?;
        let mut spans = Vec::new();
        for load in evidence.loads.all(|facts| evidence.is_meant(facts, which)) {
            let objects = evidence.loads.objects(load)?;
            spans.extend(objects.iter().map(|object| show.of.of(object)));
        }
        let Some(sample) = Sample::new(spans) else {
            let (arm, grid) = (which.arm.to_owned(), which.grid.to_owned());
            return Err(Fault::NoLoads { arm, grid }.into());
        };
        rows.extend(steps(&panel, &arm.name, &sample));
    }
    let mut drawn = Drawn::new(Shape::Steps, &show.x, Y, &rows);
    drawn.layout.scale = show.scale;
    drawn.layout.marks = show.marks.clone();
    Ok(drawn)
}

/// Each line with its plot: one plot for each grid of the figure, or a single one if the arms name their grids.
fn lines<'a>(
    scope: &'a Scope,
    arms: &'a [Arm],
) -> impl Iterator<Item = (String, Which<'a>, &'a Arm)> {
    let several = scope.on.len() > 1;
    let of_grid = move |grid: Option<&'a String>| {
        let panel = grid.filter(|_| several).map_or(String::new(), |grid| scope.called(grid));
        arms.iter().filter_map(move |arm| {
            let grid = arm.on.as_ref().or(grid)?;
            let which = Which { arm: &arm.arm, grid, narrowed: &scope.filter };
            Some((panel.clone(), which, arm))
        })
    };
    let grids: Vec<Option<&String>> = match scope.on.is_empty() {
        true => vec![None],
        false => scope.on.iter().map(Some).collect(),
    };
    grids.into_iter().flat_map(of_grid)
}

/// The points of the distribution: every value, or quantiles if there are many.
fn steps(panel: &str, line: &str, sample: &Sample) -> Vec<Step> {
    let values = sample.values();
    let count = values.len().min(MOST_POINTS);
    let step = |rank: usize| {
        // The smallest value that at least this share of the values do not exceed.
        let place = (rank * values.len()).div_ceil(count) - 1;
        Step {
            panel: panel.to_owned(),
            line: line.to_owned(),
            x: values[place],
            share_percent: 100.0 * (place + 1) as f64 / values.len() as f64,
        }
    };
    (1..=count).map(step).collect()
}

impl Span {
    /// The length of the span in ms.
    fn of(self, object: &ObjectRecord) -> f64 {
        let phases = &object.phases;
        let ns = match self {
            Span::Blocked => phases.blocked_ns,
            Span::Wait => phases.wait_ns,
            Span::Receive => phases.receive_ns,
            Span::Whole => phases.total_ns(),
        };
        ns as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
        let sample = Sample::new(values).unwrap();
        steps("", "", &sample).into_iter().map(|step| (step.x, step.share_percent)).collect()
    }

    #[test]
    fn few_values_are_all_there() {
        let steps = of([30.0, 10.0, 20.0, 20.0]);
        assert_eq!(steps, [(10.0, 25.0), (20.0, 50.0), (20.0, 75.0), (30.0, 100.0)]);
    }

    #[test]
    fn of_many_values_the_quantiles_are_left() {
        let steps = of((1..=1000).map(f64::from));
        assert_eq!(steps.len(), MOST_POINTS);
        assert_eq!((steps[0], steps[99], steps[199]), ((5.0, 0.5), (500.0, 50.0), (1000.0, 100.0)));
        // For any sample size, the largest value is kept and shares are those of the values themselves.
        let odd = of((1..=333).map(f64::from));
        assert!(odd.iter().all(|(x, share)| (share - 100.0 * x / 333.0).abs() < 1e-9));
        assert_eq!(odd.last(), Some(&(333.0, 100.0)));
    }
}
