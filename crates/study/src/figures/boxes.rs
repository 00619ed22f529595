//! The loads of each arm at each place: least, quartiles, most and mean.

use serde::Serialize;

use super::drawn::{Drawn, Shape, row};
use super::kind::Boxes;
use super::sources::{Evidence, Which};
use crate::judge::Fault;
use statistics::Sample;

/// A box with its whiskers.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Spread {
    panel: String,
    line: String,
    place: String,
    loads: usize,
    least: f64,
    q1: f64,
    median: f64,
    q3: f64,
    most: f64,
    mean: f64,
}

row!(Spread);

/// The figure.
pub fn drawn(evidence: &Evidence<'_>, show: &Boxes) -> Result<Drawn, Fault> {
    let mut rows = Vec::new();
    for grid in &show.scope.on {
        for arm in &show.lines {
            let which = Which { arm: &arm.arm, grid, narrowed: &show.scope.filter };
            let panel = panel(evidence, which, show)?;
            let cells = evidence.cells(which)?;
            for same in cells.chunk_by(|one, next| one.place == next.place) {
                let values = same.iter().filter_map(|it| it.cell.values.get(&show.of));
                let values = values.flat_map(|repeated| repeated.values().copied());
                // No box where every load failed.
                let Some(sample) = Sample::new(values) else { continue };
                let place = show.scope.called(&same[0].place);
                rows.push(Spread::of(panel.clone(), arm.name.clone(), place, &sample));
            }
        }
    }
    Ok(Drawn::new(Shape::Boxes, &show.x, &show.y, &rows))
}

/// The panel of a grid: one each for several grids that have an axis.
fn panel(evidence: &Evidence<'_>, which: Which<'_>, show: &Boxes) -> Result<String, Fault> {
    let has_axis = evidence.grid(which)?.x.is_some();
    Ok(match has_axis && show.scope.on.len() > 1 {
        true => show.scope.called(which.grid),
        false => String::new(),
    })
}

impl Spread {
    fn of(panel: String, line: String, place: String, sample: &Sample) -> Spread {
        Spread {
            panel,
            line,
            place,
            loads: sample.values().len(),
            least: sample.quantile(0.0),
            q1: sample.quantile(0.25),
            median: sample.median(),
            q3: sample.quantile(0.75),
            most: sample.quantile(1.0),
            mean: sample.mean(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_by_hand() {
        let sample = Sample::new([4.0, 1.0, 2.0, 3.0, 10.0]).unwrap();
        let found = Spread::of("p".to_owned(), "l".to_owned(), "1".to_owned(), &sample);
        assert_eq!((found.loads, found.least, found.q1), (5, 1.0, 2.0));
        assert_eq!((found.median, found.q3, found.most, found.mean), (3.0, 4.0, 10.0, 4.0));
    }
}
