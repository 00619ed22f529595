//! Distributions: boxes of loads, components of objects' time, shares of loads and objects up to a value, and sizes
//! of packets.

use std::collections::BTreeMap;

use serde::Serialize;

use super::data::{FigureData, PlotData, PlotError, Shape, selections};
use super::definition::{COMPONENTS, FigureKind, PacketDirection, Show, span};
use crate::judge::{ClauseError, MeasuredCell};
use statistics::Sample;

/// The most points of a distribution; of more values, the quantiles are left.
const MOST_POINTS: usize = 200;

/// Range of packet sizes in a class, in bytes.
const CLASS_BYTES: u32 = 80;

/// The loads of an arm at a position.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct BoxRow {
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

/// Mean times of an object's components, in ms.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct StackRow {
    panel: String,
    line: String,
    place: String,
    init: f64,
    send: f64,
    wait: f64,
    receive: f64,
}

/// Boxes, or stacks of components, for each arm at each position.
pub(super) fn at_positions(data: &FigureData<'_>, show: &Show) -> Result<PlotData, ClauseError> {
    let (mut boxes, mut stacks) = (Vec::new(), Vec::new());
    for which in selections(show) {
        let has_axis = data.grid(which)?.x.is_some();
        let panel = if has_axis { show.scope.panel(which.grid) } else { String::new() };
        for (place, cells) in data.cells(which)? {
            let (panel, line) = (panel.clone(), which.line.name.clone());
            let place = show.scope.shown(&place);
            if show.kind == FigureKind::Boxes {
                // No box where every load failed.
                let sample = sample(&cells, &show.of);
                boxes.extend(sample.map(|sample| BoxRow::of(panel, line, place, &sample)));
            } else {
                let means = COMPONENTS.map(|quantity| sample(&cells, quantity));
                let [Some(init), Some(send), Some(wait), Some(receive)] = means else { continue };
                let [init, send, wait, receive] =
                    [init, send, wait, receive].map(|sample| 1e3 * sample.mean());
                stacks.push(StackRow { panel, line, place, init, send, wait, receive });
            }
        }
    }
    Ok(match show.kind {
        FigureKind::Boxes => {
            PlotData::new(Shape::Boxes, [&show.x, &show.y], &boxes, |it| [&it.panel, &it.line])
        }
        _ => {
            PlotData::new(Shape::Stacks, [&show.x, "mean time of an object (ms)"], &stacks, |it| {
                [&it.panel, &it.line]
            })
        }
    })
}

/// All values of a quantity in these cells.
fn sample(cells: &[&MeasuredCell], quantity: &str) -> Option<Sample> {
    let values = cells.iter().filter_map(|cell| cell.values.get(quantity));
    Sample::new(values.flat_map(|repeated| repeated.values().copied()))
}

impl BoxRow {
    fn of(panel: String, line: String, place: String, sample: &Sample) -> BoxRow {
        BoxRow {
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

/// The share of loads or objects that a value is not exceeded by.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct StepRow {
    panel: String,
    line: String,
    x: f64,
    share_percent: f64,
}

/// Cumulative distributions of loads, or of objects.
pub(super) fn cumulative(data: &FigureData<'_>, show: &Show) -> Result<PlotData, PlotError> {
    let mut rows = Vec::new();
    for which in selections(show) {
        let panel = show.scope.panel(which.grid);
        let sample = if show.kind == FigureKind::Cumulative {
            let cells = data.cells(which)?.into_iter().flat_map(|(_, cells)| cells);
            sample(&cells.collect::<Vec<_>>(), &show.of)
        } else {
            let span = span(&show.of).map_err(ClauseError::Invalid)?;
            let mut spans = Vec::new();
            for load in data.loads(which)? {
                let objects = data.objects(load)?;
                spans.extend(objects.iter().map(|object| span(&object.phases) as f64 / 1e6));
            }
            Some(Sample::new(spans).ok_or_else(|| which.is_empty())?)
        };
        rows.extend(sample.iter().flat_map(|sample| steps(&panel, &which.line.name, sample)));
    }
    let axes = [show.x.as_str(), "share with at most that (%)"];
    let mut plot = PlotData::new(Shape::Steps, axes, &rows, |it| [&it.panel, &it.line]);
    plot.layout.scale = show.scale;
    plot.layout.marks = show.marks.clone();
    Ok(plot)
}

/// The steps of a distribution; [`MOST_POINTS`] quantiles of a large one.
fn steps(panel: &str, line: &str, sample: &Sample) -> Vec<StepRow> {
    let values = sample.values();
    let count = values.len().min(MOST_POINTS);
    let step = |rank: usize| {
        // The smallest value that at least this share of the values do not exceed.
        let place = (rank * values.len()).div_ceil(count) - 1;
        StepRow {
            panel: panel.to_owned(),
            line: line.to_owned(),
            x: values[place],
            share_percent: 100.0 * (place + 1) as f64 / values.len() as f64,
        }
    };
    (1..=count).map(step).collect()
}

/// The share of packets in a class of sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ClassRow {
    panel: String,
    line: String,
    x: u32,
    until: u32,
    y: f64,
}

/// Histograms of packet sizes, over all loads of an arm together.
pub(super) fn packet_sizes(data: &FigureData<'_>, show: &Show) -> Result<PlotData, PlotError> {
    let mut rows = Vec::new();
    for which in selections(show) {
        let mut counted: BTreeMap<u32, u64> = BTreeMap::new();
        for load in data.loads(which)? {
            for packets in data.series(load)?.packets {
                let count = match show.of == PacketDirection::Down.name() {
                    true => packets.down,
                    false => packets.up,
                };
                *counted.entry(packets.wire_bytes / CLASS_BYTES).or_default() += count;
            }
        }
        let shares = shares(&counted)
            .ok_or_else(|| ClauseError::TooFewLoads(format!("sizes of packets {}", show.of)))?;
        rows.extend(shares.into_iter().map(|(x, y)| {
            let (panel, line) = (show.scope.panel(which.grid), which.line.name.clone());
            ClassRow { panel, line, x, until: x + CLASS_BYTES, y }
        }));
    }
    let axes = ["size of packet (bytes)", "share of packets (%)"];
    Ok(PlotData::new(Shape::Histogram, axes, &rows, |it| [&it.panel, &it.line]))
}

/// The share of each class in per cent, up to the last that is not empty; `None` without packets.
fn shares(counted: &BTreeMap<u32, u64>) -> Option<Vec<(u32, f64)>> {
    let all: u64 = counted.values().sum();
    let (last, _) = counted.iter().rfind(|(_, number)| **number > 0)?;
    let share = |class: u32| 100.0 * counted.get(&class).copied().unwrap_or(0) as f64 / all as f64;
    Some((0..=*last).map(|class| (class * CLASS_BYTES, share(class))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_by_hand() {
        let sample = Sample::new([4.0, 1.0, 2.0, 3.0, 10.0]).unwrap();
        let found = BoxRow::of("p".to_owned(), "l".to_owned(), "1".to_owned(), &sample);
        assert_eq!((found.loads, found.least, found.q1), (5, 1.0, 2.0));
        assert_eq!((found.median, found.q3, found.most, found.mean), (3.0, 4.0, 10.0, 4.0));
    }

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

    #[test]
    fn shares_of_packet_sizes_by_hand() {
        // 5 of 40 bytes and one of 79, two of 80.
        assert_eq!(
            shares(&BTreeMap::from([(0, 6), (1, 2), (18, 0)])),
            Some(vec![(0, 75.0), (80, 25.0)])
        );
        assert_eq!(shares(&BTreeMap::new()), None);
    }
}
