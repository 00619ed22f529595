//! Destinations that clients may reach through a forward proxy.
//!
//! Ports are judged by the request, addresses after name resolution: the connection goes to the very address that was judged,
//! so a name that resolves differently the next time (DNS rebinding) gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use thiserror::Error;

use super::addresses::{SpecialPurpose, special_purpose};
use super::ports::Ports;

/// Rules for destinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destinations {
    /// Ports allowed for requests over HTTP.
    pub ports: Ports,
    /// Ports allowed for tunnels.
    pub tunnel_ports: Ports,
    /// Networks with a special purpose (private, loopback, ...) that are allowed nevertheless.
    pub networks: Vec<IpNet>,
    /// Hosts allowed; empty for any. A name that begins with a dot means all names below it.
    pub only_hosts: Vec<String>,
    /// Hosts forbidden.
    pub never_hosts: Vec<String>,
}

impl Default for Destinations {
    fn default() -> Destinations {
        Destinations {
            ports: Ports::of_the_web(),
            tunnel_ports: Ports::only(443),
            networks: Vec::new(),
            only_hosts: Vec::new(),
            never_hosts: Vec::new(),
        }
    }
}

impl Destinations {
    /// All destinations: for a proxy whose clients are ours, as in a simulated world.
    pub fn anything() -> Destinations {
        let any = [(Ipv4Addr::UNSPECIFIED.into(), 0), (Ipv6Addr::UNSPECIFIED.into(), 0)];
        let networks = any.map(|(address, prefix)| IpNet::new_assert(address, prefix));
        Destinations {
            ports: Ports::any(),
            tunnel_ports: Ports::any(),
            networks: networks.to_vec(),
            ..Destinations::default()
        }
    }
}

/// Reason for refusing a destination.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The port is not allowed.
    #[error("port {port} is not allowed here: the proxy's setting `{setting}` says which are")]
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
    pub fn judge_request(&self, host: &str, port: u16) -> Result<(), Refusal> {
        judge_port(&self.ports, "forward.ports", port).and_then(|()| self.judge_host(host))
    }

    /// Judges a tunnel to `port` of `host`.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn judge_tunnel(&self, host: &str, port: u16) -> Result<(), Refusal> {
        judge_port(&self.tunnel_ports, "forward.tunnel_ports", port)
            .and_then(|()| self.judge_host(host))
    }

    /// Judges a connection to `address`.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn judge_address(&self, address: IpAddr) -> Result<(), Refusal> {
        let Some(purpose) = special_purpose(address) else { return Ok(()) };
        let address = address.to_canonical();
        match self.networks.iter().any(|network| network.contains(&address)) {
            true => Ok(()),
            false => Err(Refusal::Address(purpose)),
        }
    }

    fn judge_host(&self, host: &str) -> Result<(), Refusal> {
        let is_among = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, host));
        let is_missing = !self.only_hosts.is_empty() && !is_among(&self.only_hosts);
        if is_missing || is_among(&self.never_hosts) { Err(Refusal::Host) } else { Ok(()) }
    }
}

fn judge_port(ports: &Ports, setting: &'static str, port: u16) -> Result<(), Refusal> {
    if ports.contains(port) { Ok(()) } else { Err(Refusal::Port { port, setting }) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_is_reached_by_default() {
        let rules = Destinations::default();
        assert_eq!(rules.judge_request("a.test", 80), Ok(()));
        assert_eq!(
            rules.judge_request("a.test", 25),
            Err(Refusal::Port { port: 25, setting: "forward.ports" })
        );
        assert_eq!(rules.judge_tunnel("a.test", 443), Ok(()));
        assert_eq!(
            rules.judge_tunnel("a.test", 22),
            Err(Refusal::Port { port: 22, setting: "forward.tunnel_ports" })
        );
        assert_eq!(rules.judge_address("8.8.8.8".parse().unwrap()), Ok(()));
        let metadata = rules.judge_address("169.254.169.254".parse().unwrap());
        assert_eq!(metadata, Err(Refusal::Address(SpecialPurpose::LinkLocal)));
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
        assert_eq!(rules.judge_tunnel("x.bad.test", 443), Err(Refusal::Host));
        assert_eq!(rules.judge_tunnel("good.test", 443), Ok(()));
        let only_hosts = vec!["good.test".to_owned()];
        let rules = Destinations { only_hosts, ..Destinations::default() };
        assert_eq!(rules.judge_request("other.test", 80), Err(Refusal::Host));
    }
}
