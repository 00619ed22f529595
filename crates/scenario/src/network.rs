//! What a scenario says of its network: a named profile, single properties, or one changed by the other.
//!
//! This is the *specification*; what the named profile holds is the `net` crate's affair. Quantities are
//! kept as numbers so that `100ms` and `0.1s` are one cell and a report can draw an axis.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::{BitsPerSec, parse};

/// A network by profile, by properties, or both; a property replaces the profile's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkSpec {
    /// A profile's name or a link file.
    pub base: Option<String>,
    /// Digest of all files that the network is read from - the one that `base` names, traces, lists of
    /// losses -, so that a changed file is another cell. `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_digest: Option<String>,
    /// Round-trip propagation delay.
    pub rtt_ns: Option<u64>,
    /// Rate towards the client.
    pub down_bit_per_s: Option<u64>,
    /// Rate towards the servers.
    pub up_bit_per_s: Option<u64>,
    /// Probability that a packet is lost, each direction.
    pub loss_ratio: Option<f64>,
    /// The droptail queue in front of each direction.
    pub queue: Option<Queue>,
    /// Settings of a single direction and the MTU, as typed; the `net` crate reads them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, String>,
}

/// A queue's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// So many packets.
    Packets(u64),
    /// So many bytes.
    Bytes(u64),
    /// Nothing is dropped for want of room.
    Unlimited,
    /// So many thousandths of the bottleneck's bandwidth-delay product.
    BdpThousandths(u64),
}

/// Why a text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// A property's value cannot be read.
    #[error("network property `{key}`: {source}")]
    Value {
        /// Which property.
        key: String,
        /// What is wrong with it.
        source: parse::ParseError,
    },
    /// A rate cannot be read: a quantity, or a share of an LTE cell.
    #[error("network property `{key}`: {why}")]
    Rate {
        /// Which property.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// Not a property.
    #[error("unknown network property `{key}`; known: {}{}", net::known_settings(), meant(key))]
    Key {
        /// What was typed.
        key: String,
    },
    /// A queue is neither packets nor bytes.
    #[error("`{text}` is not a queue; write `100pkt`, `64KB`, `1bdp` or `unlimited`")]
    Queue {
        /// What was typed.
        text: String,
    },
    /// A second profile, or one that is not in front.
    #[error("`{text}` stands where `key=value` should; the profile comes first and alone")]
    Misplaced {
        /// What was typed.
        text: String,
    },
}

impl NetworkSpec {
    /// The properties that can be given or varied.
    pub const KEYS: [&'static str; 5] = ["rtt", "down", "up", "loss", "queue"];

    /// Sets one property from what a person typed.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), NetworkError> {
        let wrong = |source| NetworkError::Value { key: key.to_owned(), source };
        let wrong_rate = |error: net::ValueError| NetworkError::Rate {
            key: key.to_owned(),
            why: error.to_string(),
        };
        match key {
            "rtt" => {
                let rtt = parse::duration(text).map_err(wrong)?;
                self.rtt_ns = Some(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX));
            }
            "down" => {
                let rate = net::parse_rate(net::Direction::Down, text).map_err(wrong_rate)?;
                self.down_bit_per_s = Some(rate.0);
            }
            "up" => {
                let rate = net::parse_rate(net::Direction::Up, text).map_err(wrong_rate)?;
                self.up_bit_per_s = Some(rate.0);
            }
            "loss" => self.loss_ratio = Some(parse::ratio(text).map_err(wrong)?),
            "queue" => self.queue = Some(Queue::parse(text)?),
            _ if net::is_setting(key) => {
                self.others.insert(key.to_owned(), text.to_owned());
            }
            _ => return Err(NetworkError::Key { key: key.to_owned() }),
        }
        Ok(())
    }

    /// Takes over what `properties` states.
    pub fn overlay(&mut self, properties: &NetworkSpec) {
        let NetworkSpec {
            base,
            base_digest,
            rtt_ns,
            down_bit_per_s,
            up_bit_per_s,
            loss_ratio,
            queue,
            others,
        } = properties;
        if base.is_some() {
            self.base.clone_from(base);
            self.base_digest.clone_from(base_digest);
        }
        self.rtt_ns = rtt_ns.or(self.rtt_ns);
        self.down_bit_per_s = down_bit_per_s.or(self.down_bit_per_s);
        self.up_bit_per_s = up_bit_per_s.or(self.up_bit_per_s);
        self.loss_ratio = loss_ratio.or(self.loss_ratio);
        self.queue = queue.or(self.queue);
        self.others.extend(others.clone());
    }

    /// Reads `PROFILE`, `key=value,...` or `PROFILE,key=value,...`.
    pub fn parse(text: &str) -> Result<NetworkSpec, NetworkError> {
        let mut spec = NetworkSpec::default();
        for (position, part) in text.split(',').map(str::trim).enumerate() {
            match part.split_once('=') {
                Some((key, value)) => spec.set(key.trim(), value.trim())?,
                None if position == 0 && !part.is_empty() => spec.base = Some(part.to_owned()),
                None => return Err(NetworkError::Misplaced { text: part.to_owned() }),
            }
        }
        Ok(spec)
    }
}

/// What an unknown property was probably meant to be, for messages.
fn meant(key: &str) -> String {
    net::nearest_setting(key).map_or_else(String::new, |key| format!(" (did you mean `{key}`?)"))
}

impl Queue {
    fn parse(text: &str) -> Result<Queue, NetworkError> {
        let wrong = || NetworkError::Queue { text: text.to_owned() };
        if text.trim() == "unlimited" {
            return Ok(Queue::Unlimited);
        }
        if let Some(number) = text.trim().strip_suffix("bdp") {
            let factor = number.trim().parse::<f64>().map_err(|_| wrong())?;
            return match factor {
                0.001..=1000.0 => Ok(Queue::BdpThousandths((factor * 1000.0).round() as u64)),
                _ => Err(wrong()),
            };
        }
        let packets = text.trim().strip_suffix("packets").or(text.trim().strip_suffix("pkt"));
        match packets {
            Some(number) => number.trim().parse().map(Queue::Packets).map_err(|_| wrong()),
            None => parse::size_bytes(text).map(Queue::Bytes).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Queue::Packets(n) => write!(f, "{n}pkt"),
            Queue::Bytes(n) => write!(f, "{n}B"),
            Queue::Unlimited => f.write_str("unlimited"),
            Queue::BdpThousandths(n) => write!(f, "{}bdp", *n as f64 / 1000.0),
        }
    }
}

/// The text that [`NetworkSpec::parse`] reads back to the same network.
impl fmt::Display for NetworkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.base.iter().cloned().collect();
        parts.extend(self.rtt_ns.map(|ns| format!("rtt={}", duration_text(ns))));
        parts.extend(self.down_bit_per_s.map(|rate| format!("down={}", rate_text(rate))));
        parts.extend(self.up_bit_per_s.map(|rate| format!("up={}", rate_text(rate))));
        parts.extend(self.loss_ratio.map(|ratio| format!("loss={ratio}")));
        parts.extend(self.queue.map(|queue| format!("queue={queue}")));
        parts.extend(self.others.iter().map(|(key, value)| format!("{key}={value}")));
        f.write_str(&parts.join(","))
    }
}

/// `ns` in the largest unit that leaves it whole.
pub(super) fn duration_text(ns: u64) -> String {
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)]
        .into_iter()
        .find(|(_, unit)| ns.is_multiple_of(*unit) && ns != 0)
        .map_or_else(|| format!("{ns}ns"), |(name, unit)| format!("{}{name}", ns / unit))
}

/// A rate in the largest unit that leaves it whole.
pub(super) fn rate_text(rate: u64) -> String {
    if rate == BitsPerSec::UNLIMITED.0 {
        return "unlimited".to_owned();
    }
    [("mbit", 1_000_000), ("kbit", 1_000)]
        .into_iter()
        .find(|(_, unit)| rate.is_multiple_of(*unit))
        .map_or_else(|| format!("{rate}bit"), |(name, unit)| format!("{}{name}", rate / unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_profile_a_link_or_a_changed_profile() {
        assert_eq!(NetworkSpec::parse("3g").unwrap().base.as_deref(), Some("3g"));
        let link = NetworkSpec::parse("rtt=0.1s, down=10 mbit,up=5mbit,loss=1%,queue=64pkt");
        assert_eq!(
            link.unwrap().to_string(),
            "rtt=100ms,down=10mbit,up=5mbit,loss=0.01,queue=64pkt"
        );
        let uneven = NetworkSpec::parse("cable,queue=unlimited,down.loss=1%").unwrap();
        assert_eq!(uneven.to_string(), "cable,queue=unlimited,down.loss=1%");
        let changed = NetworkSpec::parse("cable,rtt=600ms").unwrap();
        assert_eq!((changed.base.as_deref(), changed.rtt_ns), (Some("cable"), Some(600_000_000)));
    }

    #[test]
    fn refusals_name_the_property() {
        let message = |text| NetworkSpec::parse(text).unwrap_err().to_string();
        assert_eq!(
            message("rtt=100"),
            "network property `rtt`: `100` has no unit; write `100ms` (units: ns, us, ms, s, min, h)"
        );
        let unknown = message("delay=1ms");
        assert!(
            unknown
                .starts_with("unknown network property `delay`; known: rtt, down, up, trace, loss")
        );
        assert!(message("down.delya=1ms").ends_with("(did you mean `down.delay`?)"));
        assert!(message("hop.1.qeue=1pkt").ends_with("(did you mean `hop.1.queue`?)"));
        let managed = NetworkSpec::parse("cable,aqm=codel ecn,hop.1.rtt=20ms").unwrap();
        assert_eq!(managed.to_string(), "cable,aqm=codel ecn,hop.1.rtt=20ms");
        assert_eq!(
            message("queue=many"),
            "`many` is not a queue; write `100pkt`, `64KB`, `1bdp` or `unlimited`"
        );
        assert!(message("rtt=1ms,3g").contains("comes first"));
        assert!(message("").contains("key=value"));
    }

    proptest! {
        #[test]
        fn its_text_reads_back(
            base in proptest::option::of("[a-z0-9:-]{1,8}"),
            rtt_ns in 0u64..10_000_000_000,
            down in proptest::option::of(1u64..1_000_000_000_000),
            loss in proptest::option::of(0.0f64..=1.0),
            packets in proptest::option::of(0u64..1_000_000),
        ) {
            let spec = NetworkSpec {
                base,
                base_digest: None,
                rtt_ns: Some(rtt_ns),
                down_bit_per_s: down,
                up_bit_per_s: None,
                loss_ratio: loss,
                queue: packets.map(Queue::Packets),
                others: BTreeMap::new(),
            };
            prop_assert_eq!(NetworkSpec::parse(&spec.to_string()), Ok(spec));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = NetworkSpec::parse(&text);
        }
    }
}
