//! A JSON list of `{"duration_ms": ..., "bandwidth_kbps": ..., "latency_ms": ...}`: Sabre's format, in which the
//! Ghent 4G and the Norwegian 3G recordings are published. `latency_ms` is ignored: in those files it is a constant
//! added by the conversion.

use std::time::Duration;

use serde::Deserialize;
use units::BitsPerSec;

use super::TraceError;
use super::read::{Recording, Samples};

#[derive(Deserialize)]
struct Step {
    duration_ms: f64,
    bandwidth_kbps: f64,
}

pub(super) fn read(file: &str, text: &str) -> Result<Recording, TraceError> {
    let wrong = |reason: String| TraceError::Json { file: file.to_owned(), reason };
    let steps: Vec<Step> = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
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
    let samples = Samples::Rates(rates.collect::<Result<_, _>>()?);
    Ok(Recording { samples, taken: "JSON list of durations and rates in kbit/s".to_owned() })
}
