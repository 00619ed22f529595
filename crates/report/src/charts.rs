//! The figures that the charts are drawn from, as `assets/report.js` reads them.

use serde::Serialize;

use super::causes::LoadTimes;
use super::summary::ReportSummary;
use super::waterfall::{PHASES, Waterfall};

/// All data that the scripts need. Times are milliseconds.
#[derive(Serialize)]
pub struct Charts<'a> {
    arms: &'a [String],
    axes: Vec<ChartAxis<'a>>,
    conditions: Vec<ChartCondition<'a>>,
    points: Vec<CellPoint>,
    load_times: LoadTimes,
    phases: [&'static str; 7],
    waterfalls: &'a [Waterfall],
}

#[derive(Serialize)]
struct ChartAxis<'a> {
    name: &'a str,
    unit: &'static str,
}

#[derive(Serialize)]
struct ChartCondition<'a> {
    label: &'a str,
    keys: Vec<ChartKey<'a>>,
}

#[derive(Serialize)]
struct ChartKey<'a> {
    name: &'a str,
    label: &'a str,
    number: Option<f64>,
}

/// One cell.
#[derive(Serialize)]
struct CellPoint {
    arm: usize,
    condition: usize,
    plt: Vec<f64>,
    p10: f64,
    median: f64,
    p90: f64,
    floor: Option<f64>,
}

impl<'a> Charts<'a> {
    /// The figures of a run.
    pub fn of(summary: &'a ReportSummary, waterfalls: &'a [Waterfall]) -> Charts<'a> {
        Charts {
            arms: &summary.arms,
            axes: summary.axes.iter().map(|a| ChartAxis { name: &a.name, unit: a.unit }).collect(),
            conditions: summary.conditions.iter().map(condition).collect(),
            points: points(summary),
            load_times: LoadTimes::of(summary),
            phases: PHASES,
            waterfalls,
        }
    }
}

fn condition(condition: &super::summary::Condition) -> ChartCondition<'_> {
    let keys = condition.keys.iter();
    let keys = keys.map(|key| ChartKey { name: &key.name, label: &key.label, number: key.number });
    ChartCondition { label: &condition.label, keys: keys.collect() }
}

fn points(summary: &ReportSummary) -> Vec<CellPoint> {
    let point = |cell: &super::cells::ReportCell| {
        let described = cell.describe(&summary.run)?;
        Some(CellPoint {
            arm: cell.arm,
            condition: cell.condition,
            p10: described.plt.quantile(0.1),
            median: described.plt.median(),
            p90: described.plt.quantile(0.9),
            floor: described.floor,
            plt: described.plt.values().to_vec(),
        })
    };
    summary.cells.iter().filter_map(point).collect()
}
