//! What is turned in QUIC beside its arm.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// QUIC's knobs: `cc=newreno,iw=32,0rtt=off`. What is not turned is as the arm has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quic {
    /// Congestion control at both ends: the arm's own kind of it.
    pub congestion: Option<QuicCongestion>,
    /// The initial window of both ends, in packets of 1,200 bytes (RFC 9002 section 7.2).
    pub initial_window_packets: Option<u32>,
    /// Whether a resumed connection sends requests with its first flight (RFC 9001 section 4.6).
    pub early_data: Option<bool>,
}

/// Congestion controls that QUIC can be told to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicCongestion {
    /// CUBIC: quinn's, without HyStart, or our TCP's, with it.
    Cubic,
    /// NewReno: quinn's, or our TCP's Reno.
    NewReno,
}

impl QuicCongestion {
    const ALL: [QuicCongestion; 2] = [QuicCongestion::Cubic, QuicCongestion::NewReno];

    const fn name(self) -> &'static str {
        match self {
            QuicCongestion::Cubic => "cubic",
            QuicCongestion::NewReno => "newreno",
        }
    }
}

/// A text that turns no knobs of QUIC.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuicError {
    /// There is no such knob.
    #[error("no QUIC knob is called `{name}`; there are cc, iw and 0rtt")]
    UnknownKnob {
        /// What was written.
        name: String,
    },
    /// A value that the knob does not take.
    #[error("the QUIC knob `{knob}` cannot be `{value}`: it takes {expected}")]
    BadValue {
        /// The knob.
        knob: &'static str,
        /// What was written.
        value: String,
        /// What may be written.
        expected: &'static str,
    },
    /// A knob is set twice.
    #[error("the QUIC knob `{knob}` is set twice; keep one")]
    Twice {
        /// The knob.
        knob: String,
    },
    /// It can be wanted, and cannot be had.
    #[error("{0}")]
    Refused(&'static str),
}

const NO_BBR: &str = "QUIC cannot run BBR here: quinn paces by the window alone and not at the rate that BBR asks for; use cc=cubic or cc=newreno";
const NO_MIGRATION: &str = "a connection cannot migrate here: a simulated or emulated client has one address all its life; leave `migration` out";
const ALWAYS_PACED: &str = "quinn always paces, at 5/4 of a window a round trip after a burst of ten packets, and cannot be told otherwise: leave `pacing` out";

impl Quic {
    /// Whether no knob is turned.
    pub fn is_usual(&self) -> bool {
        *self == Quic::default()
    }

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), QuicError> {
        let bad = |knob, expected| QuicError::BadValue { knob, value: value.to_owned(), expected };
        match (knob, value) {
            ("cc", "bbr") => return Err(QuicError::Refused(NO_BBR)),
            ("cc", _) => {
                let known = QuicCongestion::ALL.into_iter().find(|cc| cc.name() == value);
                self.congestion = Some(known.ok_or_else(|| bad("cc", "cubic or newreno"))?);
            }
            ("iw", _) => {
                let packets = value.parse().ok().filter(|packets| (2..=1000).contains(packets));
                let packets = packets.ok_or_else(|| bad("iw", "packets, 2 to 1000"))?;
                self.initial_window_packets = Some(packets);
            }
            ("0rtt", "on") => self.early_data = Some(true),
            ("0rtt", "off") => self.early_data = Some(false),
            ("0rtt", _) => return Err(bad("0rtt", "on or off")),
            ("migration", _) => return Err(QuicError::Refused(NO_MIGRATION)),
            ("pacing", _) => return Err(QuicError::Refused(ALWAYS_PACED)),
            _ => return Err(QuicError::UnknownKnob { name: knob.to_owned() }),
        }
        Ok(())
    }
}

impl FromStr for Quic {
    type Err = QuicError;

    fn from_str(text: &str) -> Result<Quic, QuicError> {
        let (mut quic, mut seen) = (Quic::default(), Vec::new());
        for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let (knob, value) = item.split_once('=').unwrap_or((item, ""));
            let (knob, value) = (knob.trim(), value.trim());
            if seen.contains(&knob) {
                return Err(QuicError::Twice { knob: knob.to_owned() });
            }
            quic.turn(knob, value)?;
            seen.push(knob);
        }
        Ok(quic)
    }
}

impl fmt::Display for Quic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let congestion = self.congestion.map(|cc| format!("cc={}", cc.name()));
        let window = self.initial_window_packets.map(|packets| format!("iw={packets}"));
        let early = self.early_data.map(|on| format!("0rtt={}", if on { "on" } else { "off" }));
        let turned: Vec<String> = [congestion, window, early].into_iter().flatten().collect();
        f.write_str(&turned.join(","))
    }
}

impl Serialize for Quic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quic {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Quic, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<Quic>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_turned_is_written_back() {
        for text in ["", "cc=newreno", "cc=cubic,iw=32,0rtt=off"] {
            assert_eq!(text.parse::<Quic>().unwrap().to_string(), text);
        }
        assert_eq!(" 0rtt=on, iw=2".parse::<Quic>().unwrap().to_string(), "iw=2,0rtt=on");
    }

    #[test]
    fn what_cannot_be_had_is_refused_by_name() {
        assert!(refusal("cc=bbr").contains("BBR"));
        assert!(refusal("migration=on").contains("one address"));
        assert!(refusal("pacing=off").contains("quinn always paces"));
        assert_eq!(
            refusal("cc=vegas"),
            "the QUIC knob `cc` cannot be `vegas`: it takes cubic or newreno"
        );
        assert_eq!(
            refusal("iw=1"),
            "the QUIC knob `iw` cannot be `1`: it takes packets, 2 to 1000"
        );
        assert_eq!(refusal("rto=1s"), "no QUIC knob is called `rto`; there are cc, iw and 0rtt");
        assert_eq!(refusal("iw=3,iw=4"), "the QUIC knob `iw` is set twice; keep one");
    }
}
