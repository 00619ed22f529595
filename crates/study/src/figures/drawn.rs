//! A computed figure: the rows that it is drawn from, and the layout for the script.

use serde::Serialize;
use thiserror::Error;

use super::kind::{Mark, Scale};
use crate::judge::Fault;
use report::rows::csv;
use store::StoreError;

/// Reasons why a figure could not be computed.
#[derive(Debug, Error)]
pub enum Undrawn {
    /// Missing data, or an invalid request.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A computed figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Layout of the rows.
    pub layout: Layout,
    /// The rows, as CSV with a header line.
    pub csv: String,
    /// Remarks to show beside the picture.
    pub remarks: Vec<String>,
}

/// Layout of rows; read by `assets/figures.js`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// The kind of drawing.
    pub shape: Shape,
    /// The horizontal axis, with its unit.
    pub x: String,
    /// The vertical axis, likewise.
    pub y: String,
    /// The scale of the horizontal axis.
    pub scale: Scale,
    /// The plots, by the rows' column `panel`.
    pub panels: Vec<String>,
    /// Lines or arms, by the rows' column `line`.
    pub lines: Vec<String>,
    /// Values of the horizontal axis that are marked.
    pub marks: Vec<Mark>,
}

/// Meaning of a row in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A point of a line, with its interval.
    Lines,
    /// The same, beside a published point.
    Compared,
    /// A step of a distribution.
    Steps,
    /// A number with its interval, above a name.
    Numbers,
    /// A box above a place.
    Boxes,
    /// A stack above a place.
    Stacks,
    /// A second of a line.
    Seconds,
    /// A span of a row.
    Timelines,
    /// The state of a window from a moment on, or of a radio between two moments.
    Windows,
    /// A step of a histogram.
    Histogram,
}

impl Drawn {
    /// A figure of these rows, whose first columns are `panel` and `line`.
    pub fn new<R: Row>(shape: Shape, x: &str, y: &str, rows: &[R]) -> Drawn {
        let layout = Layout {
            shape,
            x: x.to_owned(),
            y: y.to_owned(),
            scale: Scale::Linear,
            panels: distinct(rows.iter().map(Row::panel)),
            lines: distinct(rows.iter().map(Row::line)),
            marks: Vec::new(),
        };
        Drawn { layout, csv: csv(rows), remarks: Vec::new() }
    }
}

/// A row of a figure.
pub trait Row: Serialize {
    /// The plot.
    fn panel(&self) -> &str;
    /// The line or arm.
    fn line(&self) -> &str;
}

/// Implements [`Row`] for rows with these two fields.
macro_rules! row {
    ($($type:ty),+) => {
        $(impl $crate::figures::drawn::Row for $type {
            fn panel(&self) -> &str {
                &self.panel
            }

            fn line(&self) -> &str {
                &self.line
            }
        })+
    };
}

pub(super) use row;

/// The distinct names, in order of appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if !known.iter().any(|it| it == name) {
            known.push(name.to_owned());
        }
    }
    known
}
