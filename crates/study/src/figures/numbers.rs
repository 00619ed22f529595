//! One number for each arm under each condition.

use serde::Serialize;

use super::Figure;
use super::drawn::{Drawn, Shape, row};
use super::kind::Numbers;
use super::sources::Evidence;
use crate::judge::{Fault, estimates};

/// A number above the name of its condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Number {
    panel: String,
    line: String,
    place: String,
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
}

row!(Number);

/// The figure.
pub fn drawn(evidence: &Evidence<'_>, figure: &Figure, show: &Numbers) -> Result<Drawn, Fault> {
    let mut rows = Vec::new();
    for grid in &show.scope.on {
        let frame = evidence.frame(figure, grid)?;
        for line in &show.lines {
            let name = format!("{}/{grid}/{}", figure.id, line.name);
            let found = estimates(&line.of, &frame, &name)?;
            let [estimate] = found.as_slice() else {
                return Err(Fault::Clause(format!(
                    "`{}` has {} numbers where one is needed: take its mean",
                    line.of,
                    found.len()
                )));
            };
            rows.push(Number {
                panel: String::new(),
                line: line.name.clone(),
                place: show.scope.called(grid),
                y: estimate.value,
                low: estimate.interval.map(|it| it.low),
                high: estimate.interval.map(|it| it.high),
            });
        }
    }
    Ok(Drawn::new(Shape::Numbers, "", &show.y, &rows))
}
