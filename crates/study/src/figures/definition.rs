//! The file that defines a study's figures: `figures.toml`.

use std::collections::{BTreeMap, BTreeSet};

use record::Phases;
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, numbers};
use crate::judge::{Clauses, Expression, Filter, MoreTerms, Terms};
use crate::{Study, StudyError};
use scenario::choice;

/// The name of the file.
const FILE: &str = "figures.toml";

/// The figures of a study.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// The terms of the study's clauses, and those that only figures need.
    pub terms: Terms,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    /// Its number or name within the study.
    pub id: String,
    /// The title.
    pub title: String,
    /// Its position in the document.
    pub place: String,
    /// Remarks for readers.
    pub note: Option<String>,
    /// The document's figures that it re-draws, such as `6.1, 6.3`; none: the one with its id.
    figures: Option<String>,
    /// The document's tables that it shows, such as `C.1-C.4`.
    tables: Option<String>,
    /// Its content.
    pub show: Show,
}

impl Figure {
    /// The study's claims on what this figure shows.
    pub fn claims<'s>(&self, study: &'s Study) -> impl Iterator<Item = &'s Claim> {
        let figures = numbers(self.figures.as_ref().unwrap_or(&self.id));
        let tables = self.tables.as_deref().map_or(Vec::new(), numbers);
        study.claims.iter().filter(move |claim| {
            let by_figure = claim.figures.iter().any(|number| figures.contains(number));
            let has_table = |number| tables.contains(number);
            by_figure || !claim.tables.is_empty() && claim.tables.iter().all(has_table)
        })
    }
}

/// The content of a figure; each kind has some of the keys.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Show {
    pub kind: FigureKind,
    #[serde(default)]
    pub scope: Scope,
    /// The quantity of loads, span of objects, flow, view or direction.
    #[serde(default)]
    pub of: String,
    /// The horizontal axis, with its unit.
    #[serde(default)]
    pub x: String,
    /// The vertical axis, likewise.
    #[serde(default)]
    pub y: String,
    #[serde(default)]
    pub scale: Scale,
    #[serde(default)]
    pub apart: Apart,
    #[serde(default)]
    pub band: Band,
    #[serde(default)]
    pub over: Over,
    /// Positions of the grid's axis of which single loads are shown; none: its only one.
    #[serde(default)]
    pub at: Vec<f64>,
    pub lines: Vec<Line>,
    /// Values of the horizontal axis to mark.
    #[serde(default)]
    pub marks: Vec<Mark>,
    /// Pairs of lines whose order is compared with the published one.
    #[serde(default)]
    pub order: Vec<[String; 2]>,
}

/// The cells of a figure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scope {
    /// The grids, each a panel or a position.
    #[serde(default)]
    pub on: Vec<String>,
    /// Narrows them.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// Names to show for grids, curves and positions.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

/// A line or an arm of a figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// Its name in the figure.
    pub name: String,
    /// The expression of a curve or a number.
    pub of: Option<Expression>,
    /// The published values of the curve.
    pub published: Option<Expression>,
    /// Half of their intervals, in per cent.
    pub published_interval_pct: Option<Expression>,
    /// The arm of other kinds.
    pub arm: Option<String>,
    /// The grid of the arm, if not the figure's.
    pub on: Option<String>,
}

/// A marked value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    pub at: f64,
    pub name: String,
}

choice! {
    /// Kind of a figure.
    pub(crate) enum FigureKind, "kind of figure" {
        /// Expressions over the axis of a grid.
        Curves = "curves",
        /// One number for each arm under each condition.
        Numbers = "numbers",
        /// The spread of loads, for each arm at each position.
        Boxes = "boxes",
        /// The components of an object's time, likewise.
        Stacked = "stacked",
        /// The share of loads up to a value.
        Cumulative = "cumulative",
        /// The share of objects up to a value.
        CumulativeObjects = "cumulative-objects",
        /// The distribution of packet sizes.
        PacketSizes = "packet-sizes",
        /// Traffic second by second, over all loads.
        Seconds = "seconds",
        /// A single load, object by object.
        Timelines = "timelines",
        /// Windows of a single load.
        Windows = "windows",
    }
    not_yet {}
}

/// Separation of a grid's curves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Apart {
    #[default]
    Panels,
    Lines,
}

/// Scale of the horizontal axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scale {
    #[default]
    Linear,
    Log,
}

/// Band around a curve: the interval over resamples, or the loads' range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Band {
    #[default]
    Interval,
    Range,
}

/// Span of time that begins at 0: a visit, or a whole journey.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Over {
    #[default]
    Visit,
    Journey,
}

choice! {
    /// Traffic in a second.
    pub(crate) enum Flow, "flow" {
        Throughput = "throughput",
        Requests = "requests",
        Completeness = "completeness",
        InFlight = "in-flight",
    }
    not_yet {}
}

choice! {
    /// View of a single load: its requests, or the phases of its objects at the client or the proxy.
    pub(crate) enum Viewpoint, "side" {
        Requests = "requests",
        Client = "client",
        Proxy = "proxy",
    }
    not_yet {}
}

choice! {
    /// Direction of packets.
    pub(crate) enum PacketDirection, "way of packets" {
        Down = "down",
        Up = "up",
    }
    not_yet {}
}

/// A span of an object's time, by name.
pub(crate) fn span(name: &str) -> Result<fn(&Phases) -> u64, String> {
    match name {
        "blocked" => Ok(|phases| phases.blocked_ns),
        "wait" => Ok(|phases| phases.wait_ns),
        "receive" => Ok(|phases| phases.receive_ns),
        "whole" => Ok(Phases::total_ns),
        other => Err(format!("unknown span of an object `{other}`")),
    }
}

/// The components of an object's time in stacked figures, and their quantities.
pub(crate) const COMPONENTS: [&str; 4] = ["mean_init", "mean_send", "mean_wait", "mean_receive"];

impl FigureKind {
    /// True if its lines are expressions; those of other kinds are arms.
    fn has_expressions(self) -> bool {
        matches!(self, FigureKind::Curves | FigureKind::Numbers)
    }

    /// True if it needs single loads, not only cells.
    fn takes_loads(self) -> bool {
        use FigureKind::{CumulativeObjects, PacketSizes, Seconds, Timelines, Windows};
        matches!(self, CumulativeObjects | Seconds | Timelines | Windows | PacketSizes)
    }
}

impl Show {
    /// The expressions of all lines.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let of_line = |line| {
            let Line { of, published, published_interval_pct, .. }: &Line = line;
            [of, published, published_interval_pct].into_iter().flatten()
        };
        self.lines.iter().flat_map(of_line)
    }

    /// The grids of the figure and of its lines.
    pub fn grids(&self) -> impl Iterator<Item = &String> {
        self.scope.on.iter().chain(self.lines.iter().filter_map(|line| line.on.as_ref()))
    }

    /// The quantities that it needs beside those of its expressions.
    fn quantities(&self) -> Vec<&str> {
        match self.kind {
            FigureKind::Boxes | FigureKind::Cumulative => vec![self.of.as_str()],
            FigureKind::Stacked => COMPONENTS.to_vec(),
            _ => Vec::new(),
        }
    }

    /// The mistake in it, if there is one.
    fn mistake(&self, terms: &Terms) -> Option<String> {
        let Show { kind, scope, lines, .. } = self;
        if let Some(name) = scope.filter.unknown() {
            return Some(format!("`{name}` is no fact of a cell"));
        }
        if let Some(grid) = self.grids().find(|grid| !terms.grids.contains_key(*grid)) {
            return Some(format!("there is no [grid.{grid}]"));
        }
        for line in lines {
            match &line.arm {
                _ if kind.has_expressions() && line.of.is_none() => {
                    return Some(format!("`{}` of what? Write `of = ...`", line.name));
                }
                None if !kind.has_expressions() => {
                    return Some(format!("`{}` of which arm? Write `arm = ...`", line.name));
                }
                Some(arm) if !terms.arms.contains_key(arm) => {
                    return Some(format!("there is no [arm.{arm}]"));
                }
                Some(_) if line.on.is_none() && scope.on.is_empty() => {
                    return Some(format!("`{}` over which grid? Write `on = ...`", line.name));
                }
                _ => {}
            }
        }
        if let Some(name) = self.quantities().into_iter().find(|name| !terms.has_quantity(name)) {
            return Some(format!("there is no [quantity.{name}]"));
        }
        let of = &self.of;
        let of = match kind {
            FigureKind::CumulativeObjects => span(of).err(),
            FigureKind::Seconds => of.parse::<Flow>().err().map(|error| error.to_string()),
            FigureKind::Timelines => of.parse::<Viewpoint>().err().map(|error| error.to_string()),
            FigureKind::PacketSizes => {
                of.parse::<PacketDirection>().err().map(|error| error.to_string())
            }
            _ => None,
        };
        let grid = scope.on.first().map(String::as_str);
        of.or_else(|| {
            let mut leaves = self.expressions().flat_map(Expression::leaves);
            leaves.find_map(|leaf| terms.unknown(leaf, grid))
        })
    }
}

impl Scope {
    /// The name to show for a grid, a curve or a position.
    pub fn shown(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// The panel of a grid: none if it is the only one.
    pub fn panel(&self, grid: &str) -> String {
        if self.on.len() > 1 { self.shown(grid) } else { String::new() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFigures {
    format: u32,
    #[serde(default)]
    terms: MoreTerms,
    #[serde(rename = "figure")]
    figures: Vec<Figure>,
}

impl Figures {
    /// The figures of `study`.
    pub fn of_study(study: &Study) -> Result<Figures, StudyError> {
        let raw: RawFigures = study.parsed(FILE, |raw: &RawFigures| raw.format)?;
        let wrong = |entry: &str, field: &str, why: String| study.wrong(FILE, entry, field, why);
        let terms = study.extended(FILE, Clauses::of_study(study)?.terms, raw.terms)?;
        let mut seen = BTreeSet::new();
        for figure in &raw.figures {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
            if figure.id.is_empty() || !figure.id.chars().all(is_plain) {
                let why = "letters, digits, `.` and `-` make an id".to_owned();
                return Err(wrong(&figure.id, "id", why));
            }
            if !seen.insert(&figure.id) {
                return Err(wrong(&figure.id, "id", "a second figure of this name".to_owned()));
            }
            if let Some(why) = figure.show.mistake(&terms) {
                return Err(wrong(&figure.id, "show", why));
            }
        }
        Ok(Figures { terms, figures: raw.figures })
    }

    /// All quantities that are needed of the loads of `experiment`.
    pub fn quantities(&self, experiment: &str) -> BTreeSet<String> {
        let mut asked = BTreeSet::new();
        for show in self.figures.iter().map(|figure| &figure.show) {
            for leaf in show.expressions().flat_map(Expression::leaves) {
                let grids = show.scope.on.iter().map(|grid| Some(grid.as_str())).chain([None]);
                asked.extend(grids.filter_map(|grid| self.terms.asked(leaf, grid, experiment)));
            }
            if show.grids().any(|grid| self.has(grid, experiment)) {
                asked.extend(show.quantities().into_iter().map(str::to_owned));
            }
        }
        asked
    }

    /// True if a figure needs the single loads of `experiment`.
    pub fn take_loads(&self, experiment: &str) -> bool {
        let takers = self.figures.iter().filter(|figure| figure.show.kind.takes_loads());
        takers.flat_map(|it| it.show.grids()).any(|grid| self.has(grid, experiment))
    }

    fn has(&self, grid: &str, experiment: &str) -> bool {
        let grid = self.terms.grids.get(grid);
        grid.is_some_and(|grid| grid.experiments.iter().any(|id| id == experiment))
    }
}
