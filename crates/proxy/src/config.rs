//! Configuration of a proxy: one TOML file, or a few arguments, resolved to [`ProxyConfig`] or refused with the place and the
//! remedy.
//!
//! The input ([`File`]) and the result ([`ProxyConfig`]) are two types: existing settings are valid, and their files have been read.

mod auto_config;
mod file;
mod listeners;
mod origins;
mod resolve;
mod rules;
mod settings;
mod storage;
mod values;

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use file::File;
pub use resolve::{load, resolve};
pub use settings::{
    Access, AdminSettings, Forward, HostField, Http3, Intercept, ListenerSettings, LogFormat,
    LogPlace, LogSettings, ProxyConfig, Reverse, ServedPacFile, Trust,
};
pub use values::{Address, ConfigNetwork, PortRange, Size};

/// A configuration that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct ConfigError {
    /// Place of the error.
    pub place: ConfigLocation,
    /// The problem, and what was expected.
    pub problem: String,
    /// A remedy.
    pub remedy: Option<String>,
}

/// A place in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigLocation {
    /// In a file: line and column, counted from 1.
    At(PathBuf, usize, usize),
    /// A file as a whole.
    File(PathBuf),
    /// Among the command line's arguments.
    Arguments,
}

impl fmt::Display for ConfigLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigLocation::At(path, line, column) => {
                write!(f, "{}:{line}:{column}", path.display())
            }
            ConfigLocation::File(path) => write!(f, "{}", path.display()),
            ConfigLocation::Arguments => f.write_str("the arguments"),
        }
    }
}

impl ConfigError {
    /// A problem at `place`.
    pub fn new(place: ConfigLocation, problem: impl fmt::Display) -> ConfigError {
        ConfigError { place, problem: problem.to_string(), remedy: None }
    }

    /// The same error, with a remedy.
    #[must_use]
    pub fn remedy(self, remedy: impl fmt::Display) -> ConfigError {
        ConfigError { remedy: Some(remedy.to_string()), ..self }
    }
}

/// Source of a configuration, to find the places of errors in it.
#[derive(Clone, Copy, Debug)]
enum ConfigSource<'a> {
    File { path: &'a Path, text: &'a str },
    Arguments,
}

impl ConfigSource<'_> {
    fn place(&self, span: Range<usize>) -> ConfigLocation {
        let ConfigSource::File { path, text } = self else { return ConfigLocation::Arguments };
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (before.matches('\n').count(), before[line_start..].chars().count());
        ConfigLocation::At(path.to_path_buf(), line + 1, column + 1)
    }

    /// The TOML reader's error, with a suggestion for a misspelled key.
    fn explain(&self, error: &toml::de::Error) -> ConfigError {
        let message = error.message();
        let place = match error.span() {
            Some(span) => self.place(span),
            None => self.place(0..0),
        };
        let mut quoted = message.split('`').skip(1).step_by(2);
        let meant = match message.starts_with("unknown ") {
            true => quoted.next().and_then(|typed| nearest(typed, quoted)),
            false => None,
        };
        let refused = ConfigError::new(place, message.trim_end());
        match meant {
            Some(key) => refused.remedy(format!("did you mean `{key}`?")),
            None => refused,
        }
    }
}

/// The candidate nearest to the typed text, if it is near enough to be meant.
fn nearest<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const NEAR_ENOUGH: f64 = 0.8;
    candidates
        .map(|name| (strsim::jaro_winkler(typed, name), name))
        .filter(|(similarity, _)| *similarity >= NEAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
