//! Formats of trace files: CSV, columns of numbers, JSON, Mahimahi.
//!
//! CSV files have a header that names a rate; a row is one second. These logs of measurement tools sample once a second; their timestamps repeat and skip within a test and jump
//! between the tests that a file joins, so they are not used (InSecTT's rows are 1 to 3 s apart: its traces are
//! correspondingly shorter than the drive). Only the rate is used: signal strength, speed, ping times and losses do
//! not become part of the link.

use std::time::Duration;

use serde::Deserialize;
use units::BitsPerSec;

use super::read::{Direction, ParsedSamples, ParsedTrace, RateUnit};
use super::{TraceError, TraceLine, lines};

/// Columns that are rates, with unit and direction (`None`: the only one recorded). Names are compared
/// case-insensitively.
const RATES: [(&str, RateUnit, Option<Direction>); 12] = [
    // UCC 5G (G-NetTrack).
    ("dl_bitrate", RateUnit::Kbit, Some(Direction::Down)),
    ("ul_bitrate", RateUnit::Kbit, Some(Direction::Up)),
    // Starlink dish telemetry (FjordLink).
    ("downlink_throughput_bps", RateUnit::Bit, Some(Direction::Down)),
    ("uplink_throughput_bps", RateUnit::Bit, Some(Direction::Up)),
    // Starlink on the Autobahn.
    ("download", RateUnit::Mbit, Some(Direction::Down)),
    ("upload", RateUnit::Mbit, Some(Direction::Up)),
    // MONROE speed tests (ERRANT): a row is one test.
    ("download_mbps", RateUnit::Mbit, Some(Direction::Down)),
    ("upload_mbps", RateUnit::Mbit, Some(Direction::Up)),
    // Farlink's own suggestion for new files.
    ("down_mbit", RateUnit::Mbit, Some(Direction::Down)),
    ("up_mbit", RateUnit::Mbit, Some(Direction::Up)),
    // Starlink and cellular drive tests.
    ("throughput", RateUnit::Mbit, None),
    // InSecTT.
    ("rate(mbit/s)", RateUnit::Mbit, None),
];

/// Placeholders of measurement tools for "no sample".
const MISSING: [&str; 4] = ["", "-", "nan", "null"];

pub(super) fn read_csv(
    file: &str,
    text: &str,
    direction: Direction,
    unit: Option<RateUnit>,
) -> Result<ParsedTrace, TraceError> {
    let mut lines = lines(file, text);
    let Some(header) = lines.next() else {
        return Err(TraceError::Empty { file: file.to_owned(), found: "no lines" });
    };
    let names: Vec<String> = cells(header.text).map(str::to_lowercase).collect();
    let Some((column, usual)) = rate_column(&names, direction) else {
        return Err(TraceError::Unknown { file: file.to_owned(), line: header.number });
    };
    let unit = unit.unwrap_or(usual);
    let mut samples: Vec<(Duration, BitsPerSec)> = Vec::new();
    let mut missing = 0usize;
    for line in lines {
        let cell =
            cells(line.text).nth(column).ok_or_else(|| line.wrong("the row is too short"))?;
        if MISSING.contains(&cell.to_lowercase().as_str()) {
            missing += 1;
            continue;
        }
        let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
        let value =
            value.ok_or_else(|| line.wrong("expected a number in the column of the rate"))?;
        samples.push((Duration::from_secs(1), rate(&line, value, unit)?));
    }
    let mut taken =
        format!("CSV, column `{}` in {} a second, a row a second", names[column], unit.name());
    if missing > 0 {
        taken += &format!(", {missing} rows without a value left out");
    }
    Ok(ParsedTrace { samples: ParsedSamples::Rates(samples), taken })
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"'))
}

/// Column of the rate in this direction; a file with a single direction serves both.
fn rate_column(names: &[String], direction: Direction) -> Option<(usize, RateUnit)> {
    let find = |wanted: &dyn Fn(Option<Direction>) -> bool| {
        let known = |name: &String| {
            RATES.iter().find(|(known, _, way)| known == name && wanted(*way)).map(|rate| rate.1)
        };
        names.iter().enumerate().find_map(|(index, name)| Some((index, known(name)?)))
    };
    find(&|way| way == Some(direction)).or_else(|| find(&|way| way.is_none()))
}

// Two columns of numbers without a header: time, and rate from then on.
//
// - Separated by blanks: seconds and Mbit/s, as in traces of adaptive-streaming studies (FCC, Lumos5G, Solis).
//   Puffer's are in MByte/s, which nothing in the file says: read them with the unit `mbyte`.
// - Separated by commas: seconds and bytes in that second (the SBU walks).
//
// A rate holds until the next line's time, the last one for as long as the one before it. The first line's time is
// the trace's zero.

pub(super) fn read_columns(
    file: &str,
    text: &str,
    unit: Option<RateUnit>,
) -> Result<ParsedTrace, TraceError> {
    let commas = text.lines().next().is_some_and(|line| line.contains(','));
    let unit = unit.unwrap_or(if commas { RateUnit::Byte } else { RateUnit::Mbit });
    let mut samples: Vec<(f64, BitsPerSec)> = Vec::new();
    for line in lines(file, text) {
        let (seconds, value) = pair(&line)?;
        if samples.last().is_some_and(|(last, _)| seconds < *last) {
            return Err(line.wrong("time goes backwards; lines must be in order"));
        }
        samples.push((seconds, rate(&line, value, unit)?));
    }
    let taken = format!("seconds and rates in {} a second", unit.name());
    Ok(ParsedTrace { samples: ParsedSamples::Rates(held(&samples)), taken })
}

/// A rate of `value` units.
pub(super) fn rate(
    line: &TraceLine<'_>,
    value: f64,
    unit: RateUnit,
) -> Result<BitsPerSec, TraceError> {
    /// 1 Tbit/s: a larger value is probably in another unit.
    const FASTEST: f64 = 1e12;
    let bits = value * unit.bits();
    if bits < 0.0 {
        return Err(line.wrong("a rate cannot be negative"));
    }
    if bits > FASTEST {
        return Err(line.wrong("a rate above 1 Tbit/s; is the unit right?"));
    }
    Ok(BitsPerSec(bits.round() as u64))
}

fn pair(line: &TraceLine<'_>) -> Result<(f64, f64), TraceError> {
    let mut numbers = line.text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let mut next = || {
        let number = numbers.next()?.parse::<f64>().ok()?;
        number.is_finite().then_some(number)
    };
    match (next(), next(), numbers.next()) {
        (Some(seconds), Some(value), None) if (0.0..1e9).contains(&seconds) => Ok((seconds, value)),
        _ => Err(line.wrong("expected two numbers: seconds and a rate")),
    }
}

fn held(samples: &[(f64, BitsPerSec)]) -> Vec<(Duration, BitsPerSec)> {
    let span = |from: f64, to: f64| Duration::from_nanos(((to - from) * 1e9).round() as u64);
    let mut held: Vec<_> =
        samples.windows(2).map(|pair| (span(pair[0].0, pair[1].0), pair[0].1)).collect();
    if let Some((_, rate)) = samples.last() {
        held.push((held.last().map_or(Duration::from_secs(1), |(holds, _)| *holds), *rate));
    }
    held
}

// A JSON list of `{"duration_ms": ..., "bandwidth_kbps": ..., "latency_ms": ...}`: Sabre's format, in which the
// Ghent 4G and the Norwegian 3G recordings are published. `latency_ms` is ignored: in those files it is a constant
// added by the conversion.

#[derive(Deserialize)]
struct SabreStep {
    duration_ms: f64,
    bandwidth_kbps: f64,
}

pub(super) fn read_json(file: &str, text: &str) -> Result<ParsedTrace, TraceError> {
    let wrong = |reason: String| TraceError::Json { file: file.to_owned(), reason };
    let steps: Vec<SabreStep> =
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let rates = steps.iter().enumerate().map(|(index, step)| {
        let (duration, rate) = (step.duration_ms * 1e6, step.bandwidth_kbps * 1e3);
        if !(0.0..1e18).contains(&duration) {
            return Err(wrong(format!("entry {}: duration_ms: time goes backwards", index + 1)));
        }
        if !(0.0..1e12).contains(&rate) {
            let reason = "bandwidth_kbps: a rate lies between 0 and 1 Tbit/s";
            return Err(wrong(format!("entry {}: {reason}", index + 1)));
        }
        Ok((Duration::from_nanos(duration.round() as u64), BitsPerSec(rate.round() as u64)))
    });
    let samples = ParsedSamples::Rates(rates.collect::<Result<_, _>>()?);
    Ok(ParsedTrace { samples, taken: "JSON list of durations and rates in kbit/s".to_owned() })
}

// Mahimahi's packet-delivery files: each line is the millisecond at which one packet may pass.
//
// Parsed as by `LinkQueue`'s constructor (`link_queue.cc`): whole numbers that never decrease, the last of them not
// zero.

pub(super) fn read_mahimahi(file: &str, text: &str) -> Result<ParsedTrace, TraceError> {
    const NANOS_PER_MS: u64 = 1_000_000;
    let mut at: Vec<u64> = Vec::new();
    for line in lines(file, text) {
        let nanos = line.text.parse::<u64>().ok().and_then(|ms| ms.checked_mul(NANOS_PER_MS));
        let nanos = nanos.ok_or_else(|| line.wrong("expected a whole number of milliseconds"))?;
        if at.last().is_some_and(|last| nanos < *last) {
            return Err(line.wrong("time goes backwards; lines must be in order"));
        }
        at.push(nanos);
    }
    match at.last() {
        None | Some(0) => {
            let found = "no line after 0 ms";
            Err(TraceError::Empty { file: file.to_owned(), found })
        }
        Some(_) => {
            let taken = format!("Mahimahi packet-delivery file, {} opportunities", at.len());
            Ok(ParsedTrace { samples: ParsedSamples::Opportunities(at), taken })
        }
    }
}
