//! The proxy between Chromium and the hosts.
//!
//! Chromium speaks to an HTTP proxy in clear text or over TLS (a "secure web proxy"), there by HTTP/2 if the proxy
//! offers it; it requests `http` resources by GET, `https` ones through tunnels. It requests connections of a
//! SOCKS5 proxy for both. The proxy is configured once for all requests (`--proxy-server`), or by a PAC file, which
//! may distribute requests among several ports; that file is in the flag itself, so that fetching it is not part of
//! a visit. The proxy then resolves the hosts' names: only its own name is looked up.
//!
//! Source: Chromium's `net/docs/proxy.md`.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};

use base64::Engine;
use tls::Security;

use browser::{HostStack, LoadPlan};
use browser::{Proxy, ProxyMode, ProxyPorts, TunnelProtocol};

/// A proxy for a browser to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserProxy {
    /// Its address.
    pub address: IpAddr,
    /// The way it is configured.
    pub told: ProxyConfigSource,
    /// Protocol of the connection to it.
    pub manner: ProxyScheme,
}

/// Protocol of the connection to a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyScheme {
    /// HTTP in clear text.
    Http,
    /// HTTP over TLS.
    Https,
    /// SOCKS5.
    Socks,
}

impl ProxyScheme {
    /// Its keyword in PAC files.
    fn in_pac(self) -> &'static str {
        match self {
            ProxyScheme::Http => "PROXY",
            ProxyScheme::Https => "HTTPS",
            ProxyScheme::Socks => "SOCKS5",
        }
    }

    /// Its scheme in `--proxy-server`.
    fn scheme(self) -> &'static str {
        match self {
            ProxyScheme::Http => "http",
            ProxyScheme::Https => "https",
            ProxyScheme::Socks => "socks5",
        }
    }
}

/// Configuration of a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyConfigSource {
    /// One port for all requests.
    Once(u16),
    /// By a PAC file.
    Pac {
        /// The file's text.
        text: String,
        /// Its names for the proxy, with their ports.
        names: Vec<(String, u16)>,
    },
}

impl BrowserProxy {
    /// The proxy of a page's plan, if there is one on the path. `pac` makes the text of a PAC file from proxies in
    /// such a file's notation; it is called if the proxy has several ports.
    pub fn of(plan: &LoadPlan, pac: impl FnOnce(Vec<String>) -> String) -> Option<BrowserProxy> {
        let arm: &HostStack = plan.arms().first()?;
        let ProxyMode::Through(Proxy { address, ports, via }) = arm.way else { return None };
        let manner = match via {
            TunnelProtocol::Get if arm.security != Security::None => ProxyScheme::Https,
            TunnelProtocol::Get | TunnelProtocol::Connect => ProxyScheme::Http,
            TunnelProtocol::Socks => ProxyScheme::Socks,
        };
        let kind = manner.in_pac();
        let told = match ports {
            ProxyPorts::InTurn { first: port, count: 0 | 1 } | ProxyPorts::Chosen { port, .. } => {
                ProxyConfigSource::Once(port)
            }
            ProxyPorts::InTurn { first, count } => {
                let ports = first..first + count;
                let named = ports.clone().map(|port| format!("{kind} {}:{port}", Proxy::NAME));
                let names = ports.map(|port| (Proxy::NAME.to_owned(), port)).collect();
                ProxyConfigSource::Pac { text: pac(named.collect()), names }
            }
        };
        Some(BrowserProxy { address, told, manner })
    }

    /// The proxy of a page's plan, configured by a PAC file with this text and these names for it.
    pub fn by_file(plan: &LoadPlan, text: &str, names: Vec<(String, u16)>) -> Option<BrowserProxy> {
        let usual = BrowserProxy::of(plan, |_| String::new())?;
        Some(BrowserProxy {
            told: ProxyConfigSource::Pac { text: text.to_owned(), names },
            ..usual
        })
    }

    /// The flag that configures it.
    pub(super) fn flag(&self) -> OsString {
        match &self.told {
            ProxyConfigSource::Once(port) => {
                let scheme = self.manner.scheme();
                format!("--proxy-server={scheme}://{}:{port}", Proxy::NAME).into()
            }
            ProxyConfigSource::Pac { text, .. } => {
                let text = base64::engine::general_purpose::STANDARD.encode(text);
                format!("--proxy-pac-url=data:application/x-ns-proxy-autoconfig;base64,{text}")
                    .into()
            }
        }
    }

    /// Addresses of its names, one per port.
    pub(super) fn hosts(&self) -> Vec<(String, SocketAddr)> {
        let named = |name: &str, port| (format!("{name}:{port}"), (self.address, port).into());
        match &self.told {
            ProxyConfigSource::Once(port) => vec![named(Proxy::NAME, *port)],
            ProxyConfigSource::Pac { names, .. } => {
                names.iter().map(|(name, port)| named(name, *port)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_named_once_or_by_a_file() {
        let once = BrowserProxy {
            address: [10, 0, 0, 2].into(),
            told: ProxyConfigSource::Once(3128),
            manner: ProxyScheme::Https,
        };
        assert_eq!(once.flag(), "--proxy-server=https://proxy.farlink.test:3128");
        let socks = BrowserProxy { manner: ProxyScheme::Socks, ..once.clone() };
        assert_eq!(socks.flag(), "--proxy-server=socks5://proxy.farlink.test:3128");
        assert_eq!(
            once.hosts(),
            [("proxy.farlink.test:3128".to_owned(), "10.0.0.2:3128".parse().unwrap())]
        );
        let names = [3128, 3129].map(|port| ("p.test".to_owned(), port)).into();
        let told = ProxyConfigSource::Pac { text: "x".to_owned(), names };
        let by_file = BrowserProxy { told, manner: ProxyScheme::Http, ..once };
        assert_eq!(
            by_file.flag(),
            "--proxy-pac-url=data:application/x-ns-proxy-autoconfig;base64,eA=="
        );
        let second = ("p.test:3129".to_owned(), "10.0.0.2:3129".parse().unwrap());
        assert_eq!(by_file.hosts()[1], second);
    }
}
