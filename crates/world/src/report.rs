//! What a world reports of itself: its links, the packets that did not arrive, and both ends of each connection.
//!
//! The simulated world reports all of it ([`sim::report`](crate::sim::report)). The real one sees the ends of its own connections only
//! ([`real::report`](crate::real::report)); what lies between them is for the emulator to tell.

use std::net::SocketAddr;

use net::{DropCause, Energy, LinkConfig, LinkStats, RadioConfig, Transition};
use serde::{Deserialize, Serialize};
use units::Time;

use crate::ambient;

/// A packet that did not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// When it met its end.
    pub at: Time,
    /// On which link, as an index into [`Report::links`].
    pub link: usize,
    /// Whose it was: the number of the client that sent it or was to get it.
    pub user: u32,
    /// Its size, IP header included.
    pub wire_bytes: u32,
    /// Why.
    pub cause: DropCause,
}

/// One end of a connection: TCP's, or one of a transport above UDP that [adds](add) its own and says what its numbers mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its own address.
    pub local: SocketAddr,
    /// The other end's.
    pub peer: SocketAddr,
    /// The socket's number (`SO_COOKIE`), unique on the machine: emulated networks side by side have the same addresses. None in the
    /// simulated world, and where the system has none.
    pub cookie: Option<u64>,
    /// Whether this end sent the first SYN.
    pub active: bool,
    /// When the socket was made. The real world sees one that was accepted only then, some time after its SYN came.
    pub opened_at: Time,
    /// When it was gone, if it is. In the real world when its owner let go of it: the kernel may go on sending, and counting, unseen.
    pub closed_at: Option<Time>,
    /// What TCP counted; the kernel's exact meanings are told in the crate `kernel`'s `snapshot`. None where it cannot be asked: in
    /// the real world on other systems than Linux.
    pub stats: Option<tcp::Stats>,
    /// What it sent again, when and why. The real world does not know that of itself: always empty there.
    pub retransmits: Vec<tcp::Retransmit>,
    /// How it moved, if the [plan](crate::sim::Plan::record_series) or the [configuration](crate::real::Recording) asked for that.
    pub series: Vec<tcp::Sample>,
    /// What lay above its socket, if the plan asked for series. The simulated world alone keeps that.
    pub held: Vec<Held>,
    /// Its qlog, if it is QUIC's and series are kept; else empty.
    pub qlog: String,
}

impl Endpoint {
    /// The same without what is long: how it moved, what lay above its socket, its qlog.
    #[must_use]
    pub fn without_series(&self) -> Endpoint {
        let Endpoint { local, peer, cookie, active, opened_at, closed_at, .. } = *self;
        let (stats, retransmits) = (self.stats.clone(), self.retransmits.clone());
        let (series, held, qlog) = (Vec::new(), Vec::new(), String::new());
        Endpoint {
            local,
            peer,
            cookie,
            active,
            opened_at,
            closed_at,
            stats,
            retransmits,
            series,
            held,
            qlog,
        }
    }
}

/// How many bytes lay where above a socket, at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// When.
    pub at: Time,
    /// Ready in the application and not handed down.
    pub application_bytes: u64,
    /// Records, overhead included, that TLS has encrypted and the socket has not taken.
    pub tls_bytes: u64,
    /// Then in the socket, and not sent yet.
    pub socket_unsent_bytes: u64,
}

/// A link: what it was to be, and what it did for all clients together.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// Its name in the plan.
    pub name: String,
    /// How it was described.
    pub config: LinkConfig,
    /// What it has done so far.
    pub stats: LinkStats,
    /// Bytes that it delivered, by the number of the client that sent or got them; clients without any may be missing.
    pub delivered_bytes: Vec<u64>,
}

/// A radio: what it was to be, and what it did.
#[derive(Clone, Debug)]
pub struct RadioReport {
    /// Its name in the plan.
    pub name: String,
    /// How it was described.
    pub config: RadioConfig,
    /// Its changes of state so far, in time's order. It begins idle.
    pub transitions: Vec<Transition>,
    /// What it has spent so far.
    pub energy: Energy,
    /// What it will spend until it has come to rest, if no packet comes.
    pub tail: Energy,
}

/// An account of what happened so far.
#[derive(Clone, Debug)]
pub struct Report {
    /// Digest over (time, link, size) of every packet's arrival: equal digests, equal traces. None where time is not virtual: no
    /// two traces are equal there.
    pub digest: Option<u64>,
    /// Each link, in the plan's order.
    pub links: Vec<LinkReport>,
    /// Each radio, in the plan's order.
    pub radios: Vec<RadioReport>,
    /// Packets that did not arrive, in time's order.
    pub drops: Vec<Drop>,
    /// Both ends of every connection: closed ones first.
    pub endpoints: Vec<Endpoint>,
}

/// What a world keeps of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// Nothing.
    Nothing,
    /// Both ends as they stand in the end.
    Endpoints,
    /// How they moved, too.
    Series,
}

/// What this thread's world keeps of connections.
pub fn keeping() -> Keeping {
    ambient::with_common(|common| common.keeping)
}

/// Adds to this thread's world's report the end of a connection that the world's own transport knows nothing of. `tell` is asked whenever a
/// report is made, until the world ends; it must not ask for one.
pub fn add(tell: impl Fn() -> Endpoint + 'static) {
    ambient::with_common(|common| {
        if common.keeping != Keeping::Nothing {
            common.added.borrow_mut().push(Box::new(tell));
        }
    });
}
