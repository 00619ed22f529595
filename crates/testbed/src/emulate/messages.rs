//! What the processes of an emulated journey tell each other.

use std::net::SocketAddr;
use std::path::PathBuf;

use emu::Wire;
use net::{DropCause, Energy, LinkStats, Transition};
use record::{Carried, EmulationRecord, Proxied, VisitRecord};
use serde::{Deserialize, Serialize};
use world::report::Endpoint;

use super::capture::Frame;
use super::packets::SentAgain;
use crate::tour::{ArrivedBody, Detail, Shown};
use scenario::Scenario;

/// What every process is told first: the journey.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) scenario: Scenario,
    /// Which of the scenario's clients it is for; means nothing to others than clients.
    pub(super) client: u32,
    pub(super) seed: u64,
    pub(super) detail: Detail,
    /// The browser's program, if there is one.
    pub(super) chromium: Option<PathBuf>,
    /// What the wires are to be made of, if somebody says so.
    pub(super) wire: Option<Wire>,
}

/// What the supervisor answers to farlink in the end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// What was measured.
    Emulated(Box<Emulated>),
    /// Why nothing was.
    Failed(String),
}

/// A journey that was emulated.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Emulated {
    /// When its world began: nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) began_ns: u64,
    pub(super) visits: Vec<VisitRecord>,
    pub(super) punctuality: EmulationRecord,
    /// Why its times are not those of the network, if they are not.
    pub(super) invalid: Option<String>,
    /// The ends of its connections with their series, if they were asked for.
    pub(super) endpoints: Vec<Endpoint>,
    /// Its packets, if they were asked for.
    pub(super) frames: Vec<Frame>,
    pub(super) notes: Vec<String>,
    pub(super) shown: Vec<Shown>,
    /// What arrived, if it was asked for.
    pub(super) bodies: Vec<ArrivedBody>,
}

/// What a node tells the supervisor when it has read the page, and the client also when it has settled.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Prepared {
    /// It has done what it was to do and can go on.
    Ready,
    /// It cannot.
    Failed(String),
}

/// The supervisor's word to the client to make itself ready for the page; the network is not there yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Settle {
    /// Where it may write files, if it needs any. They vanish with the sandbox.
    pub(super) files: Option<PathBuf>,
}

/// The supervisor's word to begin.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Begin {
    /// When the journey's world began: nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) began_ns: u64,
}

/// What the servers' node says when it listens everywhere, and the proxy's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Listening;

/// What a client's node tells the supervisor while it works.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromClient {
    /// It wants the [`NetworkReport`].
    Ask,
    /// The journey is over.
    Done {
        visits: Vec<VisitRecord>,
        /// With series; empty if they are not wanted.
        endpoints: Vec<Endpoint>,
        /// What a reader must know: what the browser did not load, what it complained of.
        notes: Vec<String>,
        /// What a real browser showed, by visit, if one loaded the page.
        shown: Vec<Shown>,
        /// What arrived, if it was asked for and the loader is farlink's own.
        bodies: Vec<ArrivedBody>,
    },
    /// It cannot go on.
    Failed(String),
}

/// What happened so far, but for what the client's own kernel knows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NetworkReport {
    /// In the order of the topology's links.
    pub(super) links: Vec<LinkDone>,
    /// By client.
    pub(super) radios: Vec<RadioDone>,
    pub(super) drops: Vec<Dropped>,
    pub(super) sent_again: Vec<SentAgain>,
    pub(super) servers: ServerReport,
}

/// What a link did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LinkDone {
    pub(super) stats: LinkStats,
    /// By client.
    pub(super) delivered_bytes: Vec<u64>,
}

/// What a client's radio did.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RadioDone {
    pub(super) transitions: Vec<Transition>,
    pub(super) energy: Energy,
    pub(super) tail: Energy,
}

/// A packet that did not arrive.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Dropped {
    pub(super) at_ns: u64,
    pub(super) link: usize,
    pub(super) user: u32,
    pub(super) wire_bytes: u32,
    pub(super) cause: DropCause,
}

/// What the servers' node is asked, and the proxy's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AskServers;

/// The servers' side of every connection so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ServerReport {
    pub(super) endpoints: Vec<Endpoint>,
    /// How long HTTP's windows held back connections, by the client's address, in nanoseconds.
    pub(super) limited: Vec<(SocketAddr, u64)>,
    /// What a proxy did for each request.
    pub(super) proxied: Vec<Proxied>,
    /// What a PEP has carried.
    pub(super) carried: Option<Carried>,
}

impl ServerReport {
    /// What both know.
    pub(super) fn and(mut self, other: ServerReport) -> ServerReport {
        self.endpoints.extend(other.endpoints);
        self.limited.extend(other.limited);
        self.proxied.extend(other.proxied);
        self.carried = self.carried.or(other.carried);
        self
    }
}

impl From<emu::Drop> for Dropped {
    fn from(drop: emu::Drop) -> Dropped {
        let emu::Drop { at, link, user, wire_bytes, cause } = drop;
        Dropped { at_ns: at.as_nanos(), link, user, wire_bytes, cause }
    }
}

impl NetworkReport {
    /// That of a network which nothing has crossed.
    pub(super) fn of_idle(links: usize) -> NetworkReport {
        NetworkReport {
            links: vec![LinkDone::default(); links],
            radios: Vec::new(),
            drops: Vec::new(),
            sent_again: Vec::new(),
            servers: ServerReport::default(),
        }
    }
}
