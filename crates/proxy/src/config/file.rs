//! The configuration file as written. `docs/proxy.md` describes each key.

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::values::{
    Address, AltSvcAge, FieldName, HostPattern, Network, OriginUrl, PortRange, Pseudonym, Size,
    Span,
};

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    pub(crate) workers: Option<NonZeroUsize>,
    pub(crate) via: Option<Pseudonym>,
    pub(crate) server_timing: bool,
    pub(crate) listen: Vec<Listen>,
    pub(crate) http3: Option<Spanned<Http3>>,
    pub(crate) clients: Clients,
    pub(crate) forward: Forward,
    pub(crate) intercept: Option<Intercept>,
    pub(crate) reverse: Vec<Reverse>,
    pub(crate) upstream: Upstream,
    pub(crate) cache: Option<Cache>,
    pub(crate) pac: Option<Pac>,
    pub(crate) log: Option<Log>,
    pub(crate) admin: Option<Admin>,
    pub(crate) drain: Option<Span>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listen {
    pub(crate) address: Spanned<Address>,
    pub(crate) tls: Option<Spanned<Certificate>>,
    pub(crate) protocols: Option<Spanned<Vec<Protocol>>>,
    pub(crate) http3: Option<Spanned<bool>>,
    pub(crate) socks: Option<Spanned<bool>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Http3 {
    pub(crate) alt_svc: Option<Spanned<AltSvcAge>>,
    pub(crate) streams: Option<NonZeroU16>,
    pub(crate) handshakes: Option<u32>,
    pub(crate) idle_timeout: Option<Span>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Certificate {
    pub(crate) certificate: Spanned<PathBuf>,
    pub(crate) key: Spanned<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Protocol {
    #[serde(rename = "h1")]
    H1,
    #[serde(rename = "h2")]
    H2,
    #[serde(rename = "spdy")]
    Spdy,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Clients {
    pub(crate) networks: Vec<Network>,
    pub(crate) users: Option<Spanned<PathBuf>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Forward {
    pub(crate) enabled: Option<bool>,
    pub(crate) ports: Option<Vec<PortRange>>,
    pub(crate) tunnel_ports: Option<Vec<PortRange>>,
    pub(crate) networks: Vec<Network>,
    pub(crate) only_hosts: Vec<HostPattern>,
    pub(crate) never_hosts: Vec<HostPattern>,
    pub(crate) tell: Tell,
}

impl Default for Forward {
    fn default() -> Forward {
        Forward {
            enabled: None,
            ports: None,
            tunnel_ports: None,
            networks: Vec::new(),
            only_hosts: Vec::new(),
            never_hosts: Vec::new(),
            tell: Tell::Nothing,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intercept {
    pub(crate) ca: Spanned<PathBuf>,
    pub(crate) key: Spanned<PathBuf>,
    pub(crate) hosts: Spanned<Vec<HostPattern>>,
    pub(crate) protocols: Option<Vec<Protocol>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tell {
    Nothing,
    XForwarded,
    Forwarded,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reverse {
    #[serde(default)]
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) origins: Spanned<Vec<OriginUrl>>,
    #[serde(default)]
    pub(crate) host: Host,
    pub(crate) tell: Option<Tell>,
    #[serde(default)]
    pub(crate) trusted: Vec<Network>,
    pub(crate) strip: Option<Vec<FieldName>>,
    pub(crate) connect_timeout: Option<Span>,
    pub(crate) max_fails: Option<u32>,
    pub(crate) fail_timeout: Option<Span>,
    pub(crate) check: Option<Check>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    pub(crate) path: Spanned<String>,
    pub(crate) interval: Option<Span>,
    pub(crate) timeout: Option<Span>,
    pub(crate) rise: Option<NonZeroU32>,
    pub(crate) fall: Option<NonZeroU32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Host {
    #[default]
    Client,
    Origin,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Upstream {
    pub(crate) connections_per_origin: Option<NonZeroU32>,
    pub(crate) connections: Option<Spanned<NonZeroU32>>,
    pub(crate) client_share: Option<Spanned<u8>>,
    pub(crate) waiting: Option<u32>,
    pub(crate) queue_timeout: Option<Span>,
    pub(crate) keep_alive: Option<Span>,
    pub(crate) connect_timeout: Option<Span>,
    pub(crate) first_byte_timeout: Option<Span>,
    pub(crate) idle_timeout: Option<Span>,
    pub(crate) protocol: Option<UpstreamProtocol>,
    pub(crate) parent: Option<Spanned<OriginUrl>>,
    pub(crate) trust: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UpstreamProtocol {
    H1,
    H2,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cache {
    pub(crate) memory: Spanned<Size>,
    pub(crate) object: Option<Spanned<Size>>,
    pub(crate) disk: Option<Disk>,
    pub(crate) heuristic_percent: Option<u8>,
    pub(crate) heuristic_at_most: Option<Span>,
    #[serde(default)]
    pub(crate) set_cookie: SetCookie,
    pub(crate) targets: Option<Vec<FieldName>>,
    #[serde(default)]
    pub(crate) purge: Vec<Network>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Disk {
    pub(crate) path: PathBuf,
    pub(crate) size: Spanned<Size>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SetCookie {
    #[default]
    Refuse,
    Strip,
    Keep,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Pac {
    pub(crate) path: Spanned<String>,
    pub(crate) direct_hosts: Vec<HostPattern>,
    pub(crate) direct_plain_names: bool,
    pub(crate) direct_fallback: bool,
    pub(crate) proxies: Vec<Spanned<String>>,
    pub(crate) spread: Spread,
    pub(crate) rule: Vec<PacRule>,
}

impl Default for Pac {
    fn default() -> Pac {
        Pac {
            path: Spanned::new(0..0, "/proxy.pac".to_owned()),
            direct_hosts: Vec::new(),
            direct_plain_names: true,
            direct_fallback: false,
            proxies: Vec::new(),
            spread: Spread::InTurn,
            rule: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Spread {
    InTurn,
    ByUrl,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PacRule {
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) types: Vec<String>,
    pub(crate) proxies: Vec<Spanned<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Log {
    pub(crate) file: Option<PathBuf>,
    pub(crate) format: LogFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    #[default]
    Json,
    Common,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Admin {
    pub(crate) address: Spanned<Address>,
    pub(crate) users: Option<Spanned<PathBuf>>,
}

/// Settings that arguments can make.
impl File {
    /// Listens there, in clear text.
    pub fn listen(&mut self, address: Address) {
        let address = Spanned::new(0..0, address);
        let (tls, protocols, http3, socks) = (None, None, None, None);
        self.listen.push(Listen { address, tls, protocols, http3, socks });
    }

    /// Serves clients of this network.
    pub fn allow(&mut self, network: Network) {
        self.clients.networks.push(network);
    }

    /// Lets clients reach this network, even if it has a special purpose.
    pub fn reach(&mut self, network: Network) {
        self.forward.networks.push(network);
    }

    /// Adds a reverse proxy for the origin at `url`, for requests to `hosts`.
    ///
    /// # Errors
    /// If `host` is not a host or `url` is not an origin's.
    pub fn reverse(&mut self, host: Option<&str>, url: &str) -> Result<(), String> {
        let hosts = host.map(str::parse).transpose()?.into_iter().collect();
        let origins = Spanned::new(0..0, vec![url.parse()?]);
        let (tell, trusted, strip) = (None, Vec::new(), None);
        let (connect_timeout, max_fails, fail_timeout, check) = (None, None, None, None);
        self.reverse.push(Reverse {
            hosts,
            origins,
            host: Host::Client,
            tell,
            trusted,
            strip,
            connect_timeout,
            max_fails,
            fail_timeout,
            check,
        });
        Ok(())
    }

    /// Serves metrics and health there.
    pub fn admin(&mut self, address: Address) {
        self.admin = Some(Admin { address: Spanned::new(0..0, address), users: None });
    }

    /// Enables the cache with this much memory.
    pub fn cache(&mut self, memory: Size) {
        let memory = Spanned::new(0..0, memory);
        let set_cookie = SetCookie::Refuse;
        let (object, disk, heuristic_percent, heuristic_at_most) = (None, None, None, None);
        self.cache = Some(Cache {
            memory,
            object,
            disk,
            heuristic_percent,
            heuristic_at_most,
            set_cookie,
            targets: None,
            purge: Vec::new(),
        });
    }

    /// Logs requests to standard output.
    pub fn log(&mut self) {
        self.log = Some(Log::default());
    }
}
