//! Reader of trace files. The format is recognised from the content, never from the name.

use std::fmt;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::{Opportunities, RateSegments, Trace, TraceError, TraceShape};

/// Direction of a rate: some recordings have a column for each, and a cell's links differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the client.
    Down,
    /// From the client to the server.
    Up,
}

/// Options for what a file does not state itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Unit of rates, if the file leaves it open; `None`: its format's usual one.
    pub unit: Option<RateUnit>,
    /// True if the link stalls at the end instead of repeating.
    pub once: bool,
}

/// A unit of rates in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Bits per second.
    Bit,
    /// 1000 bits per second.
    Kbit,
    /// 1,000,000 bits per second.
    Mbit,
    /// Bytes per second.
    Byte,
    /// 1,000,000 bytes per second.
    Mbyte,
}

impl RateUnit {
    const ALL: [(&'static str, RateUnit); 5] = [
        ("bit", RateUnit::Bit),
        ("kbit", RateUnit::Kbit),
        ("mbit", RateUnit::Mbit),
        ("byte", RateUnit::Byte),
        ("mbyte", RateUnit::Mbyte),
    ];

    /// Parses the name of a unit.
    pub(crate) fn named(name: &str) -> Option<RateUnit> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit)
    }

    /// Name of the unit in settings.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, unit)| *unit == self).map_or("", |(name, _)| name)
    }

    pub(super) fn bits(self) -> f64 {
        match self {
            RateUnit::Bit => 1.0,
            RateUnit::Kbit => 1e3,
            RateUnit::Mbit => 1e6,
            RateUnit::Byte => 8.0,
            RateUnit::Mbyte => 8e6,
        }
    }
}

impl fmt::Display for TraceOptions {
    /// In the form that follows the file's name in a setting.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(unit) = self.unit {
            write!(f, " {}", unit.name())?;
        }
        f.write_str(if self.once { " once" } else { "" })
    }
}

/// Result of a reader: the samples, and their description.
pub(super) struct ParsedTrace {
    pub(super) samples: ParsedSamples,
    pub(super) taken: String,
}

pub(super) enum ParsedSamples {
    /// Instants in nanoseconds.
    Opportunities(Vec<u64>),
    /// Rates, each with its duration.
    Rates(Vec<(std::time::Duration, units::BitsPerSec)>),
}

/// Larger than any recording; a gzip file that grows beyond is a bomb.
const LARGEST_BYTES: u64 = 1 << 30;

impl Trace {
    /// Reads the file at `path`, which may be compressed with gzip.
    pub fn read(
        path: &Path,
        direction: Direction,
        options: TraceOptions,
    ) -> Result<Trace, TraceError> {
        let bytes = std::fs::read(path)
            .map_err(|source| TraceError::Unreadable { path: path.to_owned(), source })?;
        Trace::from_bytes(&path.display().to_string(), &bytes, direction, options)
    }

    /// Parses a trace from a file's content; `origin` appears in messages.
    pub fn from_bytes(
        origin: &str,
        bytes: &[u8],
        direction: Direction,
        options: TraceOptions,
    ) -> Result<Trace, TraceError> {
        let text = text(origin, bytes)?;
        let ParsedTrace { samples, taken } = recognise(origin, &text, direction, options)?;
        let shape = match samples {
            ParsedSamples::Opportunities(at) => {
                TraceShape::Opportunities(Opportunities::new(at, !options.once))
            }
            ParsedSamples::Rates(samples) => {
                if samples.iter().all(|(holds, _)| holds.is_zero()) {
                    let found = "no sample of positive duration";
                    return Err(TraceError::Empty { file: origin.to_owned(), found });
                }
                TraceShape::Segments(RateSegments::new(&samples, !options.once))
            }
        };
        Ok(Trace { origin: origin.to_owned(), options, taken, shape })
    }
}

fn text(file: &str, bytes: &[u8]) -> Result<String, TraceError> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let broken = |reason: String| TraceError::NotText { file: file.to_owned(), reason };
    let plain = if bytes.starts_with(&GZIP) {
        let mut plain = Vec::new();
        let mut decoder = MultiGzDecoder::new(bytes).take(LARGEST_BYTES);
        decoder.read_to_end(&mut plain).map_err(|error| broken(error.to_string()))?;
        plain
    } else {
        bytes.to_vec()
    };
    let text = String::from_utf8(plain).map_err(|error| broken(error.utf8_error().to_string()))?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

/// Recognises the format by the first line: `[` is JSON, one whole number is Mahimahi's, two numbers are a pair of
/// columns, words are a CSV header.
fn recognise(
    file: &str,
    text: &str,
    direction: Direction,
    options: TraceOptions,
) -> Result<ParsedTrace, TraceError> {
    let Some(first) = super::lines(file, text).next() else {
        return Err(TraceError::Empty { file: file.to_owned(), found: "no lines" });
    };
    let numbers = first.text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let numbers: Option<Vec<f64>> = numbers.map(|word| word.parse().ok()).collect();
    match numbers.as_deref() {
        _ if first.text.starts_with('[') => super::formats::read_json(file, text),
        Some([_]) => super::formats::read_mahimahi(file, text),
        Some([_, _]) => super::formats::read_columns(file, text, options.unit),
        None if first.text.contains(',') => {
            super::formats::read_csv(file, text, direction, options.unit)
        }
        _ => Err(TraceError::Unknown { file: file.to_owned(), line: first.number }),
    }
}
