//! A figure, worked out: the rows that it is drawn from, and what the script must know beside them.

use serde::Serialize;
use thiserror::Error;

use super::kind::{Mark, Scale};
use crate::judge::Fault;
use report::rows::csv;
use store::StoreError;

/// Why a figure was not worked out.
#[derive(Debug, Error)]
pub enum Undrawn {
    /// Something is not there, or cannot be.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A figure, worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// How its rows are drawn.
    pub layout: Layout,
    /// Its rows, as CSV below a line of names.
    pub csv: String,
    /// What is to be said of it beside its picture.
    pub remarks: Vec<String>,
}

/// How rows are drawn; `assets/figures.js` reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// Which drawer.
    pub shape: Shape,
    /// The horizontal axis, with its unit.
    pub x: String,
    /// The vertical one.
    pub y: String,
    /// How the horizontal axis is divided.
    pub scale: Scale,
    /// The plots, by the rows' column `panel`.
    pub panels: Vec<String>,
    /// Lines or arms, by the rows' column `line`.
    pub lines: Vec<String>,
    /// Values of the horizontal axis that are marked.
    pub marks: Vec<Mark>,
}

/// What a row is in the picture.
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
    /// How a window stands from a moment on, or a radio until another.
    Windows,
    /// A step of a histogram.
    Histogram,
}

impl Drawn {
    /// Of these rows, whose first columns are `panel` and `line`.
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
    /// In which plot.
    fn panel(&self) -> &str;
    /// Of which line or arm.
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

/// In order of appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if !known.iter().any(|it| it == name) {
            known.push(name.to_owned());
        }
    }
    known
}
