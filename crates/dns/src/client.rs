//! A browser's stub resolver: one lookup a host at a time, answers kept for as long as they hold.
//!
//! An address in hand waits a little for the HTTPS record that was asked for beside it, as in Chromium (`MaybeStartTimeoutTimer` in
//! net/dns/host_resolver_dns_task.cc): a fifth of what the addresses took, 5 ms at least and 50 ms at most.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::oneshot;
use units::Time;
use world::UdpSocket;

use simple_dns::TYPE;

use super::message::{Answer, MOST_BYTES, Questions, TTL_SECONDS, question, read_answer};
use super::retry::Retry;
use super::service::Service;

/// `UseDnsHttpsSvcbInsecureExtraTimePercent`, `...Min` and `...Max` (net/base/features.cc).
const EXTRA_SHARE: u32 = 5;
const LEAST_EXTRA: Duration = Duration::from_millis(5);
const MOST_EXTRA: Duration = Duration::from_millis(50);

/// Whom a resolver asks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The recursive resolver.
    pub server: SocketAddr,
    /// What is asked of each name.
    pub questions: Questions,
    /// When a question is asked again.
    pub retry: Retry,
}

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LookupError {
    /// It is no name.
    #[error("`{host}` is no name that DNS could be asked for")]
    NotAName {
        /// The name.
        host: String,
    },
    /// The resolver says that it does not exist, or has no address.
    #[error("DNS knows no address of `{host}`")]
    Unknown {
        /// The name.
        host: String,
    },
    /// The resolver did not answer.
    #[error("DNS did not answer for `{host}` in {attempts} attempts")]
    Unanswered {
        /// The name.
        host: String,
        /// How often it was asked.
        attempts: usize,
    },
    /// There was no way to ask.
    #[error("DNS could not be asked for `{host}`: {reason}")]
    Unreachable {
        /// The name.
        host: String,
        /// Why.
        reason: String,
    },
}

/// What DNS knows of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Where it is.
    pub address: IpAddr,
    /// How it is spoken to; none if there is no such record, it was not asked for or did not come in time.
    pub service: Option<Service>,
}

type Found = Result<Host, LookupError>;

/// A stub resolver. Clones share what it knows.
#[derive(Clone)]
pub struct Resolver(Rc<Inner>);

struct Inner {
    settings: Settings,
    names: RefCell<BTreeMap<String, Name>>,
}

/// What is known of a name.
enum Name {
    /// What it is, and until when that holds.
    Known(Host, Time),
    /// It is being asked for; who waits for it.
    Asked(Vec<oneshot::Sender<Found>>),
}

impl Resolver {
    /// A resolver that knows nothing yet.
    pub fn new(settings: Settings) -> Resolver {
        Resolver(Rc::new(Inner { settings, names: RefCell::default() }))
    }

    /// The address of `host`: at once if it is one or is known.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn resolve(&self, host: &str) -> Result<IpAddr, LookupError> {
        self.look_up(host).await.map(|found| found.address)
    }

    /// All that was asked of `host`: at once if it is an address or is known.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub async fn look_up(&self, host: &str) -> Result<Host, LookupError> {
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

    /// Asks for `host` in advance, unless it is known or being asked for.
    pub fn prefetch(&self, host: &str) {
        if self.known(host).is_none() {
            self.ask(host, None);
        }
    }

    /// Forgets what it knows. Whoever waits for an answer still gets it.
    pub fn forget(&self) {
        self.0.names.borrow_mut().retain(|_, name| matches!(name, Name::Asked(_)));
    }

    fn known(&self, host: &str) -> Option<Host> {
        if let Ok(address) = host.parse() {
            return Some(Host { address, service: None });
        }
        match self.0.names.borrow().get(host) {
            Some(Name::Known(known, until)) if world::now() < *until => Some(known.clone()),
            _ => None,
        }
    }

    /// Begins a lookup unless one is under way; `found` hears of its end.
    fn ask(&self, host: &str, found: Option<oneshot::Sender<Found>>) {
        let mut names = self.0.names.borrow_mut();
        if let Some(Name::Asked(waiting)) = names.get_mut(host) {
            waiting.extend(found);
            return;
        }
        names.insert(host.to_owned(), Name::Asked(found.into_iter().collect()));
        let (resolver, host) = (self.clone(), host.to_owned());
        world::spawn(async move {
            let answer = lookup(&host, resolver.0.settings).await;
            resolver.tell(&host, &answer);
        });
    }

    fn tell(&self, host: &str, answer: &Found) {
        let mut names = self.0.names.borrow_mut();
        let before = match answer {
            Ok(found) => {
                let until = world::now() + Duration::from_secs(u64::from(TTL_SECONDS));
                names.insert(host.to_owned(), Name::Known(found.clone(), until))
            }
            Err(_) => names.remove(host),
        };
        let Some(Name::Asked(waiting)) = before else { return };
        for one in waiting {
            // Who has given up need not hear of it.
            let _ = one.send(answer.clone());
        }
    }
}

/// Asks for a name until all questions are answered, or patience is at its end. All attempts are made from one port; an answer to any counts.
async fn lookup(host: &str, settings: Settings) -> Found {
    let unreachable = |error: io::Error| LookupError::Unreachable {
        host: host.to_owned(),
        reason: error.to_string(),
    };
    let mut asking = Asking::begin(host, settings).map_err(|problem| match problem {
        Problem::NotAName => LookupError::NotAName { host: host.to_owned() },
        Problem::Socket(error) => unreachable(error),
    })?;
    let began = world::now();
    for wait in settings.retry.waits() {
        asking.ask().await.map_err(unreachable)?;
        match world::timeout(*wait, asking.hear(Asking::lacks_addresses)).await {
            Ok(heard) => {
                heard.map_err(unreachable)?;
                asking.wait_for_service(world::now().since(began)).await.map_err(unreachable)?;
                let unknown = LookupError::Unknown { host: host.to_owned() };
                return asking.found().ok_or(unknown);
            }
            // As browsers do: an address in hand is not kept waiting for the answer that there is no other.
            Err(_) if asking.address.is_some() => break,
            Err(_) => {}
        }
    }
    let attempts = settings.retry.waits().len();
    asking.found().ok_or_else(|| LookupError::Unanswered { host: host.to_owned(), attempts })
}

/// Why there is nothing to ask.
enum Problem {
    NotAName,
    Socket(io::Error),
}

/// A lookup under way.
struct Asking {
    socket: UdpSocket,
    server: SocketAddr,
    /// Questions that were not answered yet.
    open: Vec<Open>,
    address: Option<IpAddr>,
    service: Option<Service>,
}

/// A question that was not answered yet.
struct Open {
    id: u16,
    kind: TYPE,
    bytes: Vec<u8>,
}

impl Asking {
    fn begin(host: &str, settings: Settings) -> Result<Asking, Problem> {
        let mut ids = world::stream(&format!("dns/{host}"));
        let asked = settings.questions.types().iter().zip(0..).map(|(kind, nth)| {
            // Different, whatever is drawn.
            let id = ((ids.below(1 << 15) as u16) << 1).wrapping_add(nth);
            question(id, host, *kind).map(|bytes| Open { id, kind: *kind, bytes })
        });
        let open = asked.collect::<Result<_, _>>().map_err(|_| Problem::NotAName)?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0).into()).map_err(Problem::Socket)?;
        Ok(Asking { socket, server: settings.server, open, address: None, service: None })
    }

    async fn ask(&self) -> io::Result<()> {
        for question in &self.open {
            self.socket.send_to(&question.bytes, self.server).await?;
        }
        Ok(())
    }

    /// Whether an address, or that there is none, is still to come.
    fn lacks_addresses(&self) -> bool {
        self.open.iter().any(|question| question.kind != TYPE::HTTPS)
    }

    /// Whether any answer is still to come.
    fn lacks_any(&self) -> bool {
        !self.open.is_empty()
    }

    /// Waits a little for what else was asked, now that the addresses have come after `took`.
    async fn wait_for_service(&mut self, took: Duration) -> io::Result<()> {
        if !self.lacks_any() {
            return Ok(());
        }
        let extra = (took / EXTRA_SHARE).clamp(LEAST_EXTRA, MOST_EXTRA);
        // What has not come by then is not there.
        world::timeout(extra, self.hear(Asking::lacks_any)).await.unwrap_or(Ok(()))
    }

    /// Takes answers as long as something `lacks`.
    async fn hear(&mut self, lacks: fn(&Asking) -> bool) -> io::Result<()> {
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

    fn take(&mut self, id: u16, answer: Answer) {
        let Some(at) = self.open.iter().position(|question| question.id == id) else { return };
        let asked = self.open.remove(at);
        match answer {
            Answer::Address(found) if asked.kind != TYPE::HTTPS => {
                self.address = Some(found.into())
            }
            Answer::Service(found) if asked.kind == TYPE::HTTPS => self.service = Some(found),
            _ => {}
        }
    }

    fn found(&mut self) -> Option<Host> {
        let service = self.service.take();
        self.address.map(|address| Host { address, service })
    }
}
