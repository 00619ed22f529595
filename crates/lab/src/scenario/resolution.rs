//! How the client finds the addresses of hosts.
//!
//! Its text is `off` - a hosts file, as in most studies - or `on`, or settings of DNS: `at=far-end,think=2ms,hit=80%,miss=60ms,ask=a,retry=glibc,prefetch=on`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::parse;

use super::network::duration_text;

/// How names become addresses.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Resolution {
    /// By a hosts file: at once, and without packets.
    #[default]
    Hosts,
    /// By DNS over the network.
    Dns(Dns),
}

/// DNS over the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Dns {
    /// Where the resolver is.
    pub at: ResolverPlace,
    /// What each of its answers takes, in nanoseconds.
    pub think_ns: u64,
    /// How probable it is that its cache holds a host's records when the client first asks for them.
    pub hit_ratio: f64,
    /// What it takes to get those that are not there, in nanoseconds.
    pub miss_ns: u64,
    /// What the client asks for.
    pub ask: Records,
    /// When it asks again.
    pub retry: RetryRule,
    /// Whether it asks for the hosts that the document names as soon as it sees them.
    pub prefetch: bool,
}

/// Where a resolver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolverPlace {
    /// At the far end of the first hop: the access network's own.
    FirstHop,
    /// As far away as the servers.
    FarEnd,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// IPv4 addresses.
    A,
    /// IPv4 and IPv6 addresses, of which there are none.
    AAndAaaa,
}

/// When a client asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryRule {
    /// Chrome's: after 1 s.
    Chrome,
    /// glibc's: after 5 s.
    Glibc,
}

impl Default for Dns {
    /// A resolver of the access network that everybody uses: it knows every name and answers within a millisecond. What a name takes that it does
    /// not know is a guess (of some servers to be asked, at 30 ms each).
    fn default() -> Dns {
        Dns {
            at: ResolverPlace::FirstHop,
            think_ns: 1_000_000,
            hit_ratio: 1.0,
            miss_ns: 100_000_000,
            ask: Records::AAndAaaa,
            retry: RetryRule::Chrome,
            prefetch: false,
        }
    }
}

/// A text that says nothing of how names become addresses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResolutionError {
    /// There is no such setting.
    #[error(
        "DNS has no setting `{name}`; there are `off`, `on`, and at, think, hit, miss, ask, retry and prefetch"
    )]
    Unknown {
        /// What was written.
        name: String,
    },
    /// A value that the setting does not take.
    #[error("DNS's `{key}` cannot be `{value}`: it takes {expected}")]
    BadValue {
        /// The setting.
        key: &'static str,
        /// What was written.
        value: String,
        /// What may be written.
        expected: String,
    },
    /// A setting is made twice.
    #[error("DNS's `{key}` is set twice; keep one")]
    Twice {
        /// The setting.
        key: String,
    },
}

const PLACES: [(&str, ResolverPlace); 2] =
    [("first-hop", ResolverPlace::FirstHop), ("far-end", ResolverPlace::FarEnd)];
const RECORDS: [(&str, Records); 2] = [("a", Records::A), ("a+aaaa", Records::AAndAaaa)];
const RULES: [(&str, RetryRule); 2] = [("chrome", RetryRule::Chrome), ("glibc", RetryRule::Glibc)];
const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];

/// Longer than any client waits.
const SPANS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);

fn one_of<T: Copy>(
    key: &'static str,
    value: &str,
    names: &[(&str, T)],
) -> Result<T, ResolutionError> {
    let named = names.iter().find(|(name, _)| *name == value);
    named.map(|(_, known)| *known).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        ResolutionError::BadValue { key, value: value.to_owned(), expected: names.join(" or ") }
    })
}

fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    let named = names.iter().find(|(_, known)| known == value);
    named.expect("every choice has a name").0
}

fn span(key: &'static str, value: &str) -> Result<u64, ResolutionError> {
    let read = parse::duration(value).ok().filter(|span| SPANS.contains(span));
    read.map(|span| span.as_nanos() as u64).ok_or_else(|| {
        let expected = "a time from 0ms to 60s".to_owned();
        ResolutionError::BadValue { key, value: value.to_owned(), expected }
    })
}

fn ratio(key: &'static str, value: &str) -> Result<f64, ResolutionError> {
    let read = parse::ratio(value).ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    read.ok_or_else(|| {
        let expected = "a share from 0% to 100%".to_owned();
        ResolutionError::BadValue { key, value: value.to_owned(), expected }
    })
}

impl Dns {
    fn set(&mut self, key: &str, value: &str) -> Result<(), ResolutionError> {
        match key {
            "at" => self.at = one_of("at", value, &PLACES)?,
            "think" => self.think_ns = span("think", value)?,
            "hit" => self.hit_ratio = ratio("hit", value)?,
            "miss" => self.miss_ns = span("miss", value)?,
            "ask" => self.ask = one_of("ask", value, &RECORDS)?,
            "retry" => self.retry = one_of("retry", value, &RULES)?,
            "prefetch" => self.prefetch = one_of("prefetch", value, &SWITCH)?,
            _ => return Err(ResolutionError::Unknown { name: key.to_owned() }),
        }
        Ok(())
    }
}

impl Resolution {
    /// Whether names cost nothing.
    pub fn is_by_hosts(&self) -> bool {
        *self == Resolution::Hosts
    }

    /// DNS's settings, if names are resolved by it.
    pub fn dns(&self) -> Option<&Dns> {
        match self {
            Resolution::Hosts => None,
            Resolution::Dns(dns) => Some(dns),
        }
    }
}

impl FromStr for Resolution {
    type Err = ResolutionError;

    fn from_str(text: &str) -> Result<Resolution, ResolutionError> {
        match text.trim() {
            "off" => return Ok(Resolution::Hosts),
            "on" => return Ok(Resolution::Dns(Dns::default())),
            _ => {}
        }
        let (mut dns, mut seen) = (Dns::default(), Vec::new());
        for item in text.split(',').map(str::trim) {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            let (key, value) = (key.trim(), value.trim());
            if seen.contains(&key) {
                return Err(ResolutionError::Twice { key: key.to_owned() });
            }
            dns.set(key, value)?;
            seen.push(key);
        }
        Ok(Resolution::Dns(dns))
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resolution::Hosts => f.write_str("off"),
            Resolution::Dns(dns) => dns.fmt(f),
        }
    }
}

impl fmt::Display for Dns {
    /// With all settings, so that the text means the same whatever the defaults become.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dns { at, think_ns, hit_ratio, miss_ns, ask, retry, prefetch } = self;
        let [at, ask] = [name_of(&PLACES, at), name_of(&RECORDS, ask)];
        let [retry, prefetch] = [name_of(&RULES, retry), name_of(&SWITCH, prefetch)];
        let [think, miss] = [think_ns, miss_ns].map(|ns| duration_text(*ns));
        let hit = hit_ratio * 100.0;
        write!(
            f,
            "at={at},think={think},hit={hit}%,miss={miss},ask={ask},retry={retry},prefetch={prefetch}"
        )
    }
}

impl Serialize for Resolution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Resolution {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Resolution, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back() {
        let text = |text: &str| text.parse::<Resolution>().unwrap().to_string();
        assert_eq!(text("off"), "off");
        let usual =
            "at=first-hop,think=1ms,hit=100%,miss=100ms,ask=a+aaaa,retry=chrome,prefetch=off";
        assert_eq!(text("on"), usual);
        assert_eq!(text(usual), usual);
        let other = "at=far-end,think=0ns,hit=62.5%,miss=60ms,ask=a,retry=glibc,prefetch=on";
        assert_eq!(text(other), other);
        let some = text("hit=80%, prefetch=on");
        assert!(some.contains("hit=80%") && some.ends_with("prefetch=on"), "{some}");
    }

    #[test]
    fn mistakes_are_named() {
        let refusal = |text: &str| text.parse::<Resolution>().unwrap_err().to_string();
        assert!(refusal("yes").starts_with("DNS has no setting `yes`"));
        assert_eq!(
            refusal("at=moon"),
            "DNS's `at` cannot be `moon`: it takes first-hop or far-end"
        );
        assert!(refusal("hit=120%").ends_with("it takes a share from 0% to 100%"));
        assert!(refusal("miss=2h").ends_with("it takes a time from 0ms to 60s"));
        assert_eq!(refusal("ask=a,ask=a"), "DNS's `ask` is set twice; keep one");
    }
}
