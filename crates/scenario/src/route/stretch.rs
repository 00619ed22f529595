//! The stretch between the network's far end and the page's hosts.

use std::ops::RangeInclusive;
use std::time::Duration;

use units::parse;

use super::super::network::{duration_text, rate_text};
use super::{KnobProblem, Turn};

/// Upper limit: farther than any satellite.
const RTTS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);

/// The path between the network's far end and the page's hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Its round trip, in nanoseconds, half of it each way.
    pub rtt_ns: Option<u64>,
    /// Its rate, each way; `None` is unlimited.
    pub rate_bit_per_s: Option<u64>,
    /// Loss ratio of packets from the hosts, independent.
    pub loss_ratio: Option<f64>,
}

impl Stretch {
    /// True if it adds nothing.
    pub fn is_none(&self) -> bool {
        let Stretch { rtt_ns, rate_bit_per_s, loss_ratio } = *self;
        rtt_ns.unwrap_or(0) == 0 && rate_bit_per_s.is_none() && loss_ratio.unwrap_or(0.0) == 0.0
    }

    /// The settings given here, and those of `other` in place of missing ones.
    #[must_use]
    pub fn or(self, other: Stretch) -> Stretch {
        Stretch {
            rtt_ns: self.rtt_ns.or(other.rtt_ns),
            rate_bit_per_s: self.rate_bit_per_s.or(other.rate_bit_per_s),
            loss_ratio: self.loss_ratio.or(other.loss_ratio),
        }
    }

    /// Parses its round trip.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse_rtt(text: &str) -> Result<u64, String> {
        rtt(text).map_err(|()| format!("`{text}` is not a round trip from 0ms to 60s"))
    }

    /// Parses its rate.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse_rate(text: &str) -> Result<u64, String> {
        rate(text).map_err(|()| format!("`{text}` is not a rate: write 100mbit"))
    }

    /// Parses its loss ratio.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse_loss(text: &str) -> Result<f64, String> {
        loss(text).map_err(|()| format!("`{text}` is not a loss below 100%: write 1%"))
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
            "loss" => {
                let loss =
                    loss(value).map_err(|()| KnobProblem::Expected("a share below 100%: 1%"))?;
                self.loss_ratio = Some(loss);
            }
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }

    fn turned(&self) -> Vec<String> {
        let rtt = self.rtt_ns.map(|nanos| format!("rtt={}", duration_text(nanos)));
        let rate = self.rate_bit_per_s.map(|rate| format!("rate={}", rate_text(rate)));
        let loss = self.loss_ratio.map(|ratio| format!("loss={ratio}"));
        rtt.into_iter().chain(rate).chain(loss).collect()
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

fn loss(value: &str) -> Result<f64, ()> {
    parse::ratio(value).ok().filter(|loss| *loss < 1.0).ok_or(())
}

fn rate(value: &str) -> Result<u64, ()> {
    parse::rate(value).ok().map(|rate| rate.0).filter(|rate| *rate > 0).ok_or(())
}
