//! A browser's stub resolver: one lookup per host at a time, answers cached for their TTL.
//!
//! A known address waits briefly for the HTTPS record that was queried beside it, as in Chromium
//! (`MaybeStartTimeoutTimer` in net/dns/host_resolver_dns_task.cc): a fifth of the time that the addresses took,
//! between 5 ms and 50 ms.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use simple_dns::TYPE;
use thiserror::Error;
use tokio::sync::oneshot;
use units::Time;
use world::UdpSocket;

use super::message::{DnsAnswer, MOST_BYTES, QueryTypes, TTL_SECONDS, question, read_answer};
use crate::message::HttpsRecord;

/// `UseDnsHttpsSvcbInsecureExtraTimePercent`, `...Min` and `...Max` (net/base/features.cc).
const EXTRA_SHARE: u32 = 5;
const LEAST_EXTRA: Duration = Duration::from_millis(5);
const MOST_EXTRA: Duration = Duration::from_millis(50);

/// A resolver's settings: server, record types, retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolverSettings {
    /// The recursive resolver.
    pub server: SocketAddr,
    /// The record types queried for each name.
    pub questions: QueryTypes,
    /// The retransmission schedule.
    pub retry: Retry,
}

/// The reason that a name has no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LookupError {
    /// The name is invalid.
    #[error("`{host}` is not a valid DNS name")]
    NotAName {
        /// The name.
        host: String,
    },
    /// The resolver says that the name does not exist or has no address.
    #[error("no DNS address for `{host}`")]
    Unknown {
        /// The name.
        host: String,
    },
    /// The resolver did not answer.
    #[error("DNS query for `{host}` timed out after {attempts} attempts")]
    Unanswered {
        /// The name.
        host: String,
        /// Number of attempts.
        attempts: usize,
    },
    /// The query could not be sent.
    #[error("DNS query for `{host}` failed: {reason}")]
    Unreachable {
        /// The name.
        host: String,
        /// The reason.
        reason: String,
    },
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLookup {
    /// The host's address.
    pub address: IpAddr,
    /// The host's HTTPS record; none if there is none, it was not queried or did not arrive in time.
    pub service: Option<HttpsRecord>,
}

type LookupResult = Result<HostLookup, LookupError>;

/// A stub resolver. Clones share its cache.
#[derive(Clone)]
pub struct Resolver(Rc<ResolverInner>);

struct ResolverInner {
    settings: ResolverSettings,
    names: RefCell<BTreeMap<String, NameState>>,
}

/// The state of a name.
enum NameState {
    /// Resolved, and valid until this time.
    Known(HostLookup, Time),
    /// Being looked up; the channels of the waiting callers.
    Asked(Vec<oneshot::Sender<LookupResult>>),
}

impl Resolver {
    /// A resolver with an empty cache.
    pub fn new(settings: ResolverSettings) -> Resolver {
        Resolver(Rc::new(ResolverInner { settings, names: RefCell::default() }))
    }

    /// The address of `host`: at once if `host` is an address or cached.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn resolve(&self, host: &str) -> Result<IpAddr, LookupError> {
        self.look_up(host).await.map(|found| found.address)
    }

    /// The result of all queries for `host`: at once if `host` is an address or cached.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn look_up(&self, host: &str) -> Result<HostLookup, LookupError> {
        if let Some(known) = self.known(host) {
            return Ok(known);
        }
        let (found, waiting) = oneshot::channel();
        self.ask(host, Some(found));
        waiting.await.unwrap_or_else(|_| {
            let reason = "the lookup was given up".to_owned();
            Err(LookupError::Unreachable { host: host.to_owned(), reason })
        })
    }

    /// Looks up `host` in advance, unless it is cached or being looked up.
    pub fn prefetch(&self, host: &str) {
        if self.known(host).is_none() {
            self.ask(host, None);
        }
    }

    /// Empties the cache. Callers that wait for an answer still get it.
    pub fn forget(&self) {
        self.0.names.borrow_mut().retain(|_, name| matches!(name, NameState::Asked(_)));
    }

    fn known(&self, host: &str) -> Option<HostLookup> {
        if let Ok(address) = host.parse() {
            return Some(HostLookup { address, service: None });
        }
        match self.0.names.borrow().get(host) {
            Some(NameState::Known(known, until)) if world::now() < *until => Some(known.clone()),
            _ => None,
        }
    }

    /// Starts a lookup unless one is under way; `found` receives its result.
    fn ask(&self, host: &str, found: Option<oneshot::Sender<LookupResult>>) {
        let mut names = self.0.names.borrow_mut();
        if let Some(NameState::Asked(waiting)) = names.get_mut(host) {
            waiting.extend(found);
            return;
        }
        names.insert(host.to_owned(), NameState::Asked(found.into_iter().collect()));
        let (resolver, host) = (self.clone(), host.to_owned());
        world::spawn(async move {
            let answer = lookup(&host, resolver.0.settings).await;
            resolver.tell(&host, &answer);
        });
    }

    fn tell(&self, host: &str, answer: &LookupResult) {
        let mut names = self.0.names.borrow_mut();
        let before = match answer {
            Ok(found) => {
                let until = world::now() + Duration::from_secs(u64::from(TTL_SECONDS));
                names.insert(host.to_owned(), NameState::Known(found.clone(), until))
            }
            Err(_) => names.remove(host),
        };
        let Some(NameState::Asked(waiting)) = before else { return };
        for one in waiting {
            // The caller may have given up.
            let _ = one.send(answer.clone());
        }
    }
}

/// Queries a name until all questions are answered or the attempts are used up. All attempts share one port; an answer
/// to any of them counts.
async fn lookup(host: &str, settings: ResolverSettings) -> LookupResult {
    let unreachable = |error: io::Error| LookupError::Unreachable {
        host: host.to_owned(),
        reason: error.to_string(),
    };
    let mut asking = PendingLookup::begin(host, settings).map_err(|problem| match problem {
        LookupProblem::NotAName => LookupError::NotAName { host: host.to_owned() },
        LookupProblem::Socket(error) => unreachable(error),
    })?;
    let began = world::now();
    for wait in settings.retry.waits() {
        asking.ask().await.map_err(unreachable)?;
        match world::timeout(*wait, asking.hear(PendingLookup::lacks_addresses)).await {
            Ok(heard) => {
                heard.map_err(unreachable)?;
                asking.wait_for_service(world::now().since(began)).await.map_err(unreachable)?;
                let unknown = LookupError::Unknown { host: host.to_owned() };
                return asking.found().ok_or(unknown);
            }
            // As in browsers: a known address does not wait for the answer that there is no IPv6 address.
            Err(_) if asking.address.is_some() => break,
            Err(_) => {}
        }
    }
    let attempts = settings.retry.waits().len();
    asking.found().ok_or_else(|| LookupError::Unanswered { host: host.to_owned(), attempts })
}

/// The reason that a lookup cannot begin.
enum LookupProblem {
    NotAName,
    Socket(io::Error),
}

/// A lookup under way.
struct PendingLookup {
    socket: UdpSocket,
    server: SocketAddr,
    /// Questions without an answer so far.
    open: Vec<Open>,
    address: Option<IpAddr>,
    service: Option<HttpsRecord>,
}

/// A question without an answer so far.
struct Open {
    id: u16,
    kind: TYPE,
    bytes: Vec<u8>,
}

impl PendingLookup {
    fn begin(host: &str, settings: ResolverSettings) -> Result<PendingLookup, LookupProblem> {
        let mut ids = world::stream(&format!("dns/{host}"));
        let asked = settings.questions.types().iter().zip(0..).map(|(kind, nth)| {
            // Distinct ids, whatever is drawn.
            let id = ((ids.below(1 << 15) as u16) << 1).wrapping_add(nth);
            question(id, host, *kind).map(|bytes| Open { id, kind: *kind, bytes })
        });
        let open = asked.collect::<Result<_, _>>().map_err(|_| LookupProblem::NotAName)?;
        let socket =
            UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0).into()).map_err(LookupProblem::Socket)?;
        Ok(PendingLookup { socket, server: settings.server, open, address: None, service: None })
    }

    async fn ask(&self) -> io::Result<()> {
        for question in &self.open {
            self.socket.send_to(&question.bytes, self.server).await?;
        }
        Ok(())
    }

    /// Returns true if an answer about addresses, positive or negative, is outstanding.
    fn lacks_addresses(&self) -> bool {
        self.open.iter().any(|question| question.kind != TYPE::HTTPS)
    }

    /// Returns true if any answer is outstanding.
    fn lacks_any(&self) -> bool {
        !self.open.is_empty()
    }

    /// Waits briefly for the other answers, now that the addresses have come after `took`.
    async fn wait_for_service(&mut self, took: Duration) -> io::Result<()> {
        if !self.lacks_any() {
            return Ok(());
        }
        let extra = (took / EXTRA_SHARE).clamp(LEAST_EXTRA, MOST_EXTRA);
        // An answer that has not come by then counts as missing.
        world::timeout(extra, self.hear(PendingLookup::lacks_any)).await.unwrap_or(Ok(()))
    }

    /// Receives answers while something `lacks`.
    async fn hear(&mut self, lacks: fn(&PendingLookup) -> bool) -> io::Result<()> {
        let mut datagram = [0; MOST_BYTES];
        while lacks(self) {
            let (bytes, from) = self.socket.recv_from(&mut datagram).await?;
            if let Some((id, answer)) =
                read_answer(&datagram[..bytes]).filter(|_| from == self.server)
            {
                self.take(id, answer);
            }
        }
        Ok(())
    }

    fn take(&mut self, id: u16, answer: DnsAnswer) {
        let Some(at) = self.open.iter().position(|question| question.id == id) else { return };
        let asked = self.open.remove(at);
        match answer {
            DnsAnswer::Address(found) if asked.kind != TYPE::HTTPS => {
                self.address = Some(found.into())
            }
            DnsAnswer::Service(found) if asked.kind == TYPE::HTTPS => self.service = Some(found),
            _ => {}
        }
    }

    fn found(&mut self) -> Option<HostLookup> {
        let service = self.service.take();
        self.address.map(|address| HostLookup { address, service })
    }
}

/// A stub resolver's retransmission schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Chromium's own client: 1 s (`kDnsDefaultFallbackPeriod`, net/dns/dns_config.h), 2 s for the second attempt of
    /// two, and then the system's resolver, which is glibc's.
    #[default]
    Chrome,
    /// glibc: 5 s, two attempts (`RES_TIMEOUT`, `RES_DFLRETRY`; resolv.conf(5)).
    Glibc,
}

const CHROME: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(5),
];
const GLIBC: [Duration; 2] = [Duration::from_secs(5); 2];

impl Retry {
    /// Timeout of each attempt.
    pub fn waits(self) -> &'static [Duration] {
        match self {
            Retry::Chrome => &CHROME,
            Retry::Glibc => &GLIBC,
        }
    }
}
