//! The visits of a run, gathered by cell and described.

use std::sync::Arc;

use crate::answer::Shortfall;
use crate::causes::MeanLoadTime;
use crate::tables::Radios;
use scenario::{Scenario, View};
use statistics::{Interval, NoInterval, Sample, median_interval, median_interval_after_stopping};
use store::{JourneyRow, RunRow, VisitRow};

/// One scenario in one cache state, with its repetitions.
#[derive(Clone, Debug)]
pub struct ReportCell {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// `cold` or `warm`.
    pub view: String,
    /// The page within the journey's list; `None` if it has only one.
    pub page: Option<String>,
    /// Index of its arm in the comparison.
    pub arm: usize,
    /// Index of its condition.
    pub condition: usize,
    /// Its visits, each with the load that it is, in the order of loads.
    pub visits: Vec<(LoadIndex, VisitRow)>,
    /// Their mean load time by cause.
    pub load_time: MeanLoadTime,
    /// The records of their radios.
    pub radios: Radios,
    /// Journeys that left no visit.
    pub journeys_failed: u64,
    /// Objects and loads that it lost.
    pub shortfall: Shortfall,
}

/// Identity of a visit among a cell's loads: loads of the same repetition, client and turn are paired across
/// arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadIndex {
    /// The repetition.
    pub repetition: u32,
    /// The client's number.
    pub client: u32,
    /// Number of the client's visit to this page, in a journey that returns to it.
    pub turn: u32,
}

/// Statistics of a cell's visits. Times are milliseconds.
#[derive(Clone, Debug)]
pub struct Described {
    /// Page load times of the visits that loaded.
    pub plt: Sample,
    /// The interval of their median.
    pub interval: Result<Interval, NoInterval>,
    /// The median floor (the client discovers), if it was computed.
    pub floor: Option<f64>,
    /// Median time to first byte.
    pub ttfb: Option<f64>,
    /// Median first render: as a browser painted it, else as the loader estimates it.
    pub first_render: Option<f64>,
    /// Median mean arrival of a byte.
    pub byte_index: Option<f64>,
    /// Median largest contentful paint.
    pub largest_paint: Option<f64>,
    /// Median Speed Index.
    pub speed_index: Option<f64>,
    /// Median number of connections.
    pub connections: f64,
    /// Median bytes received, IP headers included.
    pub wire_bytes_down: f64,
    /// Median number of retransmitted segments; `None` if unknown.
    pub retransmits: Option<f64>,
}

impl ReportCell {
    /// The cell that a visit belongs to, still empty.
    pub fn new(journey: &JourneyRow, visit: &VisitRow) -> ReportCell {
        let (view, page) = (visit.view.clone(), visit.page.clone());
        ReportCell { view, page, ..ReportCell::without_visits(journey) }
    }

    /// The first cell of a journey that left no visit.
    pub fn without_visits(journey: &JourneyRow) -> ReportCell {
        let view = match journey.scenario.client.view {
            View::Both => View::Cold,
            one => one,
        };
        ReportCell {
            view: view.name().to_owned(),
            page: journey.scenario.page.pages.first().cloned(),
            scenario: Arc::clone(&journey.scenario),
            arm: 0,
            condition: 0,
            visits: Vec::new(),
            load_time: MeanLoadTime::default(),
            radios: Radios::default(),
            journeys_failed: 0,
            shortfall: Shortfall::default(),
        }
    }

    /// Counts a journey that ended early.
    pub fn lose(&mut self, journey: &JourneyRow) {
        self.journeys_failed += 1;
        self.shortfall.failed(journey.failure.as_deref().unwrap_or("the journey ended early"));
    }

    /// The visits that loaded, with their page load times in milliseconds.
    pub fn loaded(&self) -> impl Iterator<Item = (LoadIndex, &VisitRow, f64)> {
        self.visits
            .iter()
            .filter_map(|(load, visit)| visit.plt_ns.map(|plt_ns| (*load, visit, ms(plt_ns))))
    }

    /// Visits that did not load, and journeys that left none.
    pub fn failures(&self) -> u64 {
        let unloaded = self.visits.iter().filter(|(_, v)| v.plt_ns.is_none()).count();
        unloaded as u64 + self.journeys_failed
    }

    /// Objects that did not arrive in visits that loaded.
    pub fn objects_failed(&self) -> u64 {
        self.loaded().map(|(_, visit, _)| visit.requests_failed).sum()
    }

    /// True if it was loaded by a browser that paints.
    pub fn paints(&self) -> bool {
        self.visits.iter().any(|(_, visit)| visit.first_contentful_paint_ns.is_some())
    }

    /// The loaded visit whose page load time lies closest to the median; the earliest in case of a tie.
    pub fn median_visit(&self) -> Option<&VisitRow> {
        let median = Sample::new(self.loaded().map(|(_, _, plt)| plt))?.median();
        let distance = |plt: f64| (plt - median).abs();
        self.loaded()
            .min_by(|a, b| distance(a.2).total_cmp(&distance(b.2)))
            .map(|(_, visit, _)| visit)
    }

    /// Statistics of the loaded visits; `None` if none loaded.
    pub fn describe(&self, run: &RunRow) -> Option<Described> {
        let plt = Sample::new(self.loaded().map(|(_, _, plt)| plt))?;
        let median = |of: &dyn Fn(&VisitRow) -> Option<f64>| {
            Sample::new(self.loaded().filter_map(|(_, visit, _)| of(visit))).map(|s| s.median())
        };
        let count = |of: fn(&VisitRow) -> u64| median(&|v| Some(of(v) as f64)).unwrap_or(0.0);
        Some(Described {
            interval: match run.until_ppm {
                None => median_interval(&plt),
                Some(_) => median_interval_after_stopping(&plt),
            },
            floor: median(&|v| v.floors.map(|f| ms(f.graph_ns))),
            ttfb: median(&|v| v.ttfb_ns.map(ms)),
            first_render: median(&|v| v.first_render_ns().map(ms)),
            byte_index: median(&|v| v.model_byte_index_ns.map(ms)),
            largest_paint: median(&|v| v.largest_contentful_paint_ns.map(ms)),
            speed_index: median(&|v| v.speed_index_ns.map(ms)),
            connections: count(|v| v.connections),
            wire_bytes_down: count(|v| v.wire_bytes_down),
            retransmits: median(&|v| v.retransmits.map(|segments| segments as f64)),
            plt,
        })
    }
}

/// Nanoseconds as milliseconds.
pub fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
