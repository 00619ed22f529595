//! What happened on the wire: a digest of every arrival, drops, and both ends of each connection.

use std::net::SocketAddr;

use net::{DropCause, LinkConfig, LinkStats};
use units::Time;

use super::capture::Capture;
use super::held::Held;
use super::state;
use super::tcp_socket::Socket;

/// A packet that did not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// When it met its end.
    pub at: Time,
    /// On which link, as an index into [`Report::links`].
    pub link: usize,
    /// Its size, IP header included.
    pub wire_bytes: u32,
    /// Why.
    pub cause: DropCause,
}

/// One end of a TCP connection.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its own address.
    pub local: SocketAddr,
    /// The other end's.
    pub peer: SocketAddr,
    /// Whether this end sent the first SYN.
    pub active: bool,
    /// When the socket was made.
    pub opened_at: Time,
    /// When it was gone, if it is.
    pub closed_at: Option<Time>,
    /// What TCP counted.
    pub stats: tcp::Stats,
    /// What it sent again, when and why.
    pub retransmits: Vec<tcp::Retransmit>,
    /// How it moved, if the plan asked for [series](super::Plan::record_series).
    pub series: Vec<tcp::Sample>,
    /// What lay above its socket, if the plan asked for series.
    pub held: Vec<Held>,
}

/// A link: what it was to be, and what it did.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// Its name in the plan.
    pub name: String,
    /// How it was described.
    pub config: LinkConfig,
    /// What it has done so far.
    pub stats: LinkStats,
}

/// The world's own account of what happened so far.
#[derive(Clone, Debug)]
pub struct Report {
    /// Digest over (time, link, size) of every packet's arrival: equal digests, equal traces.
    pub digest: u64,
    /// Each link, in the plan's order.
    pub links: Vec<LinkReport>,
    /// Packets that did not arrive, in time's order.
    pub drops: Vec<Drop>,
    /// Both ends of every connection: closed ones first.
    pub endpoints: Vec<Endpoint>,
}

/// The account of this thread's world so far; `None` outside the simulated world.
pub fn report() -> Option<Report> {
    let mut report = None;
    state::with_if_any(|state| {
        let mut endpoints = state.trace.closed.clone();
        endpoints.extend(state.tcp.endpoints(&state.topology));
        report = Some(Report {
            digest: state.trace.digest,
            links: state.topology.link_reports(),
            drops: state.trace.drops.clone(),
            endpoints,
        });
    });
    report
}

#[derive(Default)]
pub(super) struct Trace {
    digest: u64,
    drops: Vec<Drop>,
    pub(super) closed: Vec<Endpoint>,
    /// Copies of packets, if somebody wants them.
    pub(super) capture: Option<Capture>,
    /// Whether connections record their series.
    pub(super) series: bool,
}

impl Trace {
    /// Lets a new socket record what the plan asks for.
    pub(super) fn watch(&self, socket: &mut Socket) {
        if self.series {
            socket.connection.record_series();
            socket.held = Some(Box::default());
        }
    }

    pub(super) fn arrived(&mut self, at: Time, link: u32, wire_bytes: u32) {
        let words = [at.as_nanos(), (u64::from(link) << 32) | u64::from(wire_bytes)];
        for word in words {
            // FNV-1a's step over 64-bit words, then a rotation so that high bits spread down.
            self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        }
    }

    pub(super) fn dropped(&mut self, at: Time, link: u32, wire_bytes: u32, cause: DropCause) {
        self.drops.push(Drop { at, link: link as usize, wire_bytes, cause });
    }
}
