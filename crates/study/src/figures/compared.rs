//! Measured values beside published ones, point by point.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Figure;
use super::curves::Point;
use super::drawn::{Drawn, Shape, row};
use super::kind::{Curves, Line};
use super::sources::Evidence;
use crate::judge::{Expression, Fault, Frame, estimates};
use statistics::{Interval, Sample};

/// A measured point and its published counterpart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    panel: String,
    line: String,
    x: f64,
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
    published: Option<f64>,
    published_low: Option<f64>,
    published_high: Option<f64>,
    /// Measured over published value, less one.
    error_percent: Option<f64>,
}

row!(Compared);

/// The figure of these points.
pub fn drawn(
    evidence: &Evidence<'_>,
    figure: &Figure,
    show: &Curves,
    points: Vec<Point>,
) -> Result<Drawn, Fault> {
    let Some(grid) = show.scope.on.first() else {
        return Err(Fault::Clause("a figure is drawn over a grid".to_owned()));
    };
    let frame = evidence.frame(figure, grid)?;
    let published: BTreeMap<&str, Published> = show
        .lines
        .iter()
        .map(|line| Ok((line.name.as_str(), Published::of(line, &frame)?)))
        .collect::<Result<_, Fault>>()?;
    let beside = |point: Point| match published.get(point.line.as_str()) {
        Some(published) => published.beside(point),
        None => Published::default().beside(point),
    };
    let rows: Vec<Compared> = points.into_iter().map(beside).collect();
    let mut drawn = Drawn::new(Shape::Compared, &show.x, &show.y, &rows);
    drawn.remarks = show.lines.iter().filter_map(|line| nearness(&line.name, &rows)).collect();
    drawn.remarks.extend(show.order.iter().map(|pair| order(pair, &rows)));
    Ok(drawn)
}

/// A published line.
#[derive(Default)]
struct Published {
    values: Vec<(f64, f64)>,
    /// Half of the published interval, in per cent.
    halves: Vec<(f64, f64)>,
}

impl Published {
    fn of(line: &Line, frame: &Frame) -> Result<Published, Fault> {
        let points = |expression: &Option<Expression>| -> Result<Vec<(f64, f64)>, Fault> {
            let Some(expression) = expression else { return Ok(Vec::new()) };
            let found = estimates(expression, frame, "")?;
            Ok(found.into_iter().map(|it| (it.place.x, it.value)).collect())
        };
        Ok(Published {
            values: points(&line.published)?,
            halves: points(&line.published_interval_pct)?,
        })
    }

    fn beside(&self, point: Point) -> Compared {
        let Point { panel, line, x, y, low, high } = point;
        let published = at(&self.values, x);
        let interval = published.zip(at(&self.halves, x)).map(|(value, percent)| Interval {
            low: value * (1.0 - percent / 100.0),
            high: value * (1.0 + percent / 100.0),
        });
        let error_percent = published.map(|value| 100.0 * (y / value - 1.0));
        let (published_low, published_high) =
            (interval.map(|it| it.low), interval.map(|it| it.high));
        Compared {
            panel,
            line,
            x,
            y,
            low,
            high,
            published,
            published_low,
            published_high,
            error_percent,
        }
    }
}

fn at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    points.iter().find(|(there, _)| *there == x).map(|(_, y)| *y)
}

/// The agreement of a line with the published one.
fn nearness(line: &str, rows: &[Compared]) -> Option<String> {
    let errors = rows.iter().filter(|row| row.line == line).filter_map(|row| row.error_percent);
    let errors: Vec<f64> = errors.collect();
    let signed = Sample::new(errors.iter().copied())?;
    let sizes = Sample::new(errors.iter().map(|error| error.abs()))?;
    let within = |percent: f64| sizes.values().iter().filter(|size| **size <= percent).count();
    Some(format!(
        "{line}: ours differs from the published value by {:.0} % in the median ({:+.0} % with its sign); within 10 % at {}, within 30 % at {} of {} points",
        sizes.median(),
        signed.median(),
        within(10.0),
        within(30.0),
        errors.len(),
    ))
}

/// The number of points at which two lines are in the published order, where that order is certain.
fn order([one, other]: &[String; 2], rows: &[Compared]) -> String {
    let of = |line: &str, x: f64| rows.iter().find(|row| row.line == line && row.x == x);
    let (mut sure, mut same) = (0, 0);
    for a in rows.iter().filter(|row| row.line == *one) {
        let Some(b) = of(other, a.x) else { continue };
        let Some(published) = side(a, b) else { continue };
        sure += 1;
        same += usize::from((a.y < b.y) == published);
    }
    format!(
        "{one} against {other}: the published intervals do not overlap at {sure} points; at {same} of them ours are in the same order"
    )
}

/// True if the first is published as the smaller one; `None` if the intervals leave doubt.
fn side(a: &Compared, b: &Compared) -> Option<bool> {
    match () {
        () if a.published_high? < b.published_low? => Some(true),
        () if b.published_high? < a.published_low? => Some(false),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(line: &str, x: f64, y: f64) -> Point {
        let (panel, line) = (String::new(), line.to_owned());
        Point { panel, line, x, y, low: None, high: None }
    }

    fn published(values: &[(f64, f64)], percent: f64) -> Published {
        let halves = values.iter().map(|(x, _)| (*x, percent)).collect();
        Published { values: values.to_vec(), halves }
    }

    #[test]
    fn errors_are_ours_over_theirs() {
        let theirs = published(&[(50.0, 2.0), (100.0, 4.0)], 10.0);
        let rows: Vec<Compared> = [(50.0, 2.1), (100.0, 3.0), (150.0, 5.0)]
            .map(|(x, y)| theirs.beside(point("a", x, y)))
            .to_vec();
        let errors: Vec<Option<f64>> =
            rows.iter().map(|row| row.error_percent.map(|it| (it * 1e6).round() / 1e6)).collect();
        assert_eq!(errors, [Some(5.0), Some(-25.0), None]);
        assert_eq!((rows[0].published_low, rows[0].published_high), (Some(1.8), Some(2.2)));
        assert_eq!(
            nearness("a", &rows).unwrap(),
            "a: ours differs from the published value by 15 % in the median (-10 % with its sign); within 10 % at 1, within 30 % at 2 of 2 points"
        );
        assert_eq!(nearness("b", &rows), None);
    }

    #[test]
    fn order_counts_where_published_intervals_are_apart() {
        let a = published(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], 1.0);
        let b = published(&[(1.0, 2.0), (2.0, 1.01), (3.0, 0.5)], 1.0);
        let ours = [("a", &a, [5.0, 5.0, 5.0]), ("b", &b, [6.0, 4.0, 6.0])];
        let rows: Vec<Compared> = ours
            .iter()
            .flat_map(|(line, theirs, ys)| {
                let at = |(x, y): (f64, &f64)| theirs.beside(point(line, x, *y));
                [1.0, 2.0, 3.0].into_iter().zip(ys).map(at).collect::<Vec<_>>()
            })
            .collect();
        let text = order(&["a".to_owned(), "b".to_owned()], &rows);
        assert_eq!(
            text,
            "a against b: the published intervals do not overlap at 2 points; at 1 of them ours are in the same order"
        );
    }
}
