//! The hosts of a recorded load: names, addresses, ports, protocols, certificates.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use archive::{Exchange, RecordedCertificate, RecordedLoad};
use thiserror::Error;
use tls::Protocol;
use url::{Host, Url};

/// Protocol of a replay's servers under TLS. In the clear they speak HTTP/1.1, as browsers do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayProtocol {
    /// That of the recording, host by host.
    #[default]
    Recorded,
    /// HTTP/1.1.
    H1,
    /// HTTP/2; clients may fall back to HTTP/1.1.
    H2,
    /// HTTP/3; clients may fall back to HTTP/2 and HTTP/1.1.
    H3,
    /// SPDY/3.1; clients may fall back to HTTP/1.1.
    Spdy,
}

impl ReplayProtocol {
    /// All of them.
    pub const ALL: [ReplayProtocol; 5] = [
        ReplayProtocol::Recorded,
        ReplayProtocol::H1,
        ReplayProtocol::H2,
        ReplayProtocol::H3,
        ReplayProtocol::Spdy,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ReplayProtocol::Recorded => "recorded",
            ReplayProtocol::H1 => "h1",
            ReplayProtocol::H2 => "h2",
            ReplayProtocol::H3 => "h3",
            ReplayProtocol::Spdy => "spdy",
        }
    }
}

impl fmt::Display for ReplayProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ReplayProtocol {
    type Err = String;

    fn from_str(text: &str) -> Result<ReplayProtocol, String> {
        let found = ReplayProtocol::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| format!("`{text}` is none of recorded, h1, h2, h3, spdy"))
    }
}

/// A load that cannot be replayed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SiteError {
    /// It has no response.
    #[error("the recording has no response to replay")]
    Empty,
    /// Its URLs name an address that no packet leaves a machine for, or that no server can have.
    #[error(
        "the recording has requests to {0}, an address that cannot be replayed beyond a network; record the site under \
         a name: farlink record --connect-to NAME=ADDRESS:PORT http://NAME/"
    )]
    Address(String),
}

/// The hosts of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedSite {
    /// The hosts, in the order in which they were first asked.
    pub hosts: Vec<ReplayedHost>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedHost {
    /// Its name, in lower case.
    pub name: String,
    /// Its address: that of the recording if a server beyond a network may have it. Hosts with one address then have one now,
    /// unless they differ in a port's protocol.
    pub address: IpAddr,
    /// Its ports.
    pub ports: BTreeMap<u16, ReplayedPort>,
    /// The names of its certificate.
    pub certificate_names: Vec<String>,
    /// Bytes of its certificates, if known.
    pub chain_bytes: Option<usize>,
}

/// A port of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayedPort {
    /// HTTP/1.1 in the clear.
    Clear,
    /// TLS with these protocols.
    Secure {
        /// The best protocol over TCP; every server speaks HTTP/1.1, too.
        best: Protocol,
        /// True if it speaks HTTP/3 as well.
        has_h3: bool,
    },
}

impl ReplayedSite {
    /// The hosts of `load`.
    ///
    /// # Errors
    /// If it has none, or one at an address that cannot be replayed.
    pub fn of(load: &RecordedLoad, protocol: ReplayProtocol) -> Result<ReplayedSite, SiteError> {
        let mut hosts: Vec<RecordedHost> = Vec::new();
        for exchange in load.exchanges.iter().filter(|exchange| was_answered(exchange)) {
            let Ok(url) = Url::parse(&exchange.request.url) else { continue };
            let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
                continue;
            };
            let name = host.to_string().to_lowercase();
            let at = hosts.iter().position(|known| known.name == name).unwrap_or_else(|| {
                hosts.push(RecordedHost::new(name, &host));
                hosts.len() - 1
            });
            hosts[at].add(port, url.scheme() == "https", exchange);
        }
        if hosts.is_empty() {
            return Err(SiteError::Empty);
        }
        let mut addresses = Addresses::default();
        let hosts = hosts.into_iter().map(|host| {
            let ports = host.ports(protocol);
            let address = addresses.of(&host, &ports)?;
            let certificate = certificate(load, &host.name);
            let known = certificate.filter(|it| covers(&it.names, &host.name));
            let names = known.map(|it| it.names.clone());
            let bytes = certificate.map(|it| it.chain_bytes as usize).filter(|bytes| *bytes > 0);
            Ok(ReplayedHost {
                certificate_names: names.unwrap_or_else(|| vec![bare(&host.name).to_owned()]),
                chain_bytes: bytes,
                name: host.name,
                address,
                ports,
            })
        });
        Ok(ReplayedSite { hosts: hosts.collect::<Result<_, _>>()? })
    }

    /// The port of HTTP/3 where a URL leads to a host that speaks it.
    pub(crate) fn h3_port(&self, url: &str) -> Option<u16> {
        let url = Url::parse(url).ok()?;
        let (name, port) = (url.host_str()?.to_lowercase(), url.port_or_known_default()?);
        let host = self.hosts.iter().find(|host| host.name == name)?;
        let has_h3 =
            matches!(host.ports.get(&port), Some(ReplayedPort::Secure { has_h3: true, .. }));
        has_h3.then_some(port)
    }

    /// Names of the hosts that speak HTTP/3.
    pub fn h3_names(&self) -> impl Iterator<Item = &str> {
        let speaks = |host: &&ReplayedHost| {
            host.ports
                .values()
                .any(|port| matches!(port, ReplayedPort::Secure { has_h3: true, .. }))
        };
        self.hosts.iter().filter(speaks).map(|host| host.name.as_str())
    }
}

/// True for an exchange that a server answered: not a cache, nor the browser itself in its place (a redirect to https: of its own).
fn was_answered(exchange: &Exchange) -> bool {
    let is_own =
        |(name, _): &(String, String)| name.eq_ignore_ascii_case("non-authoritative-reason");
    let response = exchange.response.as_ref();
    !exchange.from_cache && response.is_some_and(|response| !response.fields.iter().any(is_own))
}

/// An IPv6 address without its brackets; a name as it is.
fn bare(name: &str) -> &str {
    name.trim_matches(['[', ']'])
}

fn certificate<'a>(load: &'a RecordedLoad, name: &str) -> Option<&'a RecordedCertificate> {
    load.certificates.iter().find(|certificate| {
        let host = certificate.host.rsplit_once(':').map_or(certificate.host.as_str(), |it| it.0);
        host.eq_ignore_ascii_case(name) || certificate.host.eq_ignore_ascii_case(name)
    })
}

fn covers(names: &[String], host: &str) -> bool {
    let wildcard = host.split_once('.').map(|(_, rest)| format!("*.{rest}"));
    names.iter().any(|name| name.eq_ignore_ascii_case(host) || Some(name) == wildcard.as_ref())
}

/// A host, as its exchanges tell it.
struct RecordedHost {
    name: String,
    /// The address that its URLs state in place of a name.
    literal: Option<IpAddr>,
    /// The address that answered.
    recorded: Option<IpAddr>,
    /// Protocols of each port.
    spoken: BTreeMap<u16, (bool, BTreeSet<String>)>,
}

impl RecordedHost {
    fn new(name: String, host: &Host<&str>) -> RecordedHost {
        let literal = match host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            Host::Ipv6(address) => Some(IpAddr::V6(*address)),
        };
        RecordedHost { name, literal, recorded: None, spoken: BTreeMap::new() }
    }

    fn add(&mut self, port: u16, is_secure: bool, exchange: &Exchange) {
        let Some(response) = &exchange.response else { return };
        let server = response.server.as_ref().and_then(|server| server.parse().ok());
        self.recorded = self.recorded.or(server);
        let spoken = self.spoken.entry(port).or_insert((is_secure, BTreeSet::new()));
        spoken.1.insert(response.protocol.clone());
    }

    /// Its ports, those of both schemes among them.
    fn ports(&self, protocol: ReplayProtocol) -> BTreeMap<u16, ReplayedPort> {
        let kind = |(is_secure, spoken): &(bool, BTreeSet<String>)| {
            let has = |start: &str| spoken.iter().any(|name| name.starts_with(start));
            let secure = |best, has_h3| ReplayedPort::Secure { best, has_h3 };
            let spdy = Protocol::Spdy(spdy::Version::V31);
            match protocol {
                _ if !is_secure => ReplayedPort::Clear,
                ReplayProtocol::H1 => secure(Protocol::H1, false),
                ReplayProtocol::H2 => secure(Protocol::H2, false),
                ReplayProtocol::H3 => secure(Protocol::H2, true),
                ReplayProtocol::Spdy => secure(spdy, false),
                ReplayProtocol::Recorded if has("h3") => secure(Protocol::H2, true),
                ReplayProtocol::Recorded if has("h2") => secure(Protocol::H2, false),
                ReplayProtocol::Recorded if has("spdy") => secure(spdy, false),
                ReplayProtocol::Recorded => secure(Protocol::H1, false),
            }
        };
        let mut ports: BTreeMap<u16, ReplayedPort> =
            self.spoken.iter().map(|(port, spoken)| (*port, kind(spoken))).collect();
        // Browsers try the other scheme: they upgrade the requests of secure pages.
        let usual = (true, BTreeSet::from(["h2".to_owned()]));
        ports.entry(80).or_insert(ReplayedPort::Clear);
        ports.entry(443).or_insert_with(|| kind(&usual));
        ports
    }
}

/// Addresses given so far: the ports in use, and the recorded address of their hosts.
#[derive(Default)]
struct Addresses {
    given: BTreeMap<IpAddr, (Option<IpAddr>, BTreeMap<u16, ReplayedPort>)>,
    allotted: u32,
}

impl Addresses {
    fn of(
        &mut self,
        host: &RecordedHost,
        ports: &BTreeMap<u16, ReplayedPort>,
    ) -> Result<IpAddr, SiteError> {
        if let Some(literal) = host.literal {
            if !is_usable(literal) {
                return Err(SiteError::Address(host.name.clone()));
            }
            return Ok(self.give(literal, Some(literal), ports));
        }
        let agrees = |used: &BTreeMap<u16, ReplayedPort>| {
            ports.iter().all(|(port, kind)| used.get(port).is_none_or(|other| other == kind))
        };
        let mut given = self.given.iter();
        let shared = given.find(|(_, (recorded, used))| {
            recorded.is_some() && *recorded == host.recorded && agrees(used)
        });
        let shared = shared.map(|(address, _)| *address);
        let own = host.recorded.filter(|it| is_usable(*it) && !self.given.contains_key(it));
        let address = shared.or(own).unwrap_or_else(|| self.allot());
        Ok(self.give(address, host.recorded, ports))
    }

    fn give(
        &mut self,
        address: IpAddr,
        recorded: Option<IpAddr>,
        ports: &BTreeMap<u16, ReplayedPort>,
    ) -> IpAddr {
        let entry = self.given.entry(address).or_insert((recorded, BTreeMap::new()));
        entry.1.extend(ports.iter().map(|(port, kind)| (*port, *kind)));
        address
    }

    /// 10.1.0.1, 10.1.0.2 and so on: the server's side of an emulated network.
    fn allot(&mut self) -> IpAddr {
        loop {
            self.allotted += 1;
            let address =
                IpAddr::V4(Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 1, 0, 0)) + self.allotted));
            if !self.given.contains_key(&address) {
                return address;
            }
        }
    }
}

/// True if a server behind an emulated network may have this address: unicast, and not of the network's own wire.
fn is_usable(address: IpAddr) -> bool {
    let IpAddr::V4(address) = address else { return false };
    let is_of_wire = address.octets()[..2] == [10, 0];
    let is_special = address.is_loopback() || address.is_multicast() || address.is_broadcast();
    !(is_of_wire
        || is_special
        || address.is_link_local()
        || address.octets()[0] == 0
        || address.octets()[0] >= 240)
}

#[cfg(test)]
mod tests {
    use archive::{RecordedRequest, RecordedResponse};

    use super::*;

    fn exchange(url: &str, protocol: &str, server: Option<&str>) -> Exchange {
        let response = RecordedResponse {
            protocol: protocol.to_owned(),
            server: server.map(str::to_owned),
            ..RecordedResponse::default()
        };
        let request = RecordedRequest { url: url.to_owned(), ..RecordedRequest::default() };
        Exchange { request, response: Some(response), ..Exchange::default() }
    }

    fn load(exchanges: &[(&str, &str, Option<&str>)]) -> RecordedLoad {
        let exchanges =
            exchanges.iter().map(|(url, protocol, server)| exchange(url, protocol, *server));
        RecordedLoad { exchanges: exchanges.collect(), ..RecordedLoad::default() }
    }

    fn addresses(exchanges: &[(&str, &str, Option<&str>)]) -> Vec<String> {
        let site = ReplayedSite::of(&load(exchanges), ReplayProtocol::Recorded).unwrap();
        site.hosts.iter().map(|host| host.address.to_string()).collect()
    }

    #[test]
    fn addresses_are_those_of_the_recording_where_they_can_be() {
        let one = Some("192.0.2.1");
        assert_eq!(
            addresses(&[
                ("https://a.test/", "h2", one),
                ("https://b.test/", "h2", one),
                ("https://c.test/", "http/1.1", one),
                ("https://d.test/", "h2", Some("127.0.0.1")),
                ("http://e.test:8080/", "http/1.1", None),
                ("http://e.test/", "http/1.1", Some("2001:db8::1")),
                ("http://198.51.100.7/", "http/1.1", None),
            ]),
            ["192.0.2.1", "192.0.2.1", "10.1.0.1", "10.1.0.2", "10.1.0.3", "198.51.100.7"],
            "a host of another protocol has another address"
        );
    }

    #[test]
    fn addresses_that_stay_in_a_machine_are_refused() {
        for (url, name) in [("http://127.0.0.1:8080/", "127.0.0.1"), ("http://[::1]/", "[::1]")] {
            let load = load(&[(url, "http/1.1", None)]);
            let refused = ReplayedSite::of(&load, ReplayProtocol::Recorded);
            assert_eq!(refused, Err(SiteError::Address(name.to_owned())));
        }
        assert_eq!(ReplayedSite::of(&load(&[]), ReplayProtocol::H1), Err(SiteError::Empty));
    }

    #[test]
    fn protocols_are_recorded_or_chosen() {
        let load = load(&[
            ("https://a.test/", "h2", None),
            ("https://a.test/2", "h3", None),
            ("http://a.test/", "http/1.1", None),
        ]);
        let secure = |protocol| ReplayedSite::of(&load, protocol).unwrap().hosts[0].ports[&443];
        let kind = |best, has_h3| ReplayedPort::Secure { best, has_h3 };
        assert_eq!(secure(ReplayProtocol::Recorded), kind(Protocol::H2, true));
        assert_eq!(secure(ReplayProtocol::H1), kind(Protocol::H1, false));
        let site = ReplayedSite::of(&load, ReplayProtocol::H3).unwrap();
        assert_eq!(site.hosts[0].ports[&80], ReplayedPort::Clear);
        assert_eq!(site.h3_names().collect::<Vec<_>>(), ["a.test"]);
        assert_eq!(site.hosts[0].ports.keys().collect::<Vec<_>>(), [&80, &443]);
    }

    #[test]
    fn certificates_hold_for_the_recorded_names() {
        let mut load = load(&[("https://x.a.test/", "h2", None), ("https://b.test/", "h2", None)]);
        let certificate = |host: &str, names: &[&str]| RecordedCertificate {
            host: host.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            chain_bytes: 3_000,
        };
        load.certificates = vec![
            certificate("x.a.test", &["a.test", "*.a.test"]),
            certificate("b.test", &["c.test"]),
        ];
        let site = ReplayedSite::of(&load, ReplayProtocol::H2).unwrap();
        assert_eq!(site.hosts[0].certificate_names, ["a.test", "*.a.test"]);
        assert_eq!(site.hosts[0].chain_bytes, Some(3_000));
        assert_eq!(site.hosts[1].certificate_names, ["b.test"]);
    }

    #[test]
    fn what_no_server_answered_is_left_out() {
        let mut own = exchange("http://a.test/", "http/1.1", None);
        let field = ("Non-Authoritative-Reason".to_owned(), "HSTS".to_owned());
        own.response.as_mut().unwrap().fields.push(field);
        let load = RecordedLoad {
            exchanges: vec![own, exchange("https://a.test/", "h2", None)],
            ..RecordedLoad::default()
        };
        let site = ReplayedSite::of(&load, ReplayProtocol::Recorded).unwrap();
        assert_eq!(site.hosts.len(), 1);
        let only_own = RecordedLoad { exchanges: load.exchanges[..1].to_vec(), ..load };
        let refused = ReplayedSite::of(&only_own, ReplayProtocol::Recorded);
        assert_eq!(refused, Err(SiteError::Empty));
    }
}
