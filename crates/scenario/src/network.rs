//! A scenario's network specification: a named profile, single properties, or a profile changed by properties.
//!
//! This is the *specification*; the `net` crate resolves the named profile. Quantities are kept as numbers so
//! that `100ms` and `0.1s` are one cell and a report can draw an axis.

use std::collections::BTreeMap;
use std::fmt;

use net::{
    Description, Direction, NetworkSpecError, QueueLimit, QueueSetting, SettingOrigin, ValueError,
};
use serde::{Deserialize, Serialize};
use units::{BitsPerSec, parse};

/// A network by profile, by properties, or both; a property replaces the profile's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkSpec {
    /// A profile's name or a link file.
    pub base: Option<String>,
    /// Digest of all files that the network is read from - the one that `base` names, traces, lists of losses
    /// -, so that a changed file is another cell. `None` if there are none.
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
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(u64),
    /// No limit: nothing is dropped.
    Unlimited,
    /// Thousandths of the bottleneck's bandwidth-delay product.
    BdpThousandths(u64),
}

impl NetworkSpec {
    /// The properties that can be given or varied.
    pub const KEYS: [&'static str; 5] = ["rtt", "down", "up", "loss", "queue"];

    /// Reads one property.
    pub fn property(key: &str, text: &str) -> Result<NetworkSpec, NetworkSpecError> {
        Description::of_setting(key, text)?.try_into()
    }

    /// Overwrites with the properties that are set.
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
    pub fn parse(text: &str) -> Result<NetworkSpec, NetworkSpecError> {
        Description::parse(text)?.try_into()
    }

    /// Stores one property as a number if it has a field.
    fn put(&mut self, key: &str, value: &str) -> Result<(), ValueError> {
        match key {
            "rtt" => self.rtt_ns = Some(net::parse_rtt(value)?.as_nanos() as u64),
            "down" => self.down_bit_per_s = Some(net::parse_rate(Direction::Down, value)?.0),
            "up" => self.up_bit_per_s = Some(net::parse_rate(Direction::Up, value)?.0),
            "loss" => self.loss_ratio = Some(parse::ratio(value)?),
            "queue" => self.queue = Some(QueueSetting::parse(value)?.into()),
            _ => drop(self.others.insert(key.to_owned(), value.to_owned())),
        }
        Ok(())
    }
}

impl TryFrom<Description> for NetworkSpec {
    type Error = NetworkSpecError;

    fn try_from(described: Description) -> Result<NetworkSpec, NetworkSpecError> {
        let base = described.base().map(str::to_owned);
        let mut spec = NetworkSpec { base, ..NetworkSpec::default() };
        for (key, value) in described.settings() {
            spec.put(key, value).map_err(|reason| NetworkSpecError::BadValue {
                place: SettingOrigin::Typed,
                key: key.to_owned(),
                reason: Box::new(reason),
            })?;
        }
        Ok(spec)
    }
}

impl From<QueueSetting> for Queue {
    fn from(typed: QueueSetting) -> Queue {
        match typed {
            QueueSetting::Limit(QueueLimit::Packets(n)) => Queue::Packets(u64::from(n)),
            QueueSetting::Limit(QueueLimit::Bytes(n)) => Queue::Bytes(n),
            QueueSetting::Limit(QueueLimit::Unlimited) => Queue::Unlimited,
            QueueSetting::Bdp(factor) => Queue::BdpThousandths((factor * 1000.0).round() as u64),
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
        parts.extend(self.loss_ratio.map(|ratio| format!("loss={}", parse::ratio_text(ratio))));
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
    fn refusals_are_those_of_networks() {
        let wrong = [
            "rtt=100",
            "delay=1ms",
            "down.delya=1ms",
            "hop.1.qeue=1pkt",
            "queue=many",
            "queue=2bdp,queue=3bdp",
            "rtt=1ms,3g",
            "",
            "rtt=1ms,rtt=2ms",
            "cable,loss=1%,loss=50%",
            "cable,down.loss=1%,down.loss=2%",
            "loss=1",
            "down=lte:3",
        ];
        for text in wrong {
            let message = NetworkSpec::parse(text).unwrap_err().to_string();
            assert_eq!(message, net::Network::parse(text).unwrap_err().to_string(), "{text}");
        }
        for text in ["cable,queue=1BDP", "cable,queue=Unlimited", "cable, queue = 64PKT"] {
            let spec = NetworkSpec::parse(text).unwrap();
            let read = net::Network::parse(text).unwrap();
            let again = net::Network::parse(&spec.to_string()).unwrap();
            assert_eq!((read.up, read.down), (again.up, again.down), "{text}");
        }
        let managed = NetworkSpec::parse("cable,aqm=codel ecn,hop.1.rtt=20ms").unwrap();
        assert_eq!(managed.to_string(), "cable,aqm=codel ecn,hop.1.rtt=20ms");
        let all = NetworkSpec::parse("cable,loss=100%").unwrap();
        assert_eq!(all.to_string(), "cable,loss=100%");
    }

    proptest! {
        #[test]
        fn its_text_reads_back(
            base in proptest::option::of("[a-z0-9:-]{1,8}"),
            rtt_ns in 0u64..1_000_000_000,
            down in proptest::option::of(1u64..1_000_000_000_000),
            loss in proptest::option::of(0.0f64..=1.0),
            packets in proptest::option::of(1u64..1_000_000),
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
            prop_assert_eq!(NetworkSpec::parse(&spec.to_string()).unwrap(), spec);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = NetworkSpec::parse(&text);
        }
    }
}
