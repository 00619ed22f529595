//! The servers of a page: their round-trip times as recorded, protocols, TLS.

use std::time::Duration;

use super::entry::Entry;
use crate::{Estimate, Host, HostId, Provenance};

/// The hosts of a page and each one's recorded round-trip time.
pub(super) struct Hosts {
    names: Vec<String>,
    round_trips: Vec<Option<i64>>,
    /// Stands in for a host that no entry connected to.
    fallback: i64,
    protocols: Vec<Option<String>>,
    tls: Vec<bool>,
}

impl Hosts {
    /// The hosts of `entries` in the order in which they first occur.
    pub fn of(entries: &[&Entry]) -> Hosts {
        let mut hosts = Hosts {
            names: Vec::new(),
            round_trips: Vec::new(),
            fallback: 0,
            protocols: Vec::new(),
            tls: Vec::new(),
        };
        for entry in entries {
            hosts.add(entry);
        }
        let nearest = hosts.round_trips.iter().flatten().min().copied();
        let quickest = entries.iter().filter_map(|e| e.timings.wait).filter(|w| *w > 0).min();
        hosts.fallback = nearest.or(quickest).unwrap_or(0);
        hosts
    }

    fn add(&mut self, entry: &Entry) {
        let name = host_name(entry);
        let at = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.round_trips.push(None);
            self.protocols.push(None);
            self.tls.push(false);
            self.names.len() - 1
        });
        let measured = round_trip(entry);
        self.round_trips[at] = match (self.round_trips[at], measured) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let protocol = protocol(&entry.response_version);
        // The first exchange with a server may still be on an older protocol (an upgrade by Alt-Svc,
        // or by ALPN after a redirect from http:); the newest seen is what it speaks. Their names
        // sort by age: h1, h2, h3, spdy; a server of SPDY's years had nothing newer.
        self.protocols[at] = self.protocols[at].take().max(protocol);
        self.tls[at] |= entry.url.as_ref().is_some_and(|url| url.scheme() == "https");
    }

    /// The host that serves `entry`.
    pub fn id(&self, entry: &Entry) -> HostId {
        let name = host_name(entry);
        let at = self.names.iter().position(|known| known == name);
        HostId(at.expect("every kept entry's host was added") as u32)
    }

    /// The recorded round trip to a host: the shortest TCP handshake with it, or an estimate.
    pub fn round_trip(&self, host: HostId) -> (i64, Provenance) {
        match self.round_trips[host.0 as usize] {
            Some(measured) => (measured, Provenance::Measured),
            None => (self.fallback, Provenance::Inferred),
        }
    }

    /// How many hosts have a measured round trip.
    pub fn measured(&self) -> usize {
        self.round_trips.iter().flatten().count()
    }

    /// The hosts as the page lists them.
    pub fn into_hosts(self) -> Vec<Host> {
        let nearest = self.round_trips.iter().flatten().min().copied().unwrap_or(0);
        let extra = |round_trip: Option<i64>| match round_trip {
            Some(own) => Estimate::measured(Duration::from_micros((own - nearest) as u64)),
            None => Estimate::defaulted(Duration::ZERO),
        };
        let rest = self.round_trips.into_iter().zip(self.protocols).zip(self.tls);
        self.names
            .into_iter()
            .zip(rest)
            .map(|(name, ((round_trip, recorded_protocol), recorded_tls))| Host {
                name,
                extra_rtt: extra(round_trip),
                recorded_protocol,
                recorded_tls,
            })
            .collect()
    }
}

fn host_name(entry: &Entry) -> &str {
    entry.url.as_ref().and_then(|url| url.host_str()).unwrap_or_default()
}

/// One round trip to the entry's host, if the entry opened a connection.
///
/// TCP's handshake is one (RFC 9293 section 3.5). QUIC's is one as well, but tools write it as TLS.
fn round_trip(entry: &Entry) -> Option<i64> {
    let timings = &entry.timings;
    let span = match is_quic(&entry.response_version) {
        true => timings.tls.max(timings.connect),
        false => timings.connect,
    };
    span.filter(|span| *span > 0)
}

fn is_quic(version: &str) -> bool {
    version.contains("h3") || version.contains("quic") || version.contains("http/3")
}

/// A tool's word for the protocol as ours: `h1`, `h2`, `h3`, `spdy`; `None` where it says nothing.
///
/// A bare `spdy` is HTTP/2: Chrome called it so in its HARs until 2018, two years after SPDY had
/// left it. WebPageTest before 2017 wrote `1.1` for HTTP/2 and SPDY too; that cannot be told.
fn protocol(version: &str) -> Option<String> {
    let version = version.trim();
    let name = match version {
        _ if is_quic(version) => "h3",
        "h2" | "spdy" | "http/2" => "h2",
        _ if version.contains("http/2") || version.contains("h2-") => "h2",
        _ if version.starts_with("spdy/") => "spdy",
        _ if version.ends_with("1.1") || version.ends_with("1.0") => "h1",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tools_word_for_a_protocol_is_known() {
        let names = |words: &[&str], name: Option<&str>| {
            for word in words {
                assert_eq!(protocol(word).as_deref(), name, "{word}");
            }
        };
        names(&["http/1.1", "http/1.0", "1.1", "1.0"], Some("h1"));
        names(&["h2", "http/2", "http/2.0", "spdy"], Some("h2"));
        names(&["h3", "h3-q050", "h3-29", "http/3", "http/2.0+quic/46"], Some("h3"));
        names(&["spdy/3.1"], Some("spdy"));
        names(&["", "unknown", "?", "2 2", "me:"], None);
    }
}
