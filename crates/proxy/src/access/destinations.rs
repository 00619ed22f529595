//! Destinations that clients may reach through a forward proxy.
//!
//! Ports are judged by the request, addresses after name resolution: the connection goes to the very address that was judged,
//! so a name that resolves differently the next time (DNS rebinding) gains nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use ipnet::IpNet;
use thiserror::Error;

/// Rules for destinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations {
    /// Ports allowed for requests over HTTP.
    pub ports: PortSet,
    /// Ports allowed for tunnels.
    pub tunnel_ports: PortSet,
    /// Allowed networks among those with a special purpose (private, loopback, ...).
    pub networks: Vec<IpNet>,
    /// Hosts allowed; empty for any. A name that begins with a dot means all names below it.
    pub only_hosts: Vec<String>,
    /// Hosts forbidden.
    pub never_hosts: Vec<String>,
}

impl Default for Destinations {
    fn default() -> Destinations {
        Destinations {
            ports: PortSet::of_the_web(),
            tunnel_ports: PortSet::only(443),
            networks: Vec::new(),
            only_hosts: Vec::new(),
            never_hosts: Vec::new(),
        }
    }
}

impl Destinations {
    /// All destinations: for a proxy with trusted clients, as in a simulated world.
    pub fn anything() -> Destinations {
        let any = [(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)];
        let networks = any.map(|(address, prefix)| IpNet::new_assert(address, prefix));
        Destinations {
            ports: PortSet::any(),
            tunnel_ports: PortSet::any(),
            networks: networks.to_vec(),
            ..Destinations::default()
        }
    }
}

/// Reason for refusing a destination.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DestinationError {
    /// The port is not allowed.
    #[error("port {port} is not allowed: see the proxy's setting `{setting}`")]
    Port {
        /// The port.
        port: u16,
        /// The setting that would allow it.
        setting: &'static str,
    },
    /// The host is not among those allowed, or is forbidden.
    #[error("this host is not allowed here")]
    Host,
    /// The address is not that of an ordinary internet host.
    #[error("the address is {}, which is not allowed here", .0.name())]
    Address(SpecialPurpose),
}

impl Destinations {
    /// Judges a request over HTTP to `port` of `host`.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn judge_request(&self, host: &str, port: u16) -> Result<(), DestinationError> {
        judge_port(&self.ports, "forward.ports", port).and_then(|()| self.judge_host(host))
    }

    /// Judges a tunnel to `port` of `host`.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn judge_tunnel(&self, host: &str, port: u16) -> Result<(), DestinationError> {
        judge_port(&self.tunnel_ports, "forward.tunnel_ports", port)
            .and_then(|()| self.judge_host(host))
    }

    /// Judges a connection to `address`.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn judge_address(&self, address: IpAddr) -> Result<(), DestinationError> {
        let Some(purpose) = special_purpose(address) else { return Ok(()) };
        match within(&self.networks, address) {
            true => Ok(()),
            false => Err(DestinationError::Address(purpose)),
        }
    }

    fn judge_host(&self, host: &str) -> Result<(), DestinationError> {
        let is_among = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, host));
        let is_missing = !self.only_hosts.is_empty() && !is_among(&self.only_hosts);
        if is_missing || is_among(&self.never_hosts) { Err(DestinationError::Host) } else { Ok(()) }
    }
}

fn judge_port(ports: &PortSet, setting: &'static str, port: u16) -> Result<(), DestinationError> {
    if ports.contains(port) { Ok(()) } else { Err(DestinationError::Port { port, setting }) }
}

/// Returns true if `host` matches `pattern`: the same name, or any name below one that begins with a dot. A trailing dot only
/// marks a name as fully qualified (RFC 1034 section 3.1).
pub(crate) fn matches(pattern: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    match pattern.strip_prefix('.') {
        None => host.eq_ignore_ascii_case(pattern),
        Some(parent) => {
            let at = host.len().checked_sub(pattern.len());
            let is_below = at.and_then(|at| host.get(at..));
            is_below.is_some_and(|end| end.eq_ignore_ascii_case(pattern))
                || host.eq_ignore_ascii_case(parent)
        }
    }
}

/// Returns true if `address` is in one of `networks`. An IPv4-mapped IPv6 address counts as the IPv4 address.
pub(crate) fn within(networks: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

/// Ports, as ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSet(Vec<RangeInclusive<u16>>);

impl PortSet {
    /// Common ports of web servers: 80, 443, 8000, 8080, 8443 and 8888.
    fn of_the_web() -> PortSet {
        PortSet([80, 443, 8000, 8080, 8443, 8888].map(|port| port..=port).to_vec())
    }

    /// All ports.
    pub fn any() -> PortSet {
        PortSet(vec![1..=u16::MAX])
    }

    /// One port.
    pub fn only(port: u16) -> PortSet {
        PortSet(vec![port..=port])
    }

    /// These ranges.
    pub fn of(ranges: Vec<RangeInclusive<u16>>) -> PortSet {
        PortSet(ranges)
    }

    /// Returns true if `port` is among them.
    pub fn contains(&self, port: u16) -> bool {
        self.0.iter().any(|range| range.contains(&port))
    }
}

impl fmt::Display for PortSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

// Special-purpose addresses, which belong to no ordinary internet host.
//
// Source: IANA's special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its updates). An IPv6 address that
// carries an IPv4 address is judged by that, so that `::ffff:127.0.0.1` is loopback.

/// Purpose that an address is reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpecialPurpose {
    /// This machine.
    Loopback,
    /// A private network (RFC 1918, RFC 4193).
    Private,
    /// This link only; includes the metadata service of cloud machines, which hands out credentials (169.254.169.254).
    LinkLocal,
    /// Shared among a provider's customers (RFC 6598).
    Shared,
    /// Any number of hosts.
    Multicast,
    /// Documentation, benchmarks, protocol assignments, the unspecified address, unassigned addresses.
    Reserved,
}

impl SpecialPurpose {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            SpecialPurpose::Loopback => "loopback",
            SpecialPurpose::Private => "private",
            SpecialPurpose::LinkLocal => "link-local",
            SpecialPurpose::Shared => "shared",
            SpecialPurpose::Multicast => "multicast",
            SpecialPurpose::Reserved => "reserved",
        }
    }
}

/// Purpose that `address` is reserved for; `None` if it may be any host of the internet.
pub fn special_purpose(address: IpAddr) -> Option<SpecialPurpose> {
    match address {
        IpAddr::V4(address) => special_purpose_v4(address),
        IpAddr::V6(address) => special_purpose_v6(address),
    }
}

fn special_purpose_v4(address: Ipv4Addr) -> Option<SpecialPurpose> {
    use SpecialPurpose::{LinkLocal, Loopback, Multicast, Private, Reserved, Shared};
    const BLOCKS: [([u8; 4], u32, SpecialPurpose); 16] = [
        ([0, 0, 0, 0], 8, Reserved),
        ([10, 0, 0, 0], 8, Private),
        ([100, 64, 0, 0], 10, Shared),
        ([127, 0, 0, 0], 8, Loopback),
        ([169, 254, 0, 0], 16, LinkLocal),
        ([172, 16, 0, 0], 12, Private),
        ([192, 0, 0, 0], 24, Reserved),
        ([192, 0, 2, 0], 24, Reserved),
        ([192, 31, 196, 0], 24, Reserved),
        ([192, 88, 99, 0], 24, Reserved),
        ([192, 168, 0, 0], 16, Private),
        ([198, 18, 0, 0], 15, Reserved),
        ([198, 51, 100, 0], 24, Reserved),
        ([203, 0, 113, 0], 24, Reserved),
        ([224, 0, 0, 0], 4, Multicast),
        ([240, 0, 0, 0], 4, Reserved),
    ];
    let bits = address.to_bits();
    let lies_in =
        |block: [u8; 4], prefix: u32| (bits ^ u32::from_be_bytes(block)) >> (32 - prefix) == 0;
    BLOCKS
        .iter()
        .find(|(block, prefix, _)| lies_in(*block, *prefix))
        .map(|(_, _, purpose)| *purpose)
}

fn special_purpose_v6(address: Ipv6Addr) -> Option<SpecialPurpose> {
    use SpecialPurpose::{LinkLocal, Loopback, Multicast, Private, Reserved};
    if address == Ipv6Addr::LOCALHOST {
        return Some(Loopback);
    }
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let bits = u32::from(high) << 16 | u32::from(low);
        special_purpose_v4(Ipv4Addr::from_bits(bits))
    };
    match segments {
        // IPv4-mapped, and the earlier IPv4-compatible addresses (RFC 4291 section 2.5.5).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] if high != 0 => embedded(high, low),
        // NAT64 (RFC 6052): the well-known prefix; the meaning of the local-use prefix (RFC 8215) depends on the network.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => embedded(high, low),
        [0xfc00..=0xfdff, ..] => Some(Private),
        [0xfe80..=0xfebf, ..] => Some(LinkLocal),
        // Site-local, deprecated (RFC 3879).
        [0xfec0..=0xfeff, ..] => Some(Private),
        [0xff00..=0xffff, ..] => Some(Multicast),
        // Teredo, benchmarks, ORCHID and others (2001::/23), documentation (2001:db8::/32, 3fff::/20).
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some(Reserved),
        // Global unicast is 2000::/3 (RFC 4291 section 2.4); the rest is unassigned.
        [0x2000..=0x3fff, ..] => None,
        _ => Some(Reserved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_is_reached_by_default() {
        let rules = Destinations::default();
        assert_eq!(rules.judge_request("a.test", 80), Ok(()));
        assert_eq!(
            rules.judge_request("a.test", 25),
            Err(DestinationError::Port { port: 25, setting: "forward.ports" })
        );
        assert_eq!(rules.judge_tunnel("a.test", 443), Ok(()));
        assert_eq!(
            rules.judge_tunnel("a.test", 22),
            Err(DestinationError::Port { port: 22, setting: "forward.tunnel_ports" })
        );
        assert_eq!(rules.judge_address("8.8.8.8".parse().unwrap()), Ok(()));
        let metadata = rules.judge_address("169.254.169.254".parse().unwrap());
        assert_eq!(metadata, Err(DestinationError::Address(SpecialPurpose::LinkLocal)));
        assert!(rules.judge_address("::ffff:127.0.0.1".parse().unwrap()).is_err());
    }

    #[test]
    fn anything_means_anything() {
        let rules = Destinations::anything();
        assert_eq!(rules.judge_tunnel("a.test", 22), Ok(()));
        for address in ["127.0.0.1", "169.254.169.254", "::1", "ff02::1"] {
            assert_eq!(rules.judge_address(address.parse().unwrap()), Ok(()), "{address}");
        }
    }

    #[test]
    fn inner_networks_are_reached_when_named() {
        let networks = vec!["192.168.7.0/24".parse().unwrap()];
        let rules = Destinations { networks, ..Destinations::default() };
        assert_eq!(rules.judge_address("192.168.7.9".parse().unwrap()), Ok(()));
        assert_eq!(rules.judge_address("::ffff:192.168.7.9".parse().unwrap()), Ok(()));
        assert!(rules.judge_address("192.168.8.9".parse().unwrap()).is_err());
    }

    #[test]
    fn hosts_are_matched_whole_or_below_a_dot() {
        assert!(matches("a.test", "A.TEST."));
        assert!(!matches("a.test", "b.a.test"));
        assert!(matches(".a.test", "b.A.test") && matches(".a.test", "a.test"));
        assert!(!matches(".a.test", "ba.test") && !matches(".a.test", "test"));
        let never_hosts = vec![".bad.test".to_owned()];
        let rules = Destinations { never_hosts, ..Destinations::default() };
        assert_eq!(rules.judge_tunnel("x.bad.test", 443), Err(DestinationError::Host));
        assert_eq!(rules.judge_tunnel("good.test", 443), Ok(()));
        let only_hosts = vec!["good.test".to_owned()];
        let rules = Destinations { only_hosts, ..Destinations::default() };
        assert_eq!(rules.judge_request("other.test", 80), Err(DestinationError::Host));
    }

    #[test]
    fn ports_are_contained_and_shown() {
        let ports = PortSet::of(vec![80..=80, 8000..=8099]);
        assert!(ports.contains(80) && ports.contains(8099) && !ports.contains(8100));
        assert_eq!(ports.to_string(), "80, 8000-8099");
        assert!(PortSet::of_the_web().contains(443) && !PortSet::of_the_web().contains(25));
    }

    #[test]
    fn addresses_are_known_by_their_blocks() {
        use SpecialPurpose::{LinkLocal, Loopback, Multicast, Private, Reserved, Shared};
        for (text, purpose) in [
            ("8.8.8.8", None),
            ("193.0.0.1", None),
            ("2a00:1450:4001:82b::200e", None),
            ("2001:4860:4860::8888", None),
            ("::ffff:8.8.8.8", None),
            ("64:ff9b::808:808", None),
            ("127.0.0.1", Some(Loopback)),
            ("127.255.255.255", Some(Loopback)),
            ("::1", Some(Loopback)),
            ("::ffff:127.0.0.1", Some(Loopback)),
            ("::127.0.0.1", Some(Loopback)),
            ("64:ff9b::7f00:1", Some(Loopback)),
            ("2002:7f00:1::", Some(Loopback)),
            ("0.0.0.0", Some(Reserved)),
            ("::", Some(Reserved)),
            ("10.1.2.3", Some(Private)),
            ("172.31.255.255", Some(Private)),
            ("172.32.0.0", None),
            ("192.168.0.1", Some(Private)),
            ("fd00::1", Some(Private)),
            ("::ffff:192.168.0.1", Some(Private)),
            ("169.254.169.254", Some(LinkLocal)),
            ("fe80::1", Some(LinkLocal)),
            ("100.64.0.1", Some(Shared)),
            ("100.128.0.1", None),
            ("224.0.0.1", Some(Multicast)),
            ("ff02::1", Some(Multicast)),
            ("255.255.255.255", Some(Reserved)),
            ("2001:db8::1", Some(Reserved)),
            ("2001:0:53aa:64c::1", Some(Reserved)),
            ("64:ff9b:1::1", Some(Reserved)),
        ] {
            assert_eq!(special_purpose(text.parse().unwrap()), purpose, "{text}");
        }
    }
}
