//! A proxy in front of a page's hosts, as used by a browser configured with it.
//!
//! Requests for `http` resources are sent to the proxy whole: over HTTP/1 in absolute form (RFC 9112 section
//! 3.2.2), over multiplexing protocols with the host's name as their authority. Protocol and security are then
//! those of the connection to the proxy, the only one to be secured: a "secure web proxy". Alternatively each
//! connection is a tunnel, requested by `CONNECT` or by SOCKS5, and protocol and security are those inside it. The
//! proxy resolves host names in both cases, and its own address is known in advance, as in a PAC file with an
//! address.
//!
//! A PAC file may choose the proxy's port for each request, or to bypass the proxy (`auto_config.rs`).
//!
//! Grouping of connections follows Chromium's `net/socket/client_socket_pool_manager.cc`: HTTP/1 has its limit for
//! each host though all of its connections lead to the proxy, and one for the proxy; SPDY and HTTP/2 have one
//! session with a proxy for all hosts. It leaves out authentication, and falling back to another proxy or none.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};

use http_stack::client::{Tunnel, TunnelBy};
use pac::{Choice, Engine, PacEnvironment, PacScript};
use tls::PLAN_START;

use crate::plan::HostStack;

/// Route of requests to a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyMode {
    /// To its own address.
    #[default]
    Direct,
    /// Through a proxy.
    Through(Proxy),
}

/// Address of a proxy, and the kind of requests to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Its address.
    pub address: IpAddr,
    /// Its ports.
    pub ports: ProxyPorts,
    /// Kind of requests to it.
    pub via: TunnelProtocol,
}

/// Ports of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyPorts {
    /// Requests are distributed in turn among the ports from `first` on, as by erman2013's PAC file with twenty.
    InTurn {
        /// The first of them.
        first: u16,
        /// Number of consecutive ports.
        count: u16,
    },
    /// A PAC file chooses one for each request.
    Chosen {
        /// The chosen port; any of them as long as there is no request.
        port: u16,
        /// Number of ports to choose from.
        of: u16,
    },
}

impl ProxyPorts {
    /// Number of ports.
    pub fn count(self) -> usize {
        match self {
            ProxyPorts::InTurn { count, .. } | ProxyPorts::Chosen { of: count, .. } => {
                usize::from(count.max(1))
            }
        }
    }
}

/// Kind of requests to a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelProtocol {
    /// Resources.
    Get,
    /// Tunnels, by HTTP's `CONNECT`.
    Connect,
    /// Connections, by SOCKS5.
    Socks,
}

impl Proxy {
    /// The proxy's name, for TLS and in records.
    pub const NAME: &str = "proxy.farlink.test";

    /// Address for the request with this number.
    pub(crate) fn of_request(&self, number: usize) -> SocketAddr {
        let port = match self.ports {
            ProxyPorts::InTurn { first, .. } => first + (number % self.ports.count()) as u16,
            ProxyPorts::Chosen { port, .. } => port,
        };
        SocketAddr::new(self.address, port)
    }
}

impl HostStack {
    /// The proxy on the path, if there is one.
    pub(crate) fn proxy(&self) -> Option<Proxy> {
        match self.way {
            ProxyMode::Direct => None,
            ProxyMode::Through(proxy) => Some(proxy),
        }
    }

    /// Number of ports among which requests to a host are distributed.
    pub(crate) fn ports(&self) -> usize {
        self.proxy().map_or(1, |proxy| proxy.ports.count())
    }

    /// The same on the port of the proxy chosen by a PAC file.
    pub(crate) fn on_port(self, port: u16) -> HostStack {
        match self.way {
            ProxyMode::Through(proxy) => {
                let ports = ProxyPorts::Chosen { port, of: self.ports() as u16 };
                HostStack { way: ProxyMode::Through(Proxy { ports, ..proxy }), ..self }
            }
            ProxyMode::Direct => self,
        }
    }

    /// Returns true if a proxy is asked for resources.
    pub(crate) fn asks_proxy(&self) -> bool {
        self.proxy().is_some_and(|proxy| proxy.via == TunnelProtocol::Get)
    }

    /// The peer of a connection for requests to `host`: the name for HTTP and TLS.
    pub fn peer<'a>(&self, host: &'a str) -> &'a str {
        if self.asks_proxy() { Proxy::NAME } else { host }
    }

    /// The tunnel to `host`, if there is to be one.
    pub(crate) fn tunnel(&self, host: &str) -> Option<Tunnel> {
        let by = match self.proxy()?.via {
            TunnelProtocol::Get => return None,
            TunnelProtocol::Connect => TunnelBy::Connect,
            TunnelProtocol::Socks => TunnelBy::Socks,
        };
        Some(Tunnel { by, host: host.to_owned(), port: self.port })
    }
}

// A PAC file in a browser's settings: for each request it chooses a port of the proxy, or the request's own host.
//
// The file is evaluated in the order of requests, by one script engine for as long as the browser runs. There is
// one proxy, whatever name the file gives it: only the port counts.
// Source: Chromium's `net/http/http_stream_factory_job_controller.cc`, which resolves the proxy (`DoResolveProxy`)
// for each request, before it looks for a connection.

/// Source of randomness for `Math.random` of a PAC file.
const CHANCE: &str = "browser/pac";

/// Proxy auto-configuration of a browser.
#[derive(Clone, Debug)]
pub struct AutoConfig {
    /// The file.
    pub script: PacScript,
    /// Ports of the proxy that it may choose.
    pub ports: Vec<u16>,
    /// The browser's own address.
    pub own: IpAddr,
}

/// The file in a running browser.
pub(crate) struct Chooser {
    told: AutoConfig,
    engine: RefCell<Option<Engine>>,
}

impl Chooser {
    pub(crate) fn new(told: AutoConfig) -> Chooser {
        Chooser { told, engine: RefCell::default() }
    }

    /// The file's choice for a request.
    pub(crate) fn choose(&self, url: &str, host: &str) -> Result<Choice, String> {
        let mut engine = self.engine.borrow_mut();
        if engine.is_none() {
            *engine = Some(self.start()?);
        }
        let engine = engine.as_ref().expect("it has been started");
        let choice = engine.find(url, host).map_err(|error| error.to_string())?;
        match &choice {
            Choice::Proxy(at) if !self.told.ports.contains(&at.port) => Err(format!(
                "the PAC file {} names port {} for {url}, which it did not name when the load was prepared: the proxy does not listen there",
                self.told.script.name, at.port
            )),
            _ => Ok(choice),
        }
    }

    fn start(&self) -> Result<Engine, String> {
        let surroundings = PacEnvironment {
            resolve: Box::new(|host| world::resolve(host).ok()),
            own: self.told.own,
            random: world::stream(CHANCE),
            now: PLAN_START,
        };
        Engine::start(&self.told.script, surroundings).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_dealt_out_among_ports() {
        let ports = ProxyPorts::InTurn { first: 3128, count: 20 };
        let proxy = Proxy { address: [10, 0, 0, 2].into(), ports, via: TunnelProtocol::Get };
        let ports: Vec<u16> = (0..22).map(|number| proxy.of_request(number).port()).collect();
        assert_eq!((ports[0], ports[19], ports[20], ports[21]), (3128, 3147, 3128, 3129));
        for ports in [
            ProxyPorts::InTurn { first: 3128, count: 1 },
            ProxyPorts::Chosen { port: 3128, of: 20 },
        ] {
            let alone = Proxy { ports, ..proxy };
            assert!((0..22).all(|number| alone.of_request(number).port() == 3128));
        }
    }
}
