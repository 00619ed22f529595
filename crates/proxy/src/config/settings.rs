//! What a proxy does, resolved: files are read, ranges unrolled.

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

use crate::access::{Clients, Destinations, Users, matches};
use crate::caching;
use crate::fields::{Disclosure, Via};
use crate::overrides::Overrides;
use crate::pac::Pac;
use crate::upstream::{self, Destination, Health};

/// A proxy's settings. Shared by all cores.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens.
    pub listeners: Vec<Listener>,
    /// How many threads serve; none means one a core.
    pub workers: Option<NonZeroUsize>,
    /// Who may use it.
    pub access: Access,
    /// What it does for clients that know it as their proxy; nothing if it is no forward proxy.
    pub forward: Option<Forward>,
    /// The hosts whose tunnels end here; nothing if all are passed through unread.
    pub intercept: Option<Intercept>,
    /// The origins that it stands before.
    pub reverse: Vec<Reverse>,
    /// How origins are asked.
    pub upstream: upstream::Settings,
    /// What origins' certificates are held against.
    pub trust: Trust,
    /// Its name in `Via`.
    pub via: Via,
    /// How much it stores; nothing if it is no cache.
    pub cache: Option<caching::Settings>,
    /// Clients that may have what is stored removed, by the method `PURGE`.
    pub purgers: Vec<IpNet>,
    /// What it stores beside its memory; nothing if it forgets all at its end.
    pub disk: Option<caching::DiskSettings>,
    /// The auto-configuration file that it serves.
    pub pac: Option<PacFile>,
    /// Where requests are logged.
    pub log: Option<Log>,
    /// Where its metrics and its health are told.
    pub admin: Option<Admin>,
    /// How long requests may take to their end after the proxy was told to stop.
    pub drain: Duration,
    /// Whether responses tell of the proxy's own time (`Server-Timing`).
    pub server_timing: bool,
}

/// A proxy that does nothing yet: without ports, without origins, open to everybody.
impl Default for Settings {
    fn default() -> Settings {
        Settings {
            listeners: Vec::new(),
            workers: None,
            access: Access::default(),
            forward: None,
            intercept: None,
            reverse: Vec::new(),
            upstream: upstream::Settings::default(),
            trust: Trust::default(),
            via: Via::new("farlink"),
            cache: None,
            purgers: Vec::new(),
            disk: None,
            pac: None,
            log: None,
            admin: None,
            drain: Duration::from_secs(25),
            server_timing: false,
        }
    }
}

/// A port that is listened on.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The address.
    pub address: SocketAddr,
    /// Its TLS; none is clear text.
    pub tls: Option<tls::Server>,
    /// What it does with the same port of UDP; none: nothing.
    pub http3: Option<Http3>,
    /// Whether it speaks SOCKS, too.
    pub socks: bool,
}

/// HTTP/3 at a port.
#[derive(Clone, Debug)]
pub struct Http3 {
    /// Takes connections.
    pub acceptor: h3::Acceptor,
    /// How long clients that come by TCP may remember that it is there; none: they are not told.
    pub advertised: Option<Duration>,
}

impl Http3 {
    /// What clients that come by TCP are told (`Alt-Svc`), if it listens at `port`.
    pub fn alternative(&self, port: u16) -> Option<HeaderValue> {
        let alternative = Alternative { max_age: self.advertised?, ..Alternative::h3(port) };
        let field = AltSvc::Services(vec![alternative]).to_string();
        Some(HeaderValue::from_str(&field).expect("tokens and numbers are ASCII"))
    }
}

/// Who may use a proxy.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// By their addresses.
    pub clients: Clients,
    /// By their names and passwords.
    pub users: Option<Arc<Users>>,
}

/// What a forward proxy does.
#[derive(Clone, Debug)]
pub struct Forward {
    /// What may be reached.
    pub destinations: Destinations,
    /// What origins are told of clients.
    pub disclosure: Disclosure,
}

/// Whose tunnels end here.
#[derive(Clone, Debug)]
pub struct Intercept {
    /// The hosts; never empty.
    pub hosts: Vec<String>,
    /// Makes their certificates.
    pub issuer: Arc<tls::Issuer>,
}

impl Intercept {
    /// Whether a tunnel to `host` ends here.
    pub fn covers(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| matches(pattern, host))
    }
}

/// Some hosts' origins.
#[derive(Clone, Debug)]
pub struct Reverse {
    /// The hosts that clients ask for; none means any.
    pub hosts: Vec<String>,
    /// Their origins, which take turns.
    pub origins: Arc<[Destination]>,
    /// Which of them answer.
    pub health: Arc<Health>,
    /// The host that origins are asked for.
    pub host_field: HostField,
    /// What origins are told of clients.
    pub disclosure: Disclosure,
    /// Proxies before this one, whose word on clients is taken.
    pub trusted: Vec<IpNet>,
    /// Fields that are taken off requests of all others.
    pub overrides: Overrides,
    /// Their part of the cache.
    pub partition: Partition,
}

impl Reverse {
    /// The part of a cache for what such a table leads to: of its own, for what clients have fetched from elsewhere under a name is not what
    /// is behind it here, and the same after a restart, wherever the table stands.
    pub fn partition_of(hosts: &[String], origins: &[Destination], host: HostField) -> Partition {
        let origins = origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let told = format!("{}\n{origins}\n{host:?}", hosts.join(" "));
        let digest = ring::digest::digest(&ring::digest::SHA256, told.as_bytes());
        let [a, b, c, d, ..] = digest.as_ref() else { unreachable!("it has 32 bytes") };
        // The first is the forward proxy's.
        Partition(u32::from_le_bytes([*a, *b, *c, *d]).max(1))
    }
}

/// Which host a reverse proxy asks its origins for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HostField {
    /// That which the client asked for.
    #[default]
    Client,
    /// The origin's own.
    Origin,
}

/// The operator's port.
#[derive(Clone, Debug)]
pub struct Admin {
    /// The address.
    pub address: SocketAddr,
    /// Who may ask; everybody who can reach it, if nobody is named.
    pub users: Option<Arc<Users>>,
}

/// What origins' certificates are held against.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// The machine's authorities.
    #[default]
    System,
    /// Those in this PEM file.
    File(PathBuf),
}

/// An auto-configuration file that is served.
#[derive(Clone, Debug)]
pub struct PacFile {
    /// Its path.
    pub path: String,
    /// What it says.
    pub pac: Pac,
}

/// Where and how requests are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Where to.
    pub place: LogPlace,
    /// How.
    pub format: LogFormat,
}

/// Where a log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPlace {
    /// Standard output.
    Output,
    /// A file, which is opened again on SIGHUP.
    File(PathBuf),
}

/// How a log's lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// One JSON object a line, with the request's timeline.
    #[default]
    Json,
    /// The Common Log Format.
    Common,
}
