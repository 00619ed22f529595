//! Optional time series of a visit, in addition to what every store holds.
//!
//! Recording does not affect measurements, only the size of results: with it a store of 12,000 visits is ten
//! times as large.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::World;
use super::knobs::{self, KnobError, KnobProblem, Knobs};

/// Any of `windows,throughput,packets,radio,departures`; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// State of the servers' ends of connections.
    pub windows: bool,
    /// Bytes that the client received and sent in each tenth of a second.
    pub throughput: bool,
    /// Sizes of packets.
    pub packets: bool,
    /// Changes of the radio's state, also between visits.
    pub radio: bool,
    /// Times at which responses left the end that the client is connected to.
    pub departures: bool,
}

impl Recording {
    /// True if nothing is recorded.
    pub fn is_nothing(&self) -> bool {
        *self == Recording::default()
    }

    /// True if it needs connections' series.
    pub fn needs_movements(self) -> bool {
        self.windows || self.departures
    }

    /// True if it needs packets' arrivals.
    pub fn needs_arrivals(self) -> bool {
        self.throughput || self.packets || self.radio
    }

    /// A note for readers of results.
    pub fn note(self, world: World) -> Option<String> {
        (!self.is_nothing() && world == World::Emu)
            .then(|| format!("nothing of {self} is recorded: the simulated world alone does that"))
    }
}

impl Knobs for Recording {
    const ONE: &'static str = "recording";
    const ALL: &'static str = "windows, throughput, packets, radio and departures";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        let wanted = match knob {
            "windows" => &mut self.windows,
            "throughput" => &mut self.throughput,
            "packets" => &mut self.packets,
            "radio" => &mut self.radio,
            "departures" => &mut self.departures,
            _ => return Err(KnobProblem::Unknown),
        };
        *wanted = true;
        match value {
            "" => Ok(()),
            _ => Err(KnobProblem::Expected("no value")),
        }
    }
}

impl FromStr for Recording {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Recording, KnobError> {
        knobs::parse(text)
    }
}

impl fmt::Display for Recording {
    /// In the form that is read; empty if nothing is recorded.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |is_wanted: bool, name: &str| is_wanted.then(|| name.to_owned());
        f.write_str(&knobs::list([
            name(self.windows, "windows"),
            name(self.throughput, "throughput"),
            name(self.packets, "packets"),
            name(self.radio, "radio"),
            name(self.departures, "departures"),
        ]))
    }
}

impl Serialize for Recording {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Recording {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Recording, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NetworkSpec, Protocol};
    use super::*;
    use crate::Scenario;

    #[test]
    fn what_is_written_is_read() {
        for text in ["", "windows", "packets,radio", "windows,throughput,packets,radio,departures"]
        {
            let read: Recording = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
            assert_eq!(read.is_nothing(), text.is_empty());
        }
        let read: Recording = " radio , packets ".parse().unwrap();
        assert_eq!(read.to_string(), "packets,radio");
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, says) in [
            ("cwnd", "there are windows"),
            ("windows=20ms", "no value"),
            ("radio,radio", "set twice"),
        ] {
            let error = text.parse::<Recording>().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn it_is_told_where_something_is_recorded_and_quic_has_no_windows_here() {
        let mut scenario = Scenario::new("a", NetworkSpec::default());
        assert!(!scenario.canonical().contains("record"));
        scenario.record = "windows,radio".parse().unwrap();
        let text = scenario.canonical();
        assert!(text.ends_with(r#","record":"windows,radio"}"#), "{text}");
        assert_eq!(Scenario::from_canonical(&text).unwrap(), scenario);
        assert_eq!(scenario.contradiction(), None);
        scenario.stack.protocol = Protocol::H3Matched;
        assert!(scenario.contradiction().unwrap().contains("recorded of TCP"));
        scenario.record.windows = false;
        assert_eq!(scenario.contradiction(), None);
        assert_eq!(scenario.record.note(World::Sim), None);
        assert!(scenario.record.note(World::Emu).unwrap().starts_with("nothing of radio"));
    }
}
