//! Expressions over the axis of a grid.

use serde::Serialize;

use super::drawn::{Drawn, Shape, row};
use super::kind::{Apart, Band, Curves, Line};
use super::sources::Evidence;
use super::{Figure, compared};
use crate::judge::{Estimate, Fault, Frame, Statistic, estimates};
use statistics::Interval;

/// A point of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The plot.
    pub panel: String,
    /// The line.
    pub line: String,
    /// Position on the axis.
    pub x: f64,
    /// The measured value.
    pub y: f64,
    /// The lower end of its interval, or the least load.
    pub low: Option<f64>,
    /// The upper end, or the largest load.
    pub high: Option<f64>,
}

row!(Point);

/// The figure.
pub fn drawn(evidence: &Evidence<'_>, figure: &Figure, show: &Curves) -> Result<Drawn, Fault> {
    let mut rows = Vec::new();
    for grid in &show.scope.on {
        let frame = evidence.frame(figure, grid)?;
        let at = At { figure, show, grid, frame: &frame };
        for line in &show.lines {
            rows.extend(at.points(line)?);
        }
    }
    let is_compared = show.lines.iter().any(|line| line.published.is_some());
    let mut drawn = match is_compared {
        true => compared::drawn(evidence, figure, show, rows)?,
        false => Drawn::new(Shape::Lines, &show.x, &show.y, &rows),
    };
    drawn.layout.scale = show.scale;
    Ok(drawn)
}

/// A grid of a figure.
struct At<'a> {
    figure: &'a Figure,
    show: &'a Curves,
    grid: &'a str,
    frame: &'a Frame,
}

impl At<'_> {
    fn points(&self, line: &Line) -> Result<Vec<Point>, Fault> {
        let name = format!("{}/{}/{}", self.figure.id, self.grid, line.name);
        let found = match self.show.band {
            Band::Interval => estimates(&line.of, self.frame, &name)?,
            Band::Range => ranges(line, self.frame)?,
        };
        Ok(found.into_iter().map(|estimate| self.point(line, estimate)).collect())
    }

    fn point(&self, line: &Line, Estimate { place, value, interval }: Estimate) -> Point {
        let scope = &self.show.scope;
        let case = self.frame.cases().get(place.case).map(|case| scope.called(case));
        let grid = (scope.on.len() > 1).then(|| scope.called(self.grid));
        let (of_panel, of_line) = match self.show.apart {
            Apart::Panels => (case, None),
            Apart::Lines => (None, case),
        };
        let several = self.show.lines.len() > 1;
        let own = (several || of_line.is_none()).then(|| line.name.clone());
        Point {
            panel: joined([grid, of_panel]),
            line: joined([own, of_line]),
            x: place.x,
            y: value,
            low: interval.map(|it| it.low),
            high: interval.map(|it| it.high),
        }
    }
}

/// The range of loads, least to largest, around a quantity.
fn ranges(line: &Line, frame: &Frame) -> Result<Vec<Estimate>, Fault> {
    let of = |statistic| {
        frame.with_statistic(&line.of, statistic).ok_or_else(|| {
            Fault::Clause(format!("`{}`: a range is that of one quantity's loads", line.of))
        })
    };
    let (least, most) = (of(Statistic::Least)?, of(Statistic::Most)?);
    let mut middle = estimates(&line.of, frame, "")?;
    for estimate in &mut middle {
        let at = |points: &[(crate::judge::Place, f64)]| {
            points.iter().find(|(place, _)| *place == estimate.place).map(|(_, y)| *y)
        };
        estimate.interval = at(&least).zip(at(&most)).map(|(low, high)| Interval { low, high });
    }
    Ok(middle)
}

/// The parts that are present, separated by commas.
fn joined(parts: [Option<String>; 2]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
