//! Resolution of host names by the client.
//!
//! Its text is `off` - a hosts file, as in most studies - or `on`, or settings of DNS:
//! `at=far-end,think=2ms,hit=80%,miss=60ms,ask=a,retry=glibc,prefetch=on`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::parse;

use super::knobs::{self, KnobError, KnobProblem, Knobs, name_of, on_or_off, one_of, switch};
use super::network::duration_text;

/// Source of hosts' addresses.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Resolution {
    /// A hosts file: at once, and without packets.
    #[default]
    Hosts,
    /// DNS over the network.
    Dns(Dns),
}

/// DNS over the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Dns {
    /// Place of the resolver.
    pub at: ResolverPlace,
    /// Time to each of its answers, in nanoseconds.
    pub think_ns: u64,
    /// Probability that its cache holds a host's records when the client first asks for them.
    pub hit_ratio: f64,
    /// Time to fetch records that are not cached, in nanoseconds.
    pub miss_ns: u64,
    /// Record types that the client asks for.
    pub ask: Records,
    /// Retransmission rule of the client.
    pub retry: RetryRule,
    /// True if the client resolves the hosts that the document names as soon as it sees them.
    pub prefetch: bool,
}

/// Place of a resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolverPlace {
    /// At the far end of the first hop: the access network's own.
    FirstHop,
    /// As far away as the servers.
    FarEnd,
}

/// Record types that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Records {
    /// IPv4 addresses.
    A,
    /// IPv4 and IPv6 addresses, of which there are none.
    AAndAaaa,
}

/// Retransmission timeout of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryRule {
    /// Chrome's: after 1 s.
    Chrome,
    /// glibc's: after 5 s.
    Glibc,
}

impl Default for Dns {
    /// A popular resolver of the access network: it has every name cached and answers within a millisecond. The
    /// time of a cache miss is a guess (several servers to ask, at 30 ms each).
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

const PLACES: [(&str, ResolverPlace); 2] =
    [("first-hop", ResolverPlace::FirstHop), ("far-end", ResolverPlace::FarEnd)];
const RECORDS: [(&str, Records); 2] = [("a", Records::A), ("a+aaaa", Records::AAndAaaa)];
const RULES: [(&str, RetryRule); 2] = [("chrome", RetryRule::Chrome), ("glibc", RetryRule::Glibc)];

/// Upper limit: longer than any client waits.
const SPANS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);

fn span(value: &str) -> Result<u64, KnobProblem> {
    let read = parse::duration(value).ok().filter(|span| SPANS.contains(span));
    let nanos = read.map(|span| span.as_nanos() as u64);
    nanos.ok_or(KnobProblem::Expected("a time of 0ms to 60s"))
}

fn ratio(value: &str) -> Result<f64, KnobProblem> {
    let read = parse::ratio(value).ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    read.ok_or(KnobProblem::Expected("a share of 0% to 100%"))
}

impl Knobs for Dns {
    const ONE: &'static str = "DNS setting";
    const ALL: &'static str = "`off`, `on`, and at, think, hit, miss, ask, retry and prefetch";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match knob {
            "at" => self.at = one_of(value, &PLACES, "first-hop or far-end")?,
            "think" => self.think_ns = span(value)?,
            "hit" => self.hit_ratio = ratio(value)?,
            "miss" => self.miss_ns = span(value)?,
            "ask" => self.ask = one_of(value, &RECORDS, "a or a+aaaa")?,
            "retry" => self.retry = one_of(value, &RULES, "chrome or glibc")?,
            "prefetch" => self.prefetch = on_or_off(value)?,
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }
}

impl Resolution {
    /// True if names cost nothing.
    pub fn is_by_hosts(&self) -> bool {
        *self == Resolution::Hosts
    }

    /// Settings of DNS, if names are resolved by it.
    pub fn dns(&self) -> Option<&Dns> {
        match self {
            Resolution::Hosts => None,
            Resolution::Dns(dns) => Some(dns),
        }
    }
}

impl FromStr for Resolution {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Resolution, KnobError> {
        match text.trim() {
            "off" => Ok(Resolution::Hosts),
            "on" => Ok(Resolution::Dns(Dns::default())),
            settings => knobs::parse(settings).map(Resolution::Dns),
        }
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
    /// With all settings, so that the text keeps its meaning if defaults change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dns { at, think_ns, hit_ratio, miss_ns, ask, retry, prefetch } = self;
        let [at, ask] = [name_of(&PLACES, at), name_of(&RECORDS, ask)];
        let (retry, prefetch) = (name_of(&RULES, retry), switch(*prefetch));
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
        assert!(
            refusal("yes").starts_with("no DNS setting is called `yes`; there are `off`, `on`")
        );
        assert_eq!(
            refusal("at=moon"),
            "the DNS setting `at` cannot be `moon`: it takes first-hop or far-end"
        );
        assert!(refusal("hit=120%").ends_with("it takes a share of 0% to 100%"));
        assert!(refusal("miss=2h").ends_with("it takes a time of 0ms to 60s"));
        assert_eq!(refusal("ask=a,ask=a"), "the DNS setting `ask` is set twice; keep one");
    }
}
