//! Background traffic: periodic packets or requests of the client beside the page.
//!
//! Its text is `ping:every=3s,size=320B`; several flows are joined by `+`, and `none` is no flow. Pings keep a
//! radio awake (Erman et al. 2013, section 5.6.1); beacons are sent by analytics and advertisements of open
//! pages (section 5.7).

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::pairs::{DuplicateKeyError, KeyValue, pairs};
use units::parse;

use super::ChoiceError;
use crate::choice;

choice! {
    /// Kind of a flow.
    pub enum FlowKind, "traffic" {
        /// A packet that the far end echoes.
        Ping = "ping",
        /// A small HTTP request, answered without a body.
        Beacon = "beacon",
    }
    not_yet {}
}

/// One periodic flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Kind of the flow.
    pub kind: FlowKind,
    /// The period.
    pub every: Duration,
    /// Size of a ping's IP packet, or of a beacon's body.
    pub size_bytes: u64,
}

/// All background flows of a client. The order in which flows were typed does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackgroundTraffic(Vec<Flow>);

/// Error of parsing background traffic.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// An unknown kind.
    #[error(transparent)]
    Kind(#[from] ChoiceError),
    /// An unknown setting, or text that is not `key=value`.
    #[error("`{text}` is no setting of a {kind}; there are `every=10s` and `size=1KB`")]
    Setting {
        /// The flow's kind.
        kind: FlowKind,
        /// The text as typed.
        text: String,
    },
    /// A flow without a period.
    #[error("a {kind} must say how often: `{kind}:every=10s`")]
    NoPeriod {
        /// The flow's kind.
        kind: FlowKind,
    },
    /// A value that cannot be read.
    #[error("`{key}` of a {kind}: {source}")]
    Value {
        /// The flow's kind.
        kind: FlowKind,
        /// The setting.
        key: &'static str,
        /// The parse error.
        source: parse::ParseError,
    },
    /// The same setting twice.
    #[error("`{key}` of a {kind} is set twice; keep one")]
    Twice {
        /// The flow's kind.
        kind: FlowKind,
        /// The setting.
        key: String,
    },
    /// A value out of range.
    #[error("`{key}` of a {kind} cannot be `{value}`: it is from {least} to {most}")]
    Range {
        /// The flow's kind.
        kind: FlowKind,
        /// The setting.
        key: &'static str,
        /// The value as typed.
        value: String,
        /// The least accepted value,
        least: String,
        /// and the largest.
        most: String,
    },
}

impl TrafficError {
    /// Advice on fixing it, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match self {
            TrafficError::Kind(error) => error.hint(),
            _ => None,
        }
    }
}

/// From a flood to a beacon an hour.
const PERIODS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

impl FlowKind {
    /// Default size: `ping` of iputils sends 56 bytes behind headers of 28; a beacon's size is a guess.
    const fn default_size(self) -> u64 {
        match self {
            FlowKind::Ping => 84,
            FlowKind::Beacon => 1000,
        }
    }

    /// Allowed sizes. A ping has headers and crosses any path unfragmented (the least MTU of IPv6, RFC 8200
    /// section 5); a beacon is at most what `sendBeacon` accepts.
    const fn sizes(self) -> RangeInclusive<u64> {
        match self {
            FlowKind::Ping => 28..=1280,
            FlowKind::Beacon => 0..=65_536,
        }
    }
}

impl BackgroundTraffic {
    /// True if there is no flow.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Its flows, sorted.
    pub fn flows(&self) -> &[Flow] {
        &self.0
    }

    /// The same flows, and those of `other`.
    #[must_use]
    pub fn and(mut self, other: BackgroundTraffic) -> BackgroundTraffic {
        self.0.extend(other.0);
        self.0.sort_unstable();
        self
    }
}

impl FromStr for Flow {
    type Err = TrafficError;

    fn from_str(text: &str) -> Result<Flow, TrafficError> {
        let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
        let kind: FlowKind = kind.trim().parse()?;
        let (mut every, mut size_bytes) = (None, kind.default_size());
        let twice = |twice: DuplicateKeyError| TrafficError::Twice { kind, key: twice.key };
        for KeyValue { key, value } in pairs(settings).map_err(twice)? {
            match (key, value) {
                ("every", Some(value)) => every = Some(period(kind, value)?),
                ("size", Some(value)) => size_bytes = size(kind, value)?,
                _ => {
                    return Err(TrafficError::Setting {
                        kind,
                        text: value.map_or(key.to_owned(), |value| format!("{key}={value}")),
                    });
                }
            }
        }
        let every = every.ok_or(TrafficError::NoPeriod { kind })?;
        Ok(Flow { kind, every, size_bytes })
    }
}

fn period(kind: FlowKind, text: &str) -> Result<Duration, TrafficError> {
    let key = "every";
    let span = parse::duration(text).map_err(|source| TrafficError::Value { kind, key, source })?;
    if PERIODS.contains(&span) {
        return Ok(span);
    }
    let (value, least, most) = (text.to_owned(), "1ms".to_owned(), "1h".to_owned());
    Err(TrafficError::Range { kind, key, value, least, most })
}

fn size(kind: FlowKind, text: &str) -> Result<u64, TrafficError> {
    let key = "size";
    let bytes =
        parse::size_bytes(text).map_err(|source| TrafficError::Value { kind, key, source })?;
    let sizes = kind.sizes();
    if sizes.contains(&bytes) {
        return Ok(bytes);
    }
    let (least, most) = (format!("{}B", sizes.start()), format!("{}B", sizes.end()));
    Err(TrafficError::Range { kind, key, value: text.to_owned(), least, most })
}

impl FromStr for BackgroundTraffic {
    type Err = TrafficError;

    fn from_str(text: &str) -> Result<BackgroundTraffic, TrafficError> {
        if text.trim() == "none" {
            return Ok(BackgroundTraffic::default());
        }
        let mut flows: Vec<Flow> =
            text.split('+').map(|flow| flow.trim().parse()).collect::<Result<_, _>>()?;
        flows.sort_unstable();
        Ok(BackgroundTraffic(flows))
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flow { kind, every, size_bytes } = self;
        let every = super::network::duration_text(every.as_nanos() as u64);
        write!(f, "{kind}:every={every},size={size_bytes}B")
    }
}

impl fmt::Display for BackgroundTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        let flows: Vec<String> = self.0.iter().map(Flow::to_string).collect();
        f.write_str(&flows.join(" + "))
    }
}

impl Serialize for BackgroundTraffic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BackgroundTraffic {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BackgroundTraffic, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl BackgroundTraffic {
    /// Duration of the traffic before the first visit, so that it seems to have run forever: longer than any
    /// inactivity timer of radios (UMTS: 5 s and 12 s).
    pub const LEAD: Duration = Duration::from_secs(20);

    /// Duration of this traffic before the first visit.
    pub fn lead(&self) -> Duration {
        if self.is_none() { Duration::ZERO } else { Self::LEAD }
    }

    /// A note for readers of results.
    pub fn note(&self) -> Option<String> {
        (!self.is_none()).then(|| {
            format!(
                "beside the page: {self}, from {} s before the first visit on; its bytes and what the radio spends on it during a \
                 visit are counted with the visit's",
                Self::LEAD.as_secs()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> BackgroundTraffic {
        text.parse().unwrap()
    }

    #[test]
    fn flows_are_written_with_all_that_they_are() {
        assert_eq!(read("ping:every=3s").to_string(), "ping:every=3s,size=84B");
        assert_eq!(
            read(" beacon:every=0.5 min,size=2KB+ping:size=320B , every=3s").to_string(),
            "ping:every=3s,size=320B + beacon:every=30s,size=2000B"
        );
        assert_eq!(read("none"), BackgroundTraffic::default());
        assert_eq!(read("none").and(read("ping:every=1s")), read("ping:every=1s"));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| text.parse::<BackgroundTraffic>().unwrap_err();
        let message = |text| error(text).to_string();
        assert_eq!(error("pign:every=3s").hint().as_deref(), Some("did you mean `ping`?"));
        assert_eq!(message("ping"), "a ping must say how often: `ping:every=10s`");
        assert!(message("ping:every=3").starts_with("`every` of a ping: `3` has no unit"));
        assert!(message("ping:each=3s").starts_with("`each=3s` is no setting of a ping"));
        assert_eq!(
            message("ping:every=3s,size=9KB"),
            "`size` of a ping cannot be `9KB`: it is from 28B to 1280B"
        );
        assert!(message("beacon:every=0s").ends_with("it is from 1ms to 1h"));
        assert!(message("").starts_with("unknown traffic ``"));
    }

    proptest! {
        #[test]
        fn its_text_reads_back(
            flows in proptest::collection::vec((any::<bool>(), 1u64..3_600_000, 28u64..1280), 0..4),
        ) {
            let flow = |(ping, every_ms, size_bytes)| Flow {
                kind: if ping { FlowKind::Ping } else { FlowKind::Beacon },
                every: Duration::from_millis(every_ms),
                size_bytes,
            };
            let mut flows: Vec<Flow> = flows.into_iter().map(flow).collect();
            flows.sort_unstable();
            let traffic = BackgroundTraffic(flows);
            prop_assert_eq!(traffic.to_string().parse(), Ok(traffic));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = text.parse::<BackgroundTraffic>();
        }
    }
}
