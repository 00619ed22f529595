//! A proxy in front of a page's hosts, as a browser that was told of it uses it.
//!
//! Requests for `http` resources are sent to the proxy whole: over HTTP/1 in absolute form (RFC 9112 section 3.2.2), over protocols that multiplex with the
//! host's name as their authority. Protocol and security are then those of the connection to the proxy, which alone has to be secured: a "secure web
//! proxy". Or each connection is a tunnel, asked for by `CONNECT` or by SOCKS5, and protocol and security are those inside of it. Names of hosts are the proxy's
//! affair in any case, and where it is itself is known beforehand, as a PAC file with an address says it.
//!
//! Which port of a proxy is asked, or none, a PAC file may say for each request (`auto_config.rs`).
//!
//! What connections are grouped by follows Chromium's `net/socket/client_socket_pool_manager.cc`: HTTP/1 has its limit for each host though all of its
//! connections lead to the proxy, and one for the proxy; of a session of SPDY or HTTP/2 with a proxy there is one for all hosts. It leaves out authentication, and
//! falling back to another proxy or none.

use std::net::{IpAddr, SocketAddr};

use http_stack::client::{Tunnel, TunnelBy};

use crate::plan::Arm;

/// How requests get to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// To its own address.
    #[default]
    Direct,
    /// Through a proxy.
    Through(Proxy),
}

/// Where a proxy is, and what it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Its address.
    pub address: IpAddr,
    /// Its ports.
    pub ports: Ports,
    /// What it is asked for.
    pub via: Via,
}

/// On which ports a proxy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// Requests are dealt out in turn among those from `first` on, as erman2013's PAC file did with twenty.
    InTurn {
        /// The first of them.
        first: u16,
        /// How many there are, one behind the other.
        count: u16,
    },
    /// A PAC file chooses one for each request.
    Chosen {
        /// The one that it has chosen; any of them as long as there is no request.
        port: u16,
        /// Among how many.
        of: u16,
    },
}

impl Ports {
    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Ports::InTurn { count, .. } | Ports::Chosen { of: count, .. } => {
                usize::from(count.max(1))
            }
        }
    }
}

/// What a proxy is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Resources.
    Get,
    /// Tunnels, by HTTP's `CONNECT`.
    Connect,
    /// Connections, by SOCKS5.
    Socks,
}

impl Proxy {
    /// What it is called, for TLS and in records.
    pub const NAME: &str = "proxy.farlink.test";

    /// Where the request with this number goes.
    pub(crate) fn of_request(&self, number: usize) -> SocketAddr {
        let port = match self.ports {
            Ports::InTurn { first, .. } => first + (number % self.ports.count()) as u16,
            Ports::Chosen { port, .. } => port,
        };
        SocketAddr::new(self.address, port)
    }
}

impl Arm {
    /// The proxy on the way, if there is one.
    pub(crate) fn proxy(&self) -> Option<Proxy> {
        match self.way {
            Way::Direct => None,
            Way::Through(proxy) => Some(proxy),
        }
    }

    /// Among how many ports requests to a host are dealt out.
    pub(crate) fn ports(&self) -> usize {
        self.proxy().map_or(1, |proxy| proxy.ports.count())
    }

    /// The same on the port of the proxy that a PAC file has chosen.
    pub(crate) fn on_port(self, port: u16) -> Arm {
        match self.way {
            Way::Through(proxy) => {
                let ports = Ports::Chosen { port, of: self.ports() as u16 };
                Arm { way: Way::Through(Proxy { ports, ..proxy }), ..self }
            }
            Way::Direct => self,
        }
    }

    /// Whether a proxy is asked for resources.
    pub(crate) fn asks_proxy(&self) -> bool {
        self.proxy().is_some_and(|proxy| proxy.via == Via::Get)
    }

    /// Who is at the other end of a connection for requests to `host`: whom HTTP and TLS speak with.
    pub fn peer<'a>(&self, host: &'a str) -> &'a str {
        if self.asks_proxy() { Proxy::NAME } else { host }
    }

    /// The tunnel to `host`, if there is to be one.
    pub(crate) fn tunnel(&self, host: &str) -> Option<Tunnel> {
        let by = match self.proxy()?.via {
            Via::Get => return None,
            Via::Connect => TunnelBy::Connect,
            Via::Socks => TunnelBy::Socks,
        };
        Some(Tunnel { by, host: host.to_owned(), port: self.port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_dealt_out_among_ports() {
        let ports = Ports::InTurn { first: 3128, count: 20 };
        let proxy = Proxy { address: [10, 0, 0, 2].into(), ports, via: Via::Get };
        let ports: Vec<u16> = (0..22).map(|number| proxy.of_request(number).port()).collect();
        assert_eq!((ports[0], ports[19], ports[20], ports[21]), (3128, 3147, 3128, 3129));
        for ports in [Ports::InTurn { first: 3128, count: 1 }, Ports::Chosen { port: 3128, of: 20 }]
        {
            let alone = Proxy { ports, ..proxy };
            assert!((0..22).all(|number| alone.of_request(number).port() == 3128));
        }
    }
}
