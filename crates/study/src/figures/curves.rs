//! Expressions: curves over the axis of a grid, beside published ones, and single numbers.

use std::collections::BTreeMap;

use serde::Serialize;

use super::data::{FigureData, PlotData, PointRow, Shape};
use super::definition::{Apart, Band, Figure, Line, Show};
use crate::judge::{ClauseError, Dataset, Estimate, Expression, Statistic, estimates};
use statistics::{Interval, Sample};

/// Curves; beside published ones if a line has one.
pub(super) fn curves(data: &FigureData<'_>, figure: &Figure) -> Result<PlotData, ClauseError> {
    let show = &figure.show;
    let mut rows = Vec::new();
    for grid in &show.scope.on {
        let dataset = data.dataset(figure, grid)?;
        for (line, of) in expressions(show) {
            let found = match show.band {
                Band::Interval => {
                    estimates(of, &dataset, &format!("{}/{grid}/{}", figure.id, line.name))?
                }
                Band::Range => ranges(of, &dataset)?,
            };
            rows.extend(found.into_iter().map(|it| point(show, grid, &dataset, line, it)));
        }
    }
    let is_compared = show.lines.iter().any(|line| line.published.is_some());
    let mut plot = match is_compared {
        true => compared(data, figure, rows)?,
        false => PlotData::new(Shape::Lines, [&show.x, &show.y], &rows, PointRow::place),
    };
    plot.layout.scale = show.scale;
    plot.layout.marks = show.marks.clone();
    Ok(plot)
}

/// The lines with their expressions.
fn expressions(show: &Show) -> impl Iterator<Item = (&Line, &Expression)> {
    show.lines.iter().filter_map(|line| Some((line, line.of.as_ref()?)))
}

fn point(
    show: &Show,
    grid: &str,
    dataset: &Dataset,
    line: &Line,
    Estimate { at, value, interval }: Estimate,
) -> PointRow {
    let scope = &show.scope;
    let case = dataset.cases().get(at.case).map(|case| scope.shown(case));
    let grid = (scope.on.len() > 1).then(|| scope.shown(grid));
    let (of_panel, of_line) = match show.apart {
        Apart::Panels => (case, None),
        Apart::Lines => (None, case),
    };
    let own = (show.lines.len() > 1 || of_line.is_none()).then(|| line.name.clone());
    let joined =
        |parts: [Option<String>; 2]| parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    PointRow {
        panel: joined([grid, of_panel]),
        line: joined([own, of_line]),
        x: at.x,
        y: value,
        low: interval.map(|it| it.low),
        high: interval.map(|it| it.high),
    }
}

/// The values of a single quantity, with the least and the greatest of the loads as intervals.
fn ranges(of: &Expression, dataset: &Dataset) -> Result<Vec<Estimate>, ClauseError> {
    let with = |statistic| {
        dataset.with_statistic(of, statistic).ok_or_else(|| {
            ClauseError::Invalid(format!("`{of}`: a range is that of one quantity's loads"))
        })
    };
    let (least, most) = (with(Statistic::Least)?, with(Statistic::Most)?);
    let mut middle = estimates(of, dataset, "")?;
    for estimate in &mut middle {
        let at = |points: &crate::judge::Series| {
            points.iter().find(|(at, _)| *at == estimate.at).map(|(_, y)| *y)
        };
        estimate.interval = at(&least).zip(at(&most)).map(|(low, high)| Interval { low, high });
    }
    Ok(middle)
}

/// A number of an arm under a condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct NumberRow {
    panel: String,
    line: String,
    place: String,
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// One number for each arm under each condition.
pub(super) fn numbers(data: &FigureData<'_>, figure: &Figure) -> Result<PlotData, ClauseError> {
    let show = &figure.show;
    let mut rows = Vec::new();
    for grid in &show.scope.on {
        let dataset = data.dataset(figure, grid)?;
        for (line, of) in expressions(show) {
            let name = format!("{}/{grid}/{}", figure.id, line.name);
            let found = estimates(of, &dataset, &name)?;
            let [estimate] = found.as_slice() else {
                let count = found.len();
                return Err(ClauseError::Invalid(format!(
                    "`{of}` has {count} numbers where one is needed: take its mean"
                )));
            };
            rows.push(NumberRow {
                panel: String::new(),
                line: line.name.clone(),
                place: show.scope.shown(grid),
                y: estimate.value,
                low: estimate.interval.map(|it| it.low),
                high: estimate.interval.map(|it| it.high),
            });
        }
    }
    Ok(PlotData::new(Shape::Numbers, ["", &show.y], &rows, |it| [&it.panel, &it.line]))
}

/// A measured point beside the published one.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ComparedRow {
    panel: String,
    line: String,
    x: f64,
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
    published: Option<f64>,
    published_low: Option<f64>,
    published_high: Option<f64>,
    /// Deviation from the published value.
    error_percent: Option<f64>,
}

fn compared(
    data: &FigureData<'_>,
    figure: &Figure,
    points: Vec<PointRow>,
) -> Result<PlotData, ClauseError> {
    let show = &figure.show;
    let grid = show.scope.on.first();
    let grid = grid.ok_or_else(|| ClauseError::Invalid("a figure is drawn over a grid".to_owned()));
    let dataset = data.dataset(figure, grid?)?;
    let of_line = |line: &Line| -> Result<(String, PublishedCurve), ClauseError> {
        Ok((line.name.clone(), PublishedCurve::of(line, &dataset)?))
    };
    let published: BTreeMap<String, PublishedCurve> =
        show.lines.iter().map(of_line).collect::<Result<_, _>>()?;
    let none = PublishedCurve::default();
    let beside = |point: PointRow| published.get(&point.line).unwrap_or(&none).beside(point);
    let rows: Vec<ComparedRow> = points.into_iter().map(beside).collect();
    let axes = [show.x.as_str(), show.y.as_str()];
    let mut plot = PlotData::new(Shape::Compared, axes, &rows, |it| [&it.panel, &it.line]);
    plot.remarks = show.lines.iter().filter_map(|line| nearness(&line.name, &rows)).collect();
    plot.remarks.extend(show.order.iter().map(|pair| order(pair, &rows)));
    Ok(plot)
}

/// Published values of a line, and half of their intervals in per cent, by x.
#[derive(Default)]
struct PublishedCurve {
    values: Vec<(f64, f64)>,
    halves: Vec<(f64, f64)>,
}

impl PublishedCurve {
    fn of(line: &Line, dataset: &Dataset) -> Result<PublishedCurve, ClauseError> {
        let points = |expression: &Option<Expression>| -> Result<Vec<(f64, f64)>, ClauseError> {
            let Some(expression) = expression else { return Ok(Vec::new()) };
            let found = estimates(expression, dataset, "")?;
            Ok(found.into_iter().map(|it| (it.at.x, it.value)).collect())
        };
        let (values, halves) = (points(&line.published)?, points(&line.published_interval_pct)?);
        Ok(PublishedCurve { values, halves })
    }

    fn beside(&self, point: PointRow) -> ComparedRow {
        let PointRow { panel, line, x, y, low, high } = point;
        let published = at(&self.values, x);
        let half = published.zip(at(&self.halves, x));
        ComparedRow {
            panel,
            line,
            x,
            y,
            low,
            high,
            published,
            published_low: half.map(|(value, percent)| value * (1.0 - percent / 100.0)),
            published_high: half.map(|(value, percent)| value * (1.0 + percent / 100.0)),
            error_percent: published.map(|value| 100.0 * (y / value - 1.0)),
        }
    }
}

fn at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    points.iter().find(|(there, _)| *there == x).map(|(_, y)| *y)
}

/// The agreement of a line with the published one.
fn nearness(line: &str, rows: &[ComparedRow]) -> Option<String> {
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
fn order([one, other]: &[String; 2], rows: &[ComparedRow]) -> String {
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
fn side(a: &ComparedRow, b: &ComparedRow) -> Option<bool> {
    match () {
        () if a.published_high? < b.published_low? => Some(true),
        () if b.published_high? < a.published_low? => Some(false),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(line: &str, x: f64, y: f64) -> PointRow {
        PointRow::plain("", line, x, y)
    }

    fn published(values: &[(f64, f64)], percent: f64) -> PublishedCurve {
        let halves = values.iter().map(|(x, _)| (*x, percent)).collect();
        PublishedCurve { values: values.to_vec(), halves }
    }

    #[test]
    fn errors_are_ours_over_theirs() {
        let theirs = published(&[(50.0, 2.0), (100.0, 4.0)], 10.0);
        let rows: Vec<ComparedRow> = [(50.0, 2.1), (100.0, 3.0), (150.0, 5.0)]
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
        let rows: Vec<ComparedRow> = ours
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
