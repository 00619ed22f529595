//! CSV files with a header that names a rate: logs of measurement tools.
//!
//! A row is one second. These logs sample once a second; their timestamps repeat and skip within a test and jump
//! between the tests that a file joins, so they are not used (InSecTT's rows are 1 to 3 s apart: its traces are
//! correspondingly shorter than the drive). Only the rate is used: signal strength, speed, ping times and losses do
//! not become part of the link.

use std::time::Duration;

use units::BitsPerSec;

use super::TraceError;
use super::columns::rate;
use super::error::lines;
use super::read::{Direction, RateUnit, Recording, Samples};

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

pub(super) fn read(
    file: &str,
    text: &str,
    direction: Direction,
    unit: Option<RateUnit>,
) -> Result<Recording, TraceError> {
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
    Ok(Recording { samples: Samples::Rates(samples), taken })
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
