//! What kinds of figures there are, as a study's file says them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::judge::{Expression, Filter, Quantity};
use scenario::choice;

/// What a figure shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// Expressions over the axis of a grid, each with its interval; beside what is published, if it says so.
    Curves(Curves),
    /// One number of each arm under each condition, with its interval.
    Numbers(Numbers),
    /// Least, quartiles, most and mean of the loads of each arm at each place.
    Boxes(Boxes),
    /// The distribution of loads: what share has at most so much.
    Cumulative(Cumulative),
    /// The distribution of spans of objects.
    CumulativeObjects(CumulativeObjects),
    /// What an object's time consists of, stacked, for each arm at each place.
    Stacked(Stacked),
    /// What crossed the network second by second, averaged over loads.
    Seconds(Seconds),
    /// Single loads, object by object.
    Timelines(Timelines),
    /// The windows of single loads, and the radio below them.
    Windows(Windows),
    /// Which share of the packets has which size.
    PacketSizes(PacketSizes),
}

/// Over what figures of all kinds are drawn.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The grids.
    #[serde(default)]
    pub on: Vec<String>,
    /// Which of their cells.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// What grids and curves are called, where their own names say too little.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

choice! {
    /// How the curves of a grid are told apart.
    #[derive(Default)]
    pub enum Apart, "way of telling curves apart" {
        /// Each has a plot of its own.
        #[default]
        Panels = "panels",
        /// Each is a line of one plot.
        Lines = "lines",
    }
    not_yet {}
}

choice! {
    /// How an axis is divided.
    #[derive(Default)]
    pub enum Scale, "scale" {
        /// Evenly.
        #[default]
        Linear = "linear",
        /// By powers.
        Log = "log",
    }
    not_yet {}
}

choice! {
    /// What lies around a line.
    #[derive(Default)]
    pub enum Band, "band" {
        /// The interval that chance leaves it.
        #[default]
        Interval = "interval",
        /// From the least load to the most.
        Range = "range",
    }
    not_yet {}
}

/// See [`Kind::Curves`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curves {
    /// Over what.
    pub scope: Scope,
    /// How curves are told apart.
    #[serde(default)]
    pub apart: Apart,
    /// What the axis is, with its unit.
    pub x: String,
    /// What is measured, with its unit.
    pub y: String,
    /// How the axis is divided.
    #[serde(default)]
    pub scale: Scale,
    /// What lies around the lines.
    #[serde(default)]
    pub band: Band,
    /// The lines.
    pub lines: Vec<Line>,
    /// Pairs of lines whose order is held against the published one, wherever the published intervals do not overlap.
    #[serde(default)]
    pub order: Vec<[String; 2]>,
}

/// A line of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// What it shows.
    pub of: Expression,
    /// The same as it is published.
    pub published: Option<Expression>,
    /// Half of the published 95 % interval, in per cent of what is published.
    pub published_interval_pct: Option<Expression>,
}

/// See [`Kind::Numbers`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    /// Under what conditions: a grid each.
    pub scope: Scope,
    /// What is measured, with its unit.
    pub y: String,
    /// The arms: expressions of one number.
    pub lines: Vec<Line>,
}

/// An arm of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// What it is called.
    pub name: String,
    /// The arm of the study's words.
    pub arm: String,
    /// On which grid, where that is not the figure's.
    pub on: Option<String>,
}

/// See [`Kind::Boxes`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boxes {
    /// Over what: grids with an axis have a plot each and a place at each of its values; grids without one are places themselves.
    pub scope: Scope,
    /// Of each load.
    pub of: Quantity,
    /// What the axis is, if the grids have one.
    #[serde(default)]
    pub x: String,
    /// What is measured, with its unit.
    pub y: String,
    /// The arms.
    pub lines: Vec<Arm>,
}

/// See [`Kind::Cumulative`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cumulative {
    /// Over what.
    #[serde(default)]
    pub scope: Scope,
    /// Of each load.
    pub of: Quantity,
    /// What is measured, with its unit.
    pub x: String,
    /// How the axis is divided.
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
        /// From there to the last.
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
    /// Over what.
    #[serde(default)]
    pub scope: Scope,
    /// Of each object.
    pub of: Span,
    /// What is measured, with its unit, which is ms.
    pub x: String,
    /// How the axis is divided.
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
    /// Where.
    pub at: f64,
    /// What it is.
    pub name: String,
}

/// See [`Kind::Stacked`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stacked {
    /// Over what; as with [`Boxes`].
    pub scope: Scope,
    /// What the axis is, if the grids have one.
    #[serde(default)]
    pub x: String,
    /// The arms.
    pub lines: Vec<Arm>,
}

choice! {
    /// What is counted second by second.
    pub enum Flow, "flow" {
        /// Bits of bodies.
        Throughput = "throughput",
        /// Requests that were sent.
        Requests = "requests",
        /// Objects that have arrived by then, in per cent of all.
        Completeness = "completeness",
        /// Bytes that servers have sent and nobody has acknowledged, on all connections together; the second's mean.
        InFlight = "in-flight",
    }
    not_yet {}
}

choice! {
    /// From whose beginning seconds are counted.
    #[derive(Default)]
    pub enum Over, "span of time" {
        /// Each load's own.
        #[default]
        Visit = "visit",
        /// That of the journey it belongs to.
        Journey = "journey",
    }
    not_yet {}
}

/// See [`Kind::Seconds`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seconds {
    /// Over what: a plot a grid.
    pub scope: Scope,
    /// What is counted.
    pub of: Flow,
    /// From whose beginning on.
    #[serde(default)]
    pub over: Over,
    /// The arms.
    pub lines: Vec<Arm>,
}

choice! {
    /// What of single loads is shown.
    pub enum Side, "side" {
        /// When each request was sent.
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
    /// Over what.
    pub scope: Scope,
    /// At which values of the grid's axis; none is all of them together.
    #[serde(default)]
    pub at: Vec<f64>,
    /// What of the loads.
    pub of: Side,
    /// The arms, a load each.
    pub lines: Vec<Arm>,
}

/// See [`Kind::Windows`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// Over what.
    pub scope: Scope,
    /// At which values of the grid's axis; none is all of them together.
    #[serde(default)]
    pub at: Vec<f64>,
    /// The arms, a load and a plot each.
    pub lines: Vec<Arm>,
}

choice! {
    /// Which packets of a client.
    pub enum Way, "way of packets" {
        /// Those that it gets.
        Down = "down",
        /// Those that it sends and that arrive.
        Up = "up",
    }
    not_yet {}
}

/// See [`Kind::PacketSizes`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketSizes {
    /// Over what: a plot a grid.
    pub scope: Scope,
    /// Of which packets.
    pub of: Way,
    /// The arms.
    pub lines: Vec<Arm>,
}

impl Kind {
    /// Over what it is drawn.
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

    /// The expressions that it shows.
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

    /// The arms that it shows beside expressions.
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

    /// The quantities that it takes of its arms' loads.
    pub fn quantities(&self) -> Vec<Quantity> {
        match self {
            Kind::Boxes(it) => vec![it.of],
            Kind::Cumulative(it) => vec![it.of],
            Kind::Stacked(_) => super::stacked::PARTS.map(|(_, quantity)| quantity).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Whether it takes single loads.
    pub fn takes_loads(&self) -> bool {
        use Kind::{CumulativeObjects, PacketSizes, Seconds, Timelines, Windows};
        matches!(
            self,
            CumulativeObjects(_) | Seconds(_) | Timelines(_) | Windows(_) | PacketSizes(_)
        )
    }
}

impl Scope {
    /// What a grid or a curve is called.
    pub fn called(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}
