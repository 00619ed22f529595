//! Report of a world: its links, the packets dropped, and both ends of each connection.
//!
//! The simulated world reports all of it ([`sim::report`](crate::sim::report)). The real one sees only the ends of its own connections
//! ([`real::report`](crate::real::report)); the emulator reports on the links between them.

use std::net::SocketAddr;

use net::{DropCause, Energy, LinkConfig, LinkStats, RadioConfig, Transition};
use serde::{Deserialize, Serialize};
use units::Time;

use crate::ambient;

/// A packet that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// Time of the drop.
    pub at: Time,
    /// Link that dropped it, as an index into [`WorldReport::links`].
    pub link: usize,
    /// Number of the client that sent it or was to receive it.
    pub user: u32,
    /// Its size, IP header included.
    pub wire_bytes: u32,
    /// Cause of the drop.
    pub cause: DropCause,
}

/// One end of a connection: TCP's, or one of a transport above UDP that [adds](add) its own and defines its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its own address.
    pub local: SocketAddr,
    /// The other end's address.
    pub peer: SocketAddr,
    /// The socket's number (`SO_COOKIE`), unique on the machine: emulated networks side by side have the same addresses. None in the
    /// simulated world, and on systems without it.
    pub cookie: Option<u64>,
    /// True if this end sent the first SYN.
    pub active: bool,
    /// Time at which the socket was created. In the real world an accepted socket is seen only then, some time after its SYN came.
    pub opened_at: Time,
    /// Time at which the socket was gone, if it is. In the real world, when its owner closed it: the kernel may go on sending, and counting, unseen.
    pub closed_at: Option<Time>,
    /// TCP's counters; the crate `kernel`'s `snapshot` documents the kernel's exact meanings. None if unavailable: in
    /// the real world on systems other than Linux.
    pub stats: Option<tcp::Stats>,
    /// Its retransmissions, with times and causes. Unknown in the real world: always empty there.
    pub retransmits: Vec<tcp::Retransmit>,
    /// Periods from the sending of a lost packet to the detection of its loss, where the transport reports them:
    /// QUIC's do. TCP's are in `retransmits`.
    pub losses: Vec<(Time, Time)>,
    /// Its time series, if requested by the [plan](crate::sim::Plan::record_series) or the [configuration](crate::real::Recording).
    pub series: Vec<tcp::SenderSample>,
    /// Data held above its socket, if the plan asked for series. Simulated world only.
    pub held: Vec<HeldBytes>,
    /// Its qlog, if it is a QUIC connection and series are kept; otherwise empty.
    pub qlog: String,
}

impl Endpoint {
    /// The same without the long parts: time series, data held above its socket, qlog.
    #[must_use]
    pub fn without_series(&self) -> Endpoint {
        let Endpoint { local, peer, cookie, active, opened_at, closed_at, .. } = *self;
        let (stats, retransmits) = (self.stats.clone(), self.retransmits.clone());
        let losses = self.losses.clone();
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
            losses,
            series,
            held,
            qlog,
        }
    }
}

/// Bytes at each layer above a socket, at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBytes {
    /// Time of the change.
    pub at: Time,
    /// Ready in the application and not handed down.
    pub application_bytes: u64,
    /// Records, overhead included, that TLS has encrypted and the socket has not taken.
    pub tls_bytes: u64,
    /// In the socket, and not sent yet.
    pub socket_unsent_bytes: u64,
}

/// A link: its configuration, and its totals for all clients together.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// Its name in the plan.
    pub name: String,
    /// Its configuration.
    pub config: LinkConfig,
    /// Its totals so far.
    pub stats: LinkStats,
    /// Bytes delivered, by the number of the client that sent or received them; clients without any may be missing.
    pub delivered_bytes: Vec<u64>,
    /// Periods during which packets waited or were in service.
    pub busy_periods: Vec<(Time, Time)>,
}

/// A radio: its configuration, and its history.
#[derive(Clone, Debug)]
pub struct RadioReport {
    /// Its name in the plan.
    pub name: String,
    /// Its configuration.
    pub config: RadioConfig,
    /// Its state changes so far, in chronological order. It begins idle.
    pub transitions: Vec<Transition>,
    /// Energy spent so far.
    pub energy: Energy,
    /// Energy that it will spend before it comes to rest, if no packet comes.
    pub tail: Energy,
}

/// Report of events so far.
#[derive(Clone, Debug)]
pub struct WorldReport {
    /// Digest over (time, link, size) of every packet's arrival: equal digests, equal traces. None if time is not virtual: no
    /// two traces are equal then.
    pub digest: Option<u64>,
    /// Each link, in the plan's order.
    pub links: Vec<LinkReport>,
    /// Each radio, in the plan's order.
    pub radios: Vec<RadioReport>,
    /// Dropped packets, in chronological order.
    pub drops: Vec<Drop>,
    /// Both ends of every connection: closed ones first.
    pub endpoints: Vec<Endpoint>,
}

/// Amount of data that a world keeps of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// Nothing.
    Nothing,
    /// Final state of both ends.
    Endpoints,
    /// Their time series, too.
    Series,
}

/// Amount of data that this thread's world keeps of connections.
pub fn keeping() -> Keeping {
    ambient::with_common(|common| common.keeping)
}

/// Adds an end of a connection that the world's own transport does not know to the report of this thread's world. `tell` is called for
/// each report, until the world ends; it must not request a report itself.
pub fn add(tell: impl Fn() -> Endpoint + 'static) {
    ambient::with_common(|common| {
        if common.keeping != Keeping::Nothing {
            common.added.borrow_mut().push(Box::new(tell));
        }
    });
}
