//! Two columns of numbers without a header: time, and rate from then on.
//!
//! - Separated by blanks: seconds and Mbit/s, as in traces of adaptive-streaming studies (FCC,
//!   Lumos5G, Solis). Puffer's are in MByte/s, which nothing in the file says: read them with the unit
//!   `mbyte`.
//! - Separated by commas: seconds and bytes in that second (the SBU walks).
//!
//! A rate holds until the next line's time, the last one for as long as the one before it. The first line's time is
//! the trace's zero.

use std::time::Duration;

use units::BitsPerSec;

use super::TraceError;
use super::error::{Line, lines};
use super::read::{RateUnit, Recording, Samples};

pub(super) fn read(
    file: &str,
    text: &str,
    unit: Option<RateUnit>,
) -> Result<Recording, TraceError> {
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
    Ok(Recording { samples: Samples::Rates(held(&samples)), taken })
}

/// A rate of `value` units.
pub(super) fn rate(line: &Line<'_>, value: f64, unit: RateUnit) -> Result<BitsPerSec, TraceError> {
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

fn pair(line: &Line<'_>) -> Result<(f64, f64), TraceError> {
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
