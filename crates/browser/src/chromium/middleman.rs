//! The proxy that Chromium is led through.
//!
//! Chromium asks an HTTP proxy in clear text or over TLS (a "secure web proxy"), there by HTTP/2 if the proxy offers it; `http` resources by
//! GET, `https` ones through tunnels. Of a proxy of SOCKS5 it asks connections for both. It is told of it once for all (`--proxy-server`), or by a PAC file, which may deal requests out among several
//! ports; that one is in the flag itself, so that fetching it is no part of a visit. Names of hosts are then the proxy's affair: only its own is
//! looked up.
//!
//! Source: Chromium's `net/docs/proxy.md`.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};

use base64::Engine;
use http_stack::tls::Security;

use crate::plan::{Arm, LoadPlan};
use crate::proxy::{Proxy, Via, Way};

/// A proxy that a browser is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Middleman {
    /// Its ports, one behind the other.
    pub address: IpAddr,
    /// The first of them.
    pub port: u16,
    /// How it is told of.
    pub told: Told,
    /// How it is spoken to.
    pub manner: Manner,
}

/// How a proxy is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// HTTP in clear text.
    Http,
    /// HTTP over TLS.
    Https,
    /// SOCKS5.
    Socks,
}

impl Manner {
    /// What PAC files call it.
    fn in_pac(self) -> &'static str {
        match self {
            Manner::Http => "PROXY",
            Manner::Https => "HTTPS",
            Manner::Socks => "SOCKS5",
        }
    }

    /// Its scheme in `--proxy-server`.
    fn scheme(self) -> &'static str {
        match self {
            Manner::Http => "http",
            Manner::Https => "https",
            Manner::Socks => "socks5",
        }
    }
}

/// How a browser is told of a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Once for all.
    Once,
    /// By this PAC file, which may name this many ports.
    Pac {
        /// What it says.
        text: String,
        /// How many ports it may name.
        ports: u16,
    },
}

impl Middleman {
    /// The proxy of a page's plan, if there is one on the way. `pac` makes the text of a PAC file from proxies as such a file names them; it is asked where
    /// the proxy has several ports.
    pub fn of(plan: &LoadPlan, pac: impl FnOnce(Vec<String>) -> String) -> Option<Middleman> {
        let arm: &Arm = plan.arms().first()?;
        let Way::Through(Proxy { address, port, ports, via }) = arm.way else { return None };
        let manner = match via {
            Via::Get if arm.security != Security::None => Manner::Https,
            Via::Get | Via::Connect => Manner::Http,
            Via::Socks => Manner::Socks,
        };
        let kind = manner.in_pac();
        let told = match ports {
            0 | 1 => Told::Once,
            _ => {
                let named =
                    (port..port + ports).map(|port| format!("{kind} {}:{port}", Proxy::NAME));
                Told::Pac { text: pac(named.collect()), ports }
            }
        };
        Some(Middleman { address, port, told, manner })
    }

    /// The flag that leads to it.
    pub(super) fn flag(&self) -> OsString {
        match &self.told {
            Told::Once => {
                let scheme = self.manner.scheme();
                format!("--proxy-server={scheme}://{}:{}", Proxy::NAME, self.port).into()
            }
            Told::Pac { text, .. } => {
                let text = base64::engine::general_purpose::STANDARD.encode(text);
                format!("--proxy-pac-url=data:application/x-ns-proxy-autoconfig;base64,{text}")
                    .into()
            }
        }
    }

    /// Where its name leads, for each port.
    pub(super) fn hosts(&self) -> Vec<(String, SocketAddr)> {
        let ports = match self.told {
            Told::Once => 1,
            Told::Pac { ports, .. } => ports,
        };
        let ports = self.port..self.port + ports;
        ports.map(|port| (format!("{}:{port}", Proxy::NAME), (self.address, port).into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_named_once_or_by_a_file() {
        let once = Middleman {
            address: [10, 0, 0, 2].into(),
            port: 3128,
            told: Told::Once,
            manner: Manner::Https,
        };
        assert_eq!(once.flag(), "--proxy-server=https://proxy.farlink.test:3128");
        let socks = Middleman { manner: Manner::Socks, ..once.clone() };
        assert_eq!(socks.flag(), "--proxy-server=socks5://proxy.farlink.test:3128");
        assert_eq!(
            once.hosts(),
            [("proxy.farlink.test:3128".to_owned(), "10.0.0.2:3128".parse().unwrap())]
        );
        let told = Told::Pac { text: "x".to_owned(), ports: 2 };
        let by_file = Middleman { told, manner: Manner::Http, ..once };
        assert_eq!(
            by_file.flag(),
            "--proxy-pac-url=data:application/x-ns-proxy-autoconfig;base64,eA=="
        );
        assert_eq!(by_file.hosts()[1].1, "10.0.0.2:3129".parse().unwrap());
    }
}
