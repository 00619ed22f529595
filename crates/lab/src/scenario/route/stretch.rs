//! What lies between the network's far end and the page's hosts.

use std::ops::RangeInclusive;
use std::time::Duration;

use units::parse;

use super::super::network::{duration_text, rate_text};
use super::{KnobProblem, Turn};

/// Farther than any satellite.
const RTTS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);

/// The way between the network's far end and the page's hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Its round trip, in nanoseconds, half of it each way.
    pub rtt_ns: Option<u64>,
    /// Its rate, each way; `None` does not limit.
    pub rate_bit_per_s: Option<u64>,
}

impl Stretch {
    /// Whether it is no way at all.
    pub fn is_none(&self) -> bool {
        self.rtt_ns.unwrap_or(0) == 0 && self.rate_bit_per_s.is_none()
    }

    /// What it says, and beyond that what `other` says.
    #[must_use]
    pub fn or(self, other: Stretch) -> Stretch {
        Stretch {
            rtt_ns: self.rtt_ns.or(other.rtt_ns),
            rate_bit_per_s: self.rate_bit_per_s.or(other.rate_bit_per_s),
        }
    }

    /// Its round trip as it is typed.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse_rtt(text: &str) -> Result<u64, String> {
        rtt(text).map_err(|()| format!("`{text}` is not a round trip from 0ms to 60s"))
    }

    /// Its rate as it is typed.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse_rate(text: &str) -> Result<u64, String> {
        rate(text).map_err(|()| format!("`{text}` is not a rate: write 100mbit"))
    }
}

impl Turn for Stretch {
    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match knob {
            "rtt" => self.rtt_ns = Some(round_trip(value)?),
            "rate" => {
                let rate = rate(value).map_err(|()| KnobProblem::Expected("a rate: 100mbit"))?;
                self.rate_bit_per_s = Some(rate);
            }
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }

    fn turned(&self) -> Vec<String> {
        let rtt = self.rtt_ns.map(|nanos| format!("rtt={}", duration_text(nanos)));
        let rate = self.rate_bit_per_s.map(|rate| format!("rate={}", rate_text(rate)));
        rtt.into_iter().chain(rate).collect()
    }
}

/// A round trip as the value of a knob.
pub(super) fn round_trip(value: &str) -> Result<u64, KnobProblem> {
    rtt(value).map_err(|()| KnobProblem::Expected("a time of 0ms to 60s"))
}

fn rtt(value: &str) -> Result<u64, ()> {
    let span = parse::duration(value).ok().filter(|span| RTTS.contains(span)).ok_or(())?;
    Ok(span.as_nanos() as u64)
}

fn rate(value: &str) -> Result<u64, ()> {
    parse::rate(value).ok().map(|rate| rate.0).filter(|rate| *rate > 0).ok_or(())
}
