//! Kinds of figures, as a study's file defines them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::judge::{Expression, Filter, Quantity};
use scenario::choice;

/// Content of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// Expressions over the axis of a grid, each with its interval; optionally beside published values.
    Curves(Curves),
    /// One number of each arm under each condition, with its interval.
    Numbers(Numbers),
    /// Least, quartiles, most and mean of the loads of each arm at each place.
    Boxes(Boxes),
    /// The distribution of loads: the share of loads up to a value.
    Cumulative(Cumulative),
    /// The distribution of spans of objects.
    CumulativeObjects(CumulativeObjects),
    /// The components of an object's time, stacked, for each arm at each place.
    Stacked(Stacked),
    /// Network traffic second by second, averaged over loads.
    Seconds(Seconds),
    /// Single loads, object by object.
    Timelines(Timelines),
    /// The windows of single loads, and the radio below them.
    Windows(Windows),
    /// The distribution of packet sizes.
    PacketSizes(PacketSizes),
}

/// The data that a figure of any kind is drawn from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The grids.
    #[serde(default)]
    pub on: Vec<String>,
    /// Filter on their cells.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// Display names of grids and curves, where their own names say too little.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

choice! {
    /// Way of telling the curves of a grid apart.
    #[derive(Default)]
    pub enum Apart, "way of telling curves apart" {
        /// A plot for each.
        #[default]
        Panels = "panels",
        /// A line for each in one plot.
        Lines = "lines",
    }
    not_yet {}
}

choice! {
    /// Scale of an axis.
    #[derive(Default)]
    pub enum Scale, "scale" {
        /// Linear.
        #[default]
        Linear = "linear",
        /// Logarithmic.
        Log = "log",
    }
    not_yet {}
}

choice! {
    /// The band around a line.
    #[derive(Default)]
    pub enum Band, "band" {
        /// The interval due to chance.
        #[default]
        Interval = "interval",
        /// The range of loads, least to largest.
        Range = "range",
    }
    not_yet {}
}

/// See [`Kind::Curves`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curves {
    /// The data.
    pub scope: Scope,
    /// Way of telling curves apart.
    #[serde(default)]
    pub apart: Apart,
    /// Label of the axis, with its unit.
    pub x: String,
    /// The measured quantity, with its unit.
    pub y: String,
    /// Scale of the axis.
    #[serde(default)]
    pub scale: Scale,
    /// The band around the lines.
    #[serde(default)]
    pub band: Band,
    /// The lines.
    pub lines: Vec<Line>,
    /// Pairs of lines whose order is compared with the published one, wherever the published intervals do not
    /// overlap.
    #[serde(default)]
    pub order: Vec<[String; 2]>,
}

/// A line of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Display name.
    pub name: String,
    /// The plotted expression.
    pub of: Expression,
    /// The published counterpart.
    pub published: Option<Expression>,
    /// Half of the published 95 % interval, in per cent of the published value.
    pub published_interval_pct: Option<Expression>,
}

/// See [`Kind::Numbers`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// The conditions: one grid each.
    pub scope: Scope,
    /// The measured quantity, with its unit.
    pub y: String,
    /// The arms: expressions that are single numbers.
    pub lines: Vec<Line>,
}

/// An arm of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Display name.
    pub name: String,
    /// The study's term for the arm.
    pub arm: String,
    /// The grid, if not the figure's.
    pub on: Option<String>,
}

/// See [`Kind::Boxes`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boxes {
    /// The data: grids with an axis have a plot each and a place at each of its values; grids without one are
    /// places themselves.
    pub scope: Scope,
    /// The quantity, taken of each load.
    pub of: Quantity,
    /// Label of the axis, if the grids have one.
    #[serde(default)]
    pub x: String,
    /// The measured quantity, with its unit.
    pub y: String,
    /// The arms.
    pub lines: Vec<Arm>,
}

/// See [`Kind::Cumulative`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cumulative {
    /// The data.
    #[serde(default)]
    pub scope: Scope,
    /// The quantity, taken of each load.
    pub of: Quantity,
    /// The measured quantity, with its unit.
    pub x: String,
    /// Scale of the axis.
    #[serde(default)]
    pub scale: Scale,
    /// The arms.
    pub lines: Vec<Arm>,
}

choice! {
    /// A span of an object's time.
    pub enum Span, "span of an object" {
        /// Before it had a connection.
        Blocked = "blocked",
        /// From the request to the first byte.
        Wait = "wait",
        /// From the first byte to the last.
        Receive = "receive",
        /// All of it, from discovery on.
        Whole = "whole",
    }
    not_yet {}
}

/// See [`Kind::CumulativeObjects`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CumulativeObjects {
    /// The data.
    #[serde(default)]
    pub scope: Scope,
    /// The span, taken of each object.
    pub of: Span,
    /// The measured quantity, with its unit, which is ms.
    pub x: String,
    /// Scale of the axis.
    #[serde(default)]
    pub scale: Scale,
    /// The arms.
    pub lines: Vec<Arm>,
    /// Values that are marked.
    #[serde(default)]
    pub marks: Vec<Mark>,
}

/// A value of the axis that readers look for.
#[derive(Clone, Debug, PartialEq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Position on the axis.
    pub at: f64,
    /// Its label.
    pub name: String,
}

/// See [`Kind::Stacked`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stacked {
    /// The data, as in [`Boxes`].
    pub scope: Scope,
    /// Label of the axis, if the grids have one.
    #[serde(default)]
    pub x: String,
    /// The arms.
    pub lines: Vec<Arm>,
}

choice! {
    /// Quantity counted second by second.
    pub enum Flow, "flow" {
        /// Bits of bodies.
        Throughput = "throughput",
        /// Requests that were sent.
        Requests = "requests",
        /// Objects that have arrived by then, in per cent of all.
        Completeness = "completeness",
        /// Unacknowledged bytes that servers have sent, over all connections; mean of the second.
        InFlight = "in-flight",
    }
    not_yet {}
}

choice! {
    /// Origin of time.
    #[derive(Default)]
    pub enum Over, "span of time" {
        /// The beginning of each load.
        #[default]
        Visit = "visit",
        /// The beginning of the journey that it belongs to.
        Journey = "journey",
    }
    not_yet {}
}

/// See [`Kind::Seconds`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seconds {
    /// The data: one plot per grid.
    pub scope: Scope,
    /// The counted quantity.
    pub of: Flow,
    /// Origin of time.
    #[serde(default)]
    pub over: Over,
    /// The arms.
    pub lines: Vec<Arm>,
}

choice! {
    /// The side from which single loads are shown.
    pub enum Side, "side" {
        /// The time of each request.
        Requests = "requests",
        /// Each object's time as the client saw it.
        Client = "client",
        /// Each object's time at the proxy.
        Proxy = "proxy",
    }
    not_yet {}
}

/// See [`Kind::Timelines`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timelines {
    /// The data.
    pub scope: Scope,
    /// Values of the grid's axis; if empty, all of them together.
    #[serde(default)]
    pub at: Vec<f64>,
    /// The side from which loads are shown.
    pub of: Side,
    /// The arms, one load each.
    pub lines: Vec<Arm>,
}

/// See [`Kind::Windows`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// The data.
    pub scope: Scope,
    /// Values of the grid's axis; if empty, all of them together.
    #[serde(default)]
    pub at: Vec<f64>,
    /// The arms, one load and one plot each.
    pub lines: Vec<Arm>,
}

choice! {
    /// Direction of a client's packets.
    pub enum Way, "way of packets" {
        /// Packets that it receives.
        Down = "down",
        /// Packets that it sends and that arrive.
        Up = "up",
    }
    not_yet {}
}

/// See [`Kind::PacketSizes`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketSizes {
    /// The data: one plot per grid.
    pub scope: Scope,
    /// Direction of the packets.
    pub of: Way,
    /// The arms.
    pub lines: Vec<Arm>,
}

impl Kind {
    /// The data that it is drawn from.
    pub fn scope(&self) -> &Scope {
        match self {
            Kind::Curves(it) => &it.scope,
            Kind::Numbers(it) => &it.scope,
            Kind::Boxes(it) => &it.scope,
            Kind::Cumulative(it) => &it.scope,
            Kind::CumulativeObjects(it) => &it.scope,
            Kind::Stacked(it) => &it.scope,
            Kind::Seconds(it) => &it.scope,
            Kind::Timelines(it) => &it.scope,
            Kind::Windows(it) => &it.scope,
            Kind::PacketSizes(it) => &it.scope,
        }
    }

    /// The expressions that it plots.
    pub fn expressions(&self) -> Vec<&Expression> {
        let lines = match self {
            Kind::Curves(it) => &it.lines,
            Kind::Numbers(it) => &it.lines,
            _ => return Vec::new(),
        };
        lines
            .iter()
            .flat_map(|line| {
                [Some(&line.of), line.published.as_ref(), line.published_interval_pct.as_ref()]
            })
            .flatten()
            .collect()
    }

    /// The arms that it shows besides expressions.
    pub fn arms(&self) -> &[Arm] {
        match self {
            Kind::Curves(_) | Kind::Numbers(_) => &[],
            Kind::Boxes(it) => &it.lines,
            Kind::Cumulative(it) => &it.lines,
            Kind::CumulativeObjects(it) => &it.lines,
            Kind::Stacked(it) => &it.lines,
            Kind::Seconds(it) => &it.lines,
            Kind::Timelines(it) => &it.lines,
            Kind::Windows(it) => &it.lines,
            Kind::PacketSizes(it) => &it.lines,
        }
    }

    /// All grids that it names.
    pub fn grids(&self) -> impl Iterator<Item = &String> {
        self.scope().on.iter().chain(self.arms().iter().filter_map(|arm| arm.on.as_ref()))
    }

    /// The quantities that it needs of its arms' loads.
    pub fn quantities(&self) -> Vec<Quantity> {
        match self {
            Kind::Boxes(it) => vec![it.of],
            Kind::Cumulative(it) => vec![it.of],
            Kind::Stacked(_) => super::stacked::PARTS.map(|(_, quantity)| quantity).to_vec(),
            _ => Vec::new(),
        }
    }

    /// True if it needs single loads.
    pub fn takes_loads(&self) -> bool {
        use Kind::{CumulativeObjects, PacketSizes, Seconds, Timelines, Windows};
        matches!(
            self,
            CumulativeObjects(_) | Seconds(_) | Timelines(_) | Windows(_) | PacketSizes(_)
        )
    }
}

impl Scope {
    /// Display name of a grid or a curve.
    pub fn called(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}
