//! Resolved settings of a proxy: files are read, ranges expanded.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cache::Partition;
use http::HeaderValue;
use http_stack::alt_svc::{AltSvc, Alternative};
use http_stack::h3;
use ipnet::IpNet;
use serde::Deserialize;

use crate::access::{AllowedClients, Destinations, Users, matches};
use crate::caching;
use crate::compression::CompressionSettings;
use crate::early_hints::SharedHints;
use crate::fields::{Disclosure, ViaPseudonym};
use crate::images::ImageSettings;
use crate::observation::ExchangeObserver;
use crate::overrides::Overrides;
use crate::pac::Pac;
use crate::rules::{AccessRule, HeaderRule};
use crate::upstream::{self, Health, OriginAddress};

/// A proxy's settings. Shared by all cores.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// The ports it listens on.
    pub listeners: Vec<ListenerSettings>,
    /// Number of serving threads; `None` for one per core.
    pub workers: Option<NonZeroUsize>,
    /// Access control.
    pub access: Access,
    /// Settings of the forward proxy; `None` if it is not one.
    pub forward: Option<Forward>,
    /// Interception of tunnels; `None` if all are passed through unread.
    pub intercept: Option<Intercept>,
    /// The origins behind it.
    pub reverse: Vec<Reverse>,
    /// Settings of connections to origins.
    pub upstream: upstream::UpstreamSettings,
    /// Trust anchors for origins' certificates.
    pub trust: Trust,
    /// Its name in `Via`.
    pub via: ViaPseudonym,
    /// Settings of the cache; `None` if there is none.
    pub cache: Option<caching::CacheSettings>,
    /// Compression of answers; `None` if they are passed on as they are.
    pub compression: Option<CompressionSettings>,
    /// Smaller images for slow clients; `None` if they are passed on as they are.
    pub images: Option<ImageSettings>,
    /// Hints (103) ahead of answers for documents, learnt from past loads; `None` if they are not wanted.
    pub early_hints: Option<SharedHints>,
    /// Clients that may remove stored responses with the method `PURGE`.
    pub purgers: Vec<IpNet>,
    /// Settings of the disk tier; `None` to keep nothing across a restart.
    pub disk: Option<caching::DiskSettings>,
    /// The auto-configuration file that it serves.
    pub pac: Option<ServedPacFile>,
    /// Destination and format of the request log.
    pub log: Option<LogSettings>,
    /// The operator's port, for metrics and health.
    pub admin: Option<AdminSettings>,
    /// Rules of access: the first that is about a request decides.
    pub access_rules: Vec<AccessRule>,
    /// Rules that change header fields.
    pub header_rules: Vec<HeaderRule>,
    /// Time allowed for requests under way at shutdown.
    pub drain: Duration,
    /// True if responses report the proxy's own time (`Server-Timing`).
    pub server_timing: bool,
    /// Observer of exchanges with origins, except those that fill a cache.
    pub observer: Option<Arc<dyn ExchangeObserver>>,
}

/// A proxy without ports and origins, open to all clients.
impl Default for ProxyConfig {
    fn default() -> ProxyConfig {
        ProxyConfig {
            listeners: Vec::new(),
            workers: None,
            access: Access::default(),
            forward: None,
            intercept: None,
            reverse: Vec::new(),
            upstream: upstream::UpstreamSettings::default(),
            trust: Trust::default(),
            via: ViaPseudonym::new("farlink"),
            cache: None,
            compression: None,
            images: None,
            early_hints: None,
            purgers: Vec::new(),
            disk: None,
            pac: None,
            log: None,
            admin: None,
            access_rules: Vec::new(),
            header_rules: Vec::new(),
            drain: Duration::from_secs(25),
            server_timing: false,
            observer: None,
        }
    }
}

/// A port that is listened on.
#[derive(Clone, Debug)]
pub struct ListenerSettings {
    /// The address.
    pub address: SocketAddr,
    /// Its TLS; `None` for clear text.
    pub tls: Option<tls::Server>,
    /// HTTP/3 on the same UDP port; `None` for none.
    pub http3: Option<Http3>,
    /// True if it speaks SOCKS, too.
    pub socks: bool,
    /// Networks whose connections begin with the PROXY protocol.
    pub balancers: Vec<IpNet>,
}

/// HTTP/3 at a port.
#[derive(Clone, Debug)]
pub struct Http3 {
    /// Acceptor of connections.
    pub acceptor: h3::Acceptor,
    /// Time for which clients on TCP may remember it (`Alt-Svc`); `None` to leave it unadvertised.
    pub advertised: Option<Duration>,
}

impl Http3 {
    /// The `Alt-Svc` value for clients on TCP, if it listens at `port`.
    pub fn alternative(&self, port: u16) -> Option<HeaderValue> {
        let alternative = Alternative { max_age: self.advertised?, ..Alternative::h3(port) };
        let field = AltSvc::Services(vec![alternative]).to_string();
        Some(HeaderValue::from_str(&field).expect("tokens and numbers are ASCII"))
    }
}

/// Access control of a proxy.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Rules by client address.
    pub clients: AllowedClients,
    /// Users with passwords.
    pub users: Option<Arc<Users>>,
}

/// Settings of a forward proxy.
#[derive(Clone, Debug)]
pub struct Forward {
    /// Destinations allowed.
    pub destinations: Destinations,
    /// Disclosure of clients to origins.
    pub disclosure: Disclosure,
}

/// Interception: tunnels that end at this proxy.
#[derive(Clone, Debug)]
pub struct Intercept {
    /// The hosts; empty for all.
    pub hosts: Vec<String>,
    /// Issuer of their certificates.
    pub issuer: Arc<tls::Issuer>,
}

impl Intercept {
    /// Returns true if a tunnel to `host` ends here.
    pub fn covers(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|pattern| matches(pattern, host))
    }
}

/// A reverse proxy's hosts and their origins.
#[derive(Clone, Debug)]
pub struct Reverse {
    /// The hosts that clients request; empty for any.
    pub hosts: Vec<String>,
    /// Beginnings of the paths that clients request; empty for any.
    pub paths: Vec<String>,
    /// Their origins, which take turns.
    pub origins: Arc<[OriginAddress]>,
    /// Health of these servers.
    pub health: Arc<Health>,
    /// The host in requests to origins.
    pub host_field: HostField,
    /// Disclosure of clients to origins.
    pub disclosure: Disclosure,
    /// Trusted proxies in front of this one, whose information on clients is kept.
    pub trusted: Vec<IpNet>,
    /// Fields removed from the requests of all other clients.
    pub overrides: Overrides,
    /// Their partition of the cache.
    pub partition: Partition,
}

impl Reverse {
    /// The cache partition of such a table. It is separate, since responses that clients fetched from elsewhere under a name are not those
    /// of the origins behind this proxy, and stays the same after a restart, wherever the table stands.
    pub fn partition_of(hosts: &[String], origins: &[OriginAddress], host: HostField) -> Partition {
        let origins = origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let told = format!("{}\n{origins}\n{host:?}", hosts.join(" "));
        let digest = ring::digest::digest(&ring::digest::SHA256, told.as_bytes());
        let [a, b, c, d, ..] = digest.as_ref() else { unreachable!("it has 32 bytes") };
        // 0 is the forward proxy's.
        Partition(u32::from_le_bytes([*a, *b, *c, *d]).max(1))
    }
}

/// The host in a reverse proxy's requests to its origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostField {
    /// The host that the client requested.
    #[default]
    Client,
    /// The origin's own host.
    Origin,
}

/// The operator's port.
#[derive(Clone, Debug)]
pub struct AdminSettings {
    /// The address.
    pub address: SocketAddr,
    /// Users that have access; `None` for everyone who can reach it.
    pub users: Option<Arc<Users>>,
}

/// Trust anchors for origins' certificates.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// The system's authorities.
    #[default]
    System,
    /// The authorities in this PEM file.
    File(PathBuf),
}

/// An auto-configuration file to serve.
#[derive(Clone, Debug)]
pub struct ServedPacFile {
    /// Its path.
    pub path: String,
    /// Its contents.
    pub pac: Pac,
}

/// Destination and format of the request log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Destination.
    pub place: LogPlace,
    /// Format of the lines.
    pub format: LogFormat,
}

/// Destination of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPlace {
    /// Standard output.
    Output,
    /// A file, which is reopened on SIGHUP.
    File(PathBuf),
}

/// Format of a log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// One JSON object a line, with the request's timeline.
    #[default]
    Json,
    /// The Common Log Format.
    Common,
    /// Apache's Combined Log Format: the common one with the fields `Referer` and `User-Agent`.
    Combined,
    /// Squid's native format.
    Squid,
}
