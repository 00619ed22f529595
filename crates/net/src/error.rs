//! Errors of parsing a network.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use thiserror::Error;
use units::parse::ParseError;

use crate::{CellError, DropListError, RadioError, TraceError};

/// Reasons why a text is not a network. Each message says what to write instead.
#[derive(Debug, Error)]
pub enum NetworkSpecError {
    /// Neither a profile's name nor a list of settings.
    #[error(
        "there is no network `{name}`{}; `farlink networks` lists them, or describe one: rtt=100ms,down=10mbit,up=5mbit",
        Suggestion(.nearest)
    )]
    UnknownProfile {
        /// The input.
        name: String,
        /// Most similar known name.
        nearest: Option<String>,
    },
    /// An unknown setting.
    #[error("{place}: a network has no setting `{key}`{} (settings: {known})", Suggestion(.nearest))]
    UnknownKey {
        /// Its position.
        place: SettingOrigin,
        /// The input.
        key: String,
        /// Most similar known key.
        nearest: Option<String>,
        /// All known keys.
        known: String,
    },
    /// A setting given twice.
    #[error("{place}: `{key}` is set twice")]
    Twice {
        /// Position of the second.
        place: SettingOrigin,
        /// The setting.
        key: String,
    },
    /// A setting without a value.
    #[error("{place}: `{text}` is not of the form key=value, for example rtt=100ms")]
    NotASetting {
        /// Its position.
        place: SettingOrigin,
        /// The input.
        text: String,
    },
    /// An invalid value.
    #[error("{place}: {key}: {reason}")]
    BadValue {
        /// Its position.
        place: SettingOrigin,
        /// The setting.
        key: String,
        /// The reason, and the accepted form.
        reason: Box<ValueError>,
    },
    /// A missing mandatory setting.
    #[error("{origin}: `{key}` is missing; add {example}")]
    Missing {
        /// The text or file.
        origin: String,
        /// The setting.
        key: &'static str,
        /// An example of it.
        example: &'static str,
    },
    /// Two settings that exclude each other.
    #[error("{origin}: {setting} cannot be combined with {with}")]
    Conflict {
        /// The text or file.
        origin: String,
        /// The first setting.
        setting: &'static str,
        /// The second setting.
        with: &'static str,
    },
    /// A gap in the numbers of farther hops, which reveals a forgotten one.
    #[error(
        "{origin}: there is a `hop.{number}` but no `hop.{expected}`; hops count from 1, away from the client"
    )]
    HopGap {
        /// The text or file.
        origin: String,
        /// The hop that is present.
        number: u32,
        /// The first one missing.
        expected: u32,
    },
    /// The file is not valid TOML.
    #[error("{place}: not valid TOML: {reason}")]
    Toml {
        /// Position at which the parser stopped.
        place: SettingOrigin,
        /// Its message.
        reason: String,
    },
    /// The file cannot be read.
    #[error("failed to read the network file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
}

/// Reasons why a value does not fit its setting.
#[derive(Debug, Error)]
pub enum ValueError {
    /// Unknown radio.
    #[error("there is no radio `{name}`{} (radios: {known})", Suggestion(.nearest))]
    UnknownRadio {
        /// The input.
        name: String,
        /// Most similar known name.
        nearest: Option<String>,
        /// All known radios.
        known: String,
    },
    /// A setting that radios of this kind do not have.
    #[error("the radio `{name}` has no setting `{key}`{} (settings: {known})", Suggestion(.nearest))]
    UnknownRadioSetting {
        /// The radio.
        name: String,
        /// The setting.
        key: String,
        /// Most similar known setting.
        nearest: Option<String>,
        /// All known settings.
        known: String,
    },
    /// A contradictory radio.
    #[error(transparent)]
    ImpossibleRadio(#[from] RadioError),
    /// Not a share of an LTE cell.
    #[error(transparent)]
    Cell(#[from] CellError),
    /// The quantity cannot be parsed.
    #[error(transparent)]
    Quantity(#[from] ParseError),
    /// The quantity is out of range.
    #[error("`{text}` is out of range: {range}")]
    OutOfRange {
        /// The input.
        text: String,
        /// The allowed range.
        range: &'static str,
    },
    /// A value of the wrong form.
    #[error("`{text}` is not {expected}")]
    Form {
        /// The input.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
    /// The named file is not a trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The named file is not a list of losses.
    #[error(transparent)]
    DropList(#[from] DropListError),
}

/// A position in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// In a list of settings on a command line.
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

impl SettingOrigin {
    /// Path of the file that is called `name` at this place: relative to the file in which the name stands, or to the
    /// working directory.
    pub(crate) fn relative(&self, name: &str) -> PathBuf {
        match self {
            SettingOrigin::Typed => PathBuf::from(name),
            SettingOrigin::File { name: file, .. } => match Path::new(file).parent() {
                Some(folder) => folder.join(name),
                None => PathBuf::from(name),
            },
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Typed => f.write_str("network"),
            SettingOrigin::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
        }
    }
}

/// `, did you mean ...?`, or empty.
struct Suggestion<'a>(&'a Option<String>);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, " (did you mean `{name}`?)"),
            None => Ok(()),
        }
    }
}

/// The candidate most similar to `text`, if similar enough to have been meant: Jaro-Winkler forgives a changed ending
/// more than a changed beginning, as suits typing errors in names.
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
