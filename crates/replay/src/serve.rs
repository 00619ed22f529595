//! A replay: the servers of all hosts, and the name server that leads to them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use archive::RecordedLoad;
use archive::matching::RecordedRequests;
use dns::{RecursiveResolver, Zone};
use http_stack::h3;
use http_stack::server::{Acceptor, Reply};
use proxy::origin::{BoundOrigin, Listen, Meters, UdpPort};
use thiserror::Error;
use tls::{HostCertificates, Issuer, IssuerError, NewAuthority, Protocol, Security};

use crate::deterministic;
use crate::handler::{ReplayHandler, SharedHandler};
use crate::journal::{ReplayJournal, RequestOutcome};
use crate::replies::{self, ReplyOptions};
use crate::site::{ReplayProtocol, ReplayedPort, ReplayedSite, SiteError};

/// Settings of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplaySettings {
    /// Protocol of the servers.
    pub protocol: ReplayProtocol,
    /// Time that the answer of each exchange takes; missing ones take none.
    pub think: Vec<Duration>,
    /// True if documents get a script that fixes chance and date.
    pub is_deterministic: bool,
    /// Settings of HTTP/3's servers.
    pub h3: h3::settings::Server,
    /// The date, since 1970.
    pub now: Duration,
}

/// A replay that cannot be.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The load has hosts that cannot be replayed.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A certificate cannot be made.
    #[error("no certificate for {host}: {problem}")]
    Certificate {
        /// The host.
        host: String,
        /// The problem.
        #[source]
        problem: IssuerError,
    },
}

/// A replay of a load, ready to serve.
pub struct Replay {
    site: ReplayedSite,
    replies: Vec<Option<Reply>>,
    requests: RecordedRequests,
    think: Vec<Duration>,
    h3: h3::settings::Server,
    authority: String,
    issuer: Arc<Issuer>,
    certificates: BTreeMap<IpAddr, HostCertificates>,
    journal: Arc<Mutex<ReplayJournal>>,
}

impl Replay {
    /// Prepares the replies, and certificates by an authority of their own.
    ///
    /// # Errors
    /// If the load has no host that can be replayed, or one whose name no certificate can have.
    pub fn new(load: &RecordedLoad, settings: ReplaySettings) -> Result<Replay, ReplayError> {
        let site = ReplayedSite::of(load, settings.protocol)?;
        let unmade = |host: &str| {
            let host = host.to_owned();
            move |problem| ReplayError::Certificate { host, problem }
        };
        let NewAuthority { certificate, key } =
            NewAuthority::new(settings.now).map_err(unmade("the authority"))?;
        let issuer = Issuer::of_operator(
            certificate.as_bytes(),
            key.as_bytes(),
            &[Protocol::H2, Protocol::H1],
        );
        let issuer = issuer.map(Arc::new).map_err(unmade("the authority"))?;
        let mut certificates: BTreeMap<IpAddr, HostCertificates> = BTreeMap::new();
        for host in &site.hosts {
            let known = certificates.entry(host.address).or_default();
            known
                .add(&issuer, &host.certificate_names, host.chain_bytes, settings.now)
                .map_err(unmade(&host.name))?;
        }
        let script = settings.is_deterministic.then(|| deterministic::script(load.began));
        let age = settings.now.saturating_sub(load.began);
        let replies =
            replies::of_load(load, &site, ReplyOptions { age, script: script.as_deref() });
        Ok(Replay {
            requests: RecordedRequests::of(&load.exchanges),
            think: settings.think,
            h3: settings.h3,
            journal: Arc::default(),
            authority: certificate,
            site,
            replies,
            issuer,
            certificates,
        })
    }

    /// The hosts.
    pub fn site(&self) -> &ReplayedSite {
        &self.site
    }

    /// The authority that clients must trust, PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Issuer of certificates by that authority, for a proxy in front that intercepts tunnels.
    pub fn issuer(&self) -> Arc<Issuer> {
        Arc::clone(&self.issuer)
    }

    /// SHA-256 of the public key of all certificates, as [`tls::Identity::public_key_sha256`].
    pub fn key_sha256(&self) -> [u8; 32] {
        self.issuer.leaf_key_sha256()
    }

    /// Journal of requests, while it serves and after.
    pub fn journal(&self) -> Arc<Mutex<ReplayJournal>> {
        Arc::clone(&self.journal)
    }

    /// Binds all ports, and that of a name server at the address `resolver`.
    ///
    /// # Errors
    /// If a port cannot be bound.
    ///
    /// # Panics
    /// If TLS rejects settings of our own.
    pub fn bind(self, resolver: IpAddr) -> io::Result<BoundReplay> {
        let mut origins = Vec::new();
        let mut bound = BTreeMap::new();
        for host in &self.site.hosts {
            for (port, kind) in &host.ports {
                let address = SocketAddr::new(host.address, *port);
                if bound.insert(address, ()).is_none() {
                    origins.push(self.listen(address, *kind).bind()?);
                }
            }
        }
        let zone: Zone =
            self.site.hosts.iter().map(|host| (host.name.clone(), host.address)).collect();
        let names = RecursiveResolver {
            zone,
            service: None,
            think: Duration::ZERO,
            hit_ratio: 1.0,
            miss: Duration::ZERO,
        };
        let handler = SharedHandler(Rc::new(ReplayHandler {
            requests: RefCell::new(self.requests),
            replies: self.replies,
            think: self.think,
            journal: Arc::clone(&self.journal),
        }));
        Ok(BoundReplay {
            origins,
            names: names.bind(SocketAddr::new(resolver, dns::PORT))?,
            handler,
            journal: self.journal,
        })
    }

    fn listen(&self, address: SocketAddr, kind: ReplayedPort) -> Listen {
        let mut acceptor = Acceptor::new(Security::None);
        let mut udp = UdpPort::Closed;
        if let ReplayedPort::Secure { best, has_h3 } = kind {
            let certificates = &self.certificates[&address.ip()];
            let protocols: &[Protocol] = match best {
                Protocol::H1 => &[Protocol::H1],
                best => &[best, Protocol::H1],
            };
            let ours = "our own key and suites suit TLS";
            acceptor.tls = Some(certificates.server(&self.issuer, protocols).expect(ours));
            if has_h3 {
                let config = certificates.quic_config(&self.issuer).expect(ours);
                udp = UdpPort::H3(h3::Acceptor::of(config, self.h3.clone()));
            }
        }
        Listen { address, acceptor, udp }
    }
}

/// A replay whose ports are open.
pub struct BoundReplay {
    origins: Vec<BoundOrigin>,
    names: dns::Listening,
    handler: SharedHandler,
    journal: Arc<Mutex<ReplayJournal>>,
}

impl BoundReplay {
    /// Serves without end.
    pub async fn serve(self) {
        for origin in self.origins {
            let handler = Rc::new(self.handler.clone());
            world::spawn(async move {
                // A listener fails if the machine runs out of descriptors: clients are refused, and say so.
                let _ = origin.serve(handler, Meters::default()).await;
            });
        }
        let journal = self.journal;
        self.names
            .serve_noting(move |name| {
                let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
                journal.note(RequestOutcome::UnknownName, || name.to_owned());
            })
            .await;
    }
}
