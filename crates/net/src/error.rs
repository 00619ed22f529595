//! Why a text is not a network.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use units::parse::ParseError;

use crate::{CellError, DropListError, ImpossibleRadio, TraceError};

/// Why a text is not a network. Each message says what to write instead.
#[derive(Debug, Error)]
pub enum SpecError {
    /// Neither a profile's name nor a list of settings.
    #[error(
        "there is no network `{name}`{}; `farlink networks` lists them, or describe one: rtt=100ms,down=10mbit,up=5mbit",
        Suggestion(.nearest)
    )]
    UnknownProfile {
        /// What was asked for.
        name: String,
        /// The name that looks most like it.
        nearest: Option<String>,
    },
    /// A setting that networks do not have.
    #[error("{place}: a network has no setting `{key}`{} (settings: {known})", Suggestion(.nearest))]
    UnknownKey {
        /// Where.
        place: Place,
        /// What was written.
        key: String,
        /// The key that looks most like it.
        nearest: Option<String>,
        /// All there are.
        known: String,
    },
    /// The same setting, twice.
    #[error("{place}: `{key}` is set twice")]
    Twice {
        /// Where the second is.
        place: Place,
        /// The setting.
        key: String,
    },
    /// A setting without a value.
    #[error("{place}: `{text}` is not of the form key=value, for example rtt=100ms")]
    NotASetting {
        /// Where.
        place: Place,
        /// What was written.
        text: String,
    },
    /// A value that its setting cannot take.
    #[error("{place}: {key}: {reason}")]
    BadValue {
        /// Where.
        place: Place,
        /// The setting.
        key: String,
        /// Why not, and what would be accepted.
        reason: Box<ValueError>,
    },
    /// A setting that every network needs.
    #[error("{origin}: `{key}` is missing; add {example}")]
    Missing {
        /// The text or file.
        origin: String,
        /// The setting.
        key: &'static str,
        /// How to write it.
        example: &'static str,
    },
    /// Two settings that exclude each other.
    #[error("{origin}: {setting} cannot be combined with {with}")]
    Conflict {
        /// The text or file.
        origin: String,
        /// The one.
        setting: &'static str,
        /// The other.
        with: &'static str,
    },
    /// Farther hops are numbered without gaps, so that a forgotten one is noticed.
    #[error(
        "{origin}: there is a `hop.{number}` but no `hop.{expected}`; hops count from 1, away from the client"
    )]
    HopGap {
        /// The text or file.
        origin: String,
        /// The hop that is there.
        number: u32,
        /// The first that is not.
        expected: u32,
    },
    /// The file is not TOML.
    #[error("{place}: not valid TOML: {reason}")]
    Toml {
        /// Where the parser stopped.
        place: Place,
        /// What it says.
        reason: String,
    },
    /// The file cannot be read.
    #[error("failed to read the network file {}: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why a value does not fit its setting.
#[derive(Debug, Error)]
pub enum ValueError {
    /// No radio is called that.
    #[error("there is no radio `{name}`{} (radios: {known})", Suggestion(.nearest))]
    UnknownRadio {
        /// What was asked for.
        name: String,
        /// The name that looks most like it.
        nearest: Option<String>,
        /// All there are.
        known: String,
    },
    /// Radios of this kind have no such setting.
    #[error("the radio `{name}` has no setting `{key}`{} (settings: {known})", Suggestion(.nearest))]
    UnknownRadioSetting {
        /// The radio.
        name: String,
        /// What was set.
        key: String,
        /// The setting that looks most like it.
        nearest: Option<String>,
        /// All there are.
        known: String,
    },
    /// There can be no such radio.
    #[error(transparent)]
    ImpossibleRadio(#[from] ImpossibleRadio),
    /// No LTE cell has such a share.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// The quantity cannot be read.
    #[error(transparent)]
    Quantity(#[from] ParseError),
    /// The quantity can be read and makes no sense here.
    #[error("`{text}` is out of range: {range}")]
    OutOfRange {
        /// What was written.
        text: String,
        /// What is allowed.
        range: &'static str,
    },
    /// Not a value of the right form.
    #[error("`{text}` is not {expected}")]
    Form {
        /// What was written.
        text: String,
        /// What would be.
        expected: &'static str,
    },
    /// The file that is named is not a trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The file that is named is not a list of losses.
    #[error(transparent)]
    DropList(#[from] DropListError),
}

/// A position in what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a list of settings as typed on a command line.
    Typed,
    /// In a file. Lines and columns (in characters) count from 1.
    File {
        /// Its name.
        name: String,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
}

impl Place {
    /// The file that is called `name` here: beside the file in which the name stands, or from the working
    /// directory on.
    pub(crate) fn relative(&self, name: &str) -> PathBuf {
        match self {
            Place::Typed => PathBuf::from(name),
            Place::File { name: file, .. } => match Path::new(file).parent() {
                Some(folder) => folder.join(name),
                None => PathBuf::from(name),
            },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Typed => f.write_str("network"),
            Place::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
        }
    }
}

/// `, did you mean ...?`, or nothing.
struct Suggestion<'a>(&'a Option<String>);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, " (did you mean `{name}`?)"),
            None => Ok(()),
        }
    }
}

/// The candidate most like `text`, if any is near enough to have been meant: Jaro-Winkler forgives
/// a changed ending more than a changed beginning, as typing errors in names do.
pub(crate) fn nearest<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    const NEAR_ENOUGH: f64 = 0.75;
    let text = text.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&text, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}
