//! Quantities of a load that a budget may limit.

use std::fmt;

use scenario::MeasuredVisit;
use units::parse::{duration, ratio, size_bytes};

use crate::show::units::{bytes, span_f64};

/// A quantity of a load.
pub struct Metric {
    /// Its name in budgets.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Its value; `None` if the load has none.
    pub of: fn(&MeasuredVisit) -> Option<f64>,
    /// True if only a browser that paints has it.
    pub is_painted: bool,
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Kind of a value, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// A number.
    Count,
    /// A share of loads, from 0 to 1.
    Share,
}

impl Kind {
    /// Reads a value with its unit.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let told = |error: units::parse::ParseError| error.to_string();
        match self {
            Kind::Time => duration(text).map(|span| span.as_nanos() as f64).map_err(told),
            Kind::Bytes => size_bytes(text).map(|bytes| bytes as f64).map_err(told),
            Kind::Share => ratio(text).map_err(told),
            Kind::Count => text
                .parse()
                .ok()
                .filter(|count: &f64| count.is_finite())
                .ok_or_else(|| format!("`{text}` is not a number: this quantity has no unit")),
        }
    }

    /// A value for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Kind::Time => span_f64(value),
            Kind::Bytes => bytes(value),
            Kind::Count => format!("{}", (value * 100.0).round() / 100.0),
            Kind::Share => format!("{} %", (value * 1000.0).round() / 10.0),
        }
    }
}

/// The share of loads that failed; the only quantity of all loads together.
pub const FAILED: &str = "failed";

/// All quantities.
pub const METRICS: [Metric; 14] = [
    time("plt", |v| Some(v.record.plt_ns()? as f64)),
    time("ttfb", |v| Some(v.record.ttfb_ns? as f64)),
    time("render", |v| Some(v.figures().first_render_ns? as f64)),
    time("byteindex", |v| Some(v.figures().byte_index_ns? as f64)),
    painted("fcp", |v| Some(v.record.paint?.first_contentful_paint_ns? as f64)),
    painted("lcp", |v| Some(v.record.paint?.largest_contentful_paint_ns? as f64)),
    painted("speedindex", |v| Some(v.record.paint?.speed_index_ns? as f64)),
    count("floor-ratio", |v| Some(v.record.plt_ns()? as f64 / v.floors?.graph_ns as f64)),
    Metric {
        name: "bytes",
        kind: Kind::Bytes,
        of: |v| Some(v.record.wire_bytes_down as f64),
        is_painted: false,
    },
    count("requests", |v| Some(v.figures().requests as f64)),
    count("requests-failed", |v| Some(v.figures().requests_failed as f64)),
    count("connections", |v| Some(v.figures().connections as f64)),
    count("retransmits", |v| Some(v.figures().retransmits? as f64)),
    Metric { name: FAILED, kind: Kind::Share, of: |_| None, is_painted: false },
];

const fn time(name: &'static str, of: fn(&MeasuredVisit) -> Option<f64>) -> Metric {
    Metric { name, kind: Kind::Time, of, is_painted: false }
}

const fn painted(name: &'static str, of: fn(&MeasuredVisit) -> Option<f64>) -> Metric {
    Metric { name, kind: Kind::Time, of, is_painted: true }
}

const fn count(name: &'static str, of: fn(&MeasuredVisit) -> Option<f64>) -> Metric {
    Metric { name, kind: Kind::Count, of, is_painted: false }
}

/// The quantity with this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    static ALL: [Metric; METRICS.len()] = METRICS;
    ALL.iter().find(|metric| metric.name == name)
}
