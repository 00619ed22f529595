//! Time series of connections and arrival times of packets, for queries while the world runs.
//!
//! A report is made several times per visit and would carry every sample of a journey each time. These data are queried
//! by host and start time, and nothing is kept unless the plan asks for it.

use std::net::{IpAddr, SocketAddr};

use units::Time;

use super::plan::NodeId;
use super::state;
use super::topology::{Packet, Topology};

/// Time series of one end of a TCP connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Movement {
    /// Its own address.
    pub local: SocketAddr,
    /// The other end's address.
    pub peer: SocketAddr,
    /// True if this end sent the first SYN.
    pub active: bool,
    /// In chronological order. The first may be older than the time asked for: it tells the state at that time.
    pub samples: Vec<tcp::Sample>,
}

/// A packet that reached its destination host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time of arrival.
    pub at: Time,
    /// Its sender.
    pub from: IpAddr,
    /// Its receiver.
    pub to: IpAddr,
    /// Its size, IP header included.
    pub wire_bytes: u32,
}

/// Time series from `since` on of both ends of each TCP connection of the host at this address; empty unless this thread's world keeps
/// [series](super::Plan::keep_series).
pub fn movements(of: IpAddr, since: Time) -> Vec<Movement> {
    let mut movements = Vec::new();
    state::with_if_any(|state| {
        let closed = state.trace.closed.iter();
        let closed = closed.map(|end| ([end.local, end.peer], end.active, &end.series[..]));
        let live = state.tcp.live();
        let live = live.map(|it| (it.ends(&state.topology), it.is_active(), it.series()));
        for (ends, active, samples) in closed.chain(live) {
            let samples = from(samples, since);
            if !samples.is_empty() && ends.iter().any(|end| end.ip() == of) {
                let ([local, peer], samples) = (ends, samples.to_vec());
                movements.push(Movement { local, peer, active, samples });
            }
        }
    });
    movements
}

/// The samples from `since` on, with the last before it if there are any later.
fn from(samples: &[tcp::Sample], since: Time) -> &[tcp::Sample] {
    let later = samples.partition_point(|sample| sample.at < since);
    match later == samples.len() {
        true => &[],
        false => &samples[later.saturating_sub(1)..],
    }
}

/// Packets to and from the host at this address that arrived from `since` on, and the last before, in chronological order; empty unless this
/// thread's world keeps [arrivals](super::Plan::keep_arrivals).
pub fn arrivals(of: IpAddr, since: Time) -> Vec<Arrival> {
    let mut told = Vec::new();
    state::with_if_any(|state| {
        let Some(arrivals) = &state.trace.arrivals else { return };
        let own = |one: &Arrived| {
            Some(one.tell(&state.topology)).filter(|told| told.from == of || told.to == of)
        };
        let (before, after) = arrivals.0.split_at(arrivals.0.partition_point(|it| it.at < since));
        told.extend(before.iter().rev().find_map(own));
        told.extend(after.iter().filter_map(own));
    });
    told
}

/// The arrivals kept.
#[derive(Default)]
pub(super) struct Arrivals(Vec<Arrived>);

#[derive(Clone, Copy)]
struct Arrived {
    at: Time,
    from: NodeId,
    to: NodeId,
    wire_bytes: u32,
}

impl Arrivals {
    /// Packets that a host sends to itself cross no interface and do not count.
    pub(super) fn note(&mut self, at: Time, packet: &Packet) {
        let (from, to) = (packet.from.node, packet.to.node);
        if from != to {
            self.0.push(Arrived { at, from, to, wire_bytes: packet.body.wire_bytes() });
        }
    }
}

impl Arrived {
    fn tell(&self, topology: &Topology) -> Arrival {
        let Arrived { at, from, to, wire_bytes } = *self;
        let [from, to] = [from, to].map(|node| topology.node_address(node));
        Arrival { at, from, to, wire_bytes }
    }
}
