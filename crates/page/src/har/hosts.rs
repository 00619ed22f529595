//! Servers of a page: their recorded round-trip times, protocols, TLS.

use std::time::Duration;

use super::entry::HarEntry;
use crate::{HostId, PageHost, Provenance, SizeEstimate};

/// Hosts of a page and the recorded round-trip time of each.
pub(super) struct Hosts {
    known: Vec<HostFacts>,
    /// Round-trip time for a host that no entry connected to.
    fallback: i64,
    /// True if the page's document is reached over TLS.
    secure: bool,
}

/// Facts about a host from the entries so far.
struct HostFacts {
    origin: HostKey,
    round_trip: Option<i64>,
    protocol: Option<String>,
    tls: bool,
}

/// Key that distinguishes hosts.
#[derive(PartialEq)]
struct HostKey {
    name: String,
    port: Option<u16>,
    in_clear: bool,
}

impl Hosts {
    /// Hosts of `entries` in the order in which they first occur. `document` is the page's, after redirects.
    pub fn of(entries: &[&HarEntry], document: usize) -> Hosts {
        let secure = entries.get(document).is_some_and(|entry| is_secure(entry));
        let mut hosts = Hosts { known: Vec::new(), fallback: 0, secure };
        for entry in entries {
            hosts.add(entry);
        }
        let quickest = entries.iter().filter_map(|e| e.timings.wait).filter(|w| *w > 0).min();
        hosts.fallback = hosts.nearest().or(quickest).unwrap_or(0);
        hosts
    }

    fn add(&mut self, entry: &HarEntry) {
        let origin = self.origin(entry);
        let at = self.known.iter().position(|known| known.origin == origin).unwrap_or_else(|| {
            let known =
                HostFacts { origin, round_trip: None, protocol: None, tls: is_secure(entry) };
            self.known.push(known);
            self.known.len() - 1
        });
        let known = &mut self.known[at];
        known.round_trip = match (known.round_trip, handshake(entry)) {
            (Some(known), Some(later)) if later >= known * LEAST_PERCENT / 100 => {
                Some(known.min(later))
            }
            (known, later) => known.or(later),
        };
        let protocol = protocol(&entry.response_version);
        // The first exchange with a server may still use an older protocol (an upgrade by Alt-Svc, or by ALPN after a
        // redirect from http:), so the newest one seen counts. Their names sort by age: h1, h2, h3, spdy; a server of
        // SPDY's years had nothing newer.
        known.protocol = known.protocol.take().max(protocol);
        known.tls |= is_secure(entry);
    }

    /// Origin that serves `entry`. If the page's document is `http:`, schemes do not distinguish hosts, since all of
    /// it is loaded with or without TLS, depending on the arm.
    fn origin(&self, entry: &HarEntry) -> HostKey {
        let url = entry.url.as_ref();
        HostKey {
            name: url.and_then(|url| url.host_str()).unwrap_or_default().to_owned(),
            port: url.and_then(|url| url.port()),
            in_clear: self.secure && !is_secure(entry),
        }
    }

    /// Host that serves `entry`.
    pub fn id(&self, entry: &HarEntry) -> HostId {
        let origin = self.origin(entry);
        let at = self.known.iter().position(|known| known.origin == origin);
        HostId(at.expect("every kept entry's host was added") as u32)
    }

    /// Recorded round trip to a host: the shortest TCP handshake with its machine, or an estimate.
    pub fn round_trip(&self, host: HostId) -> (i64, Provenance) {
        match self.measured_to(&self.known[host.0 as usize].origin.name) {
            Some(measured) => (measured, Provenance::Measured),
            None => (self.fallback, Provenance::Inferred),
        }
    }

    fn measured_to(&self, name: &str) -> Option<i64> {
        let ports = self.known.iter().filter(|known| known.origin.name == name);
        ports.filter_map(|known| known.round_trip).min()
    }

    fn nearest(&self) -> Option<i64> {
        self.known.iter().filter_map(|known| known.round_trip).min()
    }

    /// Number of hosts with a measured round trip.
    pub fn measured(&self) -> usize {
        self.known.iter().filter(|known| self.measured_to(&known.origin.name).is_some()).count()
    }

    /// Hosts as listed in the page.
    pub fn into_hosts(self) -> Vec<PageHost> {
        let nearest = self.nearest().unwrap_or(0);
        let host = |known: &HostFacts| PageHost {
            name: known.origin.name.clone(),
            port: known.origin.port,
            in_clear: known.origin.in_clear,
            extra_rtt: match self.measured_to(&known.origin.name) {
                Some(own) => SizeEstimate::measured(Duration::from_micros((own - nearest) as u64)),
                None => SizeEstimate::defaulted(Duration::ZERO),
            },
            recorded_protocol: known.protocol.clone(),
            recorded_tls: known.tls,
        };
        self.known.iter().map(host).collect()
    }
}

fn is_secure(entry: &HarEntry) -> bool {
    entry.url.as_ref().is_some_and(|url| url.scheme() == "https")
}

/// A later handshake shorter than this share of the first one is a part of a handshake: browsers count only what was
/// left when the object was discovered, of a connection that was begun for another one.
const LEAST_PERCENT: i64 = 60;

/// One round trip to the entry's host, if the entry opened a connection.
///
/// TCP's handshake is one (RFC 9293 section 3.5). QUIC's is one as well, but tools write it as TLS.
pub(super) fn handshake(entry: &HarEntry) -> Option<i64> {
    let timings = &entry.timings;
    let span = match is_quic(&entry.response_version) {
        true => timings.tls.max(timings.connect),
        false => timings.connect,
    };
    span.filter(|span| *span > 0)
}

/// True if a tool names QUIC as the protocol.
pub(super) fn is_quic(version: &str) -> bool {
    version.contains("h3") || version.contains("quic") || version.contains("http/3")
}

/// Normalises a tool's name of the protocol: `h1`, `h2`, `h3`, `spdy`; `None` if it is unknown.
///
/// A bare `spdy` is HTTP/2: Chrome used that name in its HARs until 2018, two years after it had dropped SPDY.
/// WebPageTest before 2017 wrote `1.1` for HTTP/2 and SPDY too, which cannot be distinguished.
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
