//! Time series of connections, of the data held above them, and arrival times of packets, for queries while the world runs.
//!
//! A report is made several times per visit and would carry every sample of a journey each time. These data are queried
//! by host and start time, and nothing is kept unless the plan asks for it.

use std::net::{IpAddr, SocketAddr};

use units::Time;

use super::plan::NodeId;
use super::state;
use super::tcp_table::SocketId;
use super::topology::{SimPacket, Topology};
use crate::report::HeldBytes;

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
    pub samples: Vec<tcp::SenderSample>,
}

/// A packet that reached its destination host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketArrival {
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
fn from(samples: &[tcp::SenderSample], since: Time) -> &[tcp::SenderSample] {
    let later = samples.partition_point(|sample| sample.at < since);
    match later == samples.len() {
        true => &[],
        false => &samples[later.saturating_sub(1)..],
    }
}

/// Packets to and from the host at this address that arrived from `since` on, and the last before, in chronological order; empty unless this
/// thread's world keeps [arrivals](super::Plan::keep_arrivals).
pub fn arrivals(of: IpAddr, since: Time) -> Vec<PacketArrival> {
    let mut told = Vec::new();
    state::with_if_any(|state| {
        let Some(arrivals) = &state.trace.arrivals else { return };
        let own = |one: &Arrived| {
            Some(one.resolve(&state.topology)).filter(|told| told.from == of || told.to == of)
        };
        let (before, after) = arrivals.0.split_at(arrivals.0.partition_point(|it| it.at < since));
        told.extend(before.iter().rev().find_map(own));
        told.extend(after.iter().filter_map(own));
    });
    told
}

/// The arrivals kept.
#[derive(Default)]
pub(super) struct ArrivalLog(Vec<Arrived>);

#[derive(Clone, Copy)]
struct Arrived {
    at: Time,
    from: NodeId,
    to: NodeId,
    wire_bytes: u32,
}

impl ArrivalLog {
    /// Packets that a host sends to itself cross no interface and do not count.
    pub(super) fn note(&mut self, at: Time, packet: &SimPacket) {
        let (from, to) = (packet.from.node, packet.to.node);
        if from != to {
            self.0.push(Arrived { at, from, to, wire_bytes: packet.body.wire_bytes() });
        }
    }
}

impl Arrived {
    fn resolve(&self, topology: &Topology) -> PacketArrival {
        let Arrived { at, from, to, wire_bytes } = *self;
        let [from, to] = [from, to].map(|node| topology.node_address(node));
        PacketArrival { at, from, to, wire_bytes }
    }
}

// Data held above a connection's socket: a series of its own beside that of [`tcp::SenderSample`].
//
// The layers that hold bytes - HTTP, TLS - note each change of their number. The state at the end of each time
// with a change is kept, so bytes that pass a layer at once leave no trace there.

impl HeldBytes {
    fn above_socket(&self) -> (u64, u64) {
        (self.application_bytes, self.tls_bytes)
    }
}

/// Recorder for the layers above a connection's socket. Notes for a connection that is gone are lost.
#[derive(Clone, Copy, Debug)]
pub struct HeldNotes(pub(super) SocketId);

impl HeldNotes {
    /// Notes the bytes that the application has ready and has not handed down.
    pub fn application(&self, bytes: u64) {
        self.note(|held| held.application_bytes = bytes);
    }

    /// Notes the bytes of TLS records that the socket has not taken.
    pub fn tls(&self, bytes: u64) {
        self.note(|held| held.tls_bytes = bytes);
    }

    fn note(&self, change: impl FnOnce(&mut HeldBytes)) {
        state::with_if_any(|state| {
            let now = state.now;
            let Some(socket) = state.tcp.find(self.0) else { return };
            let unsent = socket.connection.stats().unsent_bytes;
            if let Some(series) = &mut socket.held {
                series.note(now, unsent, change);
            }
        });
    }
}

/// One connection's series.
#[derive(Debug, Default)]
pub(super) struct HeldSeries(Vec<HeldBytes>);

impl HeldSeries {
    pub(super) fn samples(&self) -> &[HeldBytes] {
        &self.0
    }

    fn note(&mut self, now: Time, unsent: u64, change: impl FnOnce(&mut HeldBytes)) {
        let mut held = self.0.last().copied().unwrap_or_default();
        // Several changes at one time are one; `held` has them all.
        self.0.pop_if(|last| last.at == now);
        change(&mut held);
        let before = self.0.last().copied().unwrap_or_default();
        if held.above_socket() != before.above_socket() {
            self.0.push(HeldBytes { at: now, socket_unsent_bytes: unsent, ..held });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_kept_once_and_only_if_it_changed_something() {
        let mut series = HeldSeries::default();
        let at = Time::from_millis;
        series.note(at(1), 0, |held| held.application_bytes = 9);
        series.note(at(1), 7, |held| held.tls_bytes = 2);
        // Bytes that pass at once leave no trace.
        series.note(at(2), 7, |held| held.tls_bytes = 5);
        series.note(at(2), 7, |held| held.tls_bytes = 2);
        series.note(at(3), 4, |held| held.application_bytes = 9);
        series.note(at(4), 1, |held| held.application_bytes = 0);
        let kept = |at, application_bytes, socket_unsent_bytes| HeldBytes {
            at,
            application_bytes,
            tls_bytes: 2,
            socket_unsent_bytes,
        };
        assert_eq!(series.samples(), [kept(at(1), 9, 7), kept(at(4), 0, 1)]);
    }
}
