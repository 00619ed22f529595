//! A browser's stub resolver: one lookup a host at a time, answers kept for as long as they hold.

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

use super::message::{Answer, MOST_BYTES, Questions, TTL_SECONDS, question, read_answer};
use super::retry::Retry;

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

type Found = Result<IpAddr, LookupError>;

/// A stub resolver. Clones share what it knows.
#[derive(Clone)]
pub struct Resolver(Rc<Inner>);

struct Inner {
    settings: Settings,
    names: RefCell<BTreeMap<String, Name>>,
}

/// What is known of a name.
enum Name {
    /// Its address, and until when that holds.
    Known(IpAddr, Time),
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
    pub async fn resolve(&self, host: &str) -> Found {
        if let Some(address) = self.known(host) {
            return Ok(address);
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

    fn known(&self, host: &str) -> Option<IpAddr> {
        if let Ok(address) = host.parse() {
            return Some(address);
        }
        match self.0.names.borrow().get(host) {
            Some(Name::Known(address, until)) if world::now() < *until => Some(*address),
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
            Ok(address) => {
                let until = world::now() + Duration::from_secs(u64::from(TTL_SECONDS));
                names.insert(host.to_owned(), Name::Known(*address, until))
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
    let mut open = questions(host, settings.questions)?;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0).into()).map_err(unreachable)?;
    let mut address = None;
    for wait in settings.retry.waits() {
        for (_, question) in &open {
            socket.send_to(question, settings.server).await.map_err(unreachable)?;
        }
        let answered = hear(&socket, settings.server, &mut open, &mut address);
        match world::timeout(*wait, answered).await {
            Ok(heard) => {
                heard.map_err(unreachable)?;
                return address.ok_or_else(|| LookupError::Unknown { host: host.to_owned() });
            }
            // As browsers do: an address in hand is not kept waiting for the answer that there is no other.
            Err(_) if address.is_some() => break,
            Err(_) => {}
        }
    }
    let attempts = settings.retry.waits().len();
    address.ok_or_else(|| LookupError::Unanswered { host: host.to_owned(), attempts })
}

/// The questions for a name, by their ids.
fn questions(host: &str, questions: Questions) -> Result<Vec<(u16, Vec<u8>)>, LookupError> {
    let mut ids = world::stream(&format!("dns/{host}"));
    let asked = questions.types().iter().zip(0..).map(|(kind, nth)| {
        // Different, whatever is drawn.
        let id = (ids.below(1 << 15) as u16) << 1 | nth;
        question(id, host, *kind).map(|bytes| (id, bytes))
    });
    let asked: Result<_, _> = asked.collect();
    asked.map_err(|_| LookupError::NotAName { host: host.to_owned() })
}

/// Takes answers until no question is open.
async fn hear(
    socket: &UdpSocket,
    server: SocketAddr,
    open: &mut Vec<(u16, Vec<u8>)>,
    address: &mut Option<IpAddr>,
) -> io::Result<()> {
    let mut datagram = [0; MOST_BYTES];
    while !open.is_empty() {
        let (bytes, from) = socket.recv_from(&mut datagram).await?;
        let Some((id, answer)) = read_answer(&datagram[..bytes]).filter(|_| from == server) else {
            continue;
        };
        let before = open.len();
        open.retain(|(question, _)| *question != id);
        if let (Answer::Address(found), true) = (answer, open.len() < before) {
            *address = Some(found.into());
        }
    }
    Ok(())
}
