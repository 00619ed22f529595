//! Capture: a copy of every packet when it leaves a host and when it reaches one, as taken by a sniffer at each host's
//! interface.
//!
//! Packets dropped on the way still left their host. Packets that a host sends to itself cross no interface and are
//! not seen. Copies share the payload's bytes; nothing is kept unless the plan asks for it.

use std::net::SocketAddr;

use bytes::Bytes;
use units::Time;

use super::state;
use super::topology::{Body, Packet, Port, Topology};

/// Direction in which a packet crossed a host's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// It left the host.
    Left,
    /// It reached the host.
    Reached,
}

/// A packet at a host's interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// Time of the crossing.
    pub at: Time,
    /// Side of the crossing: departure from the sender or arrival at the receiver.
    pub crossing: Crossing,
    /// Number of the packet in the world: the same at its departure and its arrival.
    pub serial: u64,
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Its content.
    pub content: Content,
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A TCP segment.
    Tcp(Box<tcp::Segment>),
    /// A UDP datagram; its ECN field is not kept.
    Udp(Bytes),
}

/// Takes the packets seen so far in this thread's world, in chronological order; empty if its plan did not ask for a
/// [capture](super::Plan::capture).
pub fn take_sightings() -> Vec<Sighting> {
    let mut sightings = Vec::new();
    state::with_if_any(|state| {
        if let Some(capture) = &mut state.trace.capture {
            let seen = std::mem::take(&mut capture.seen);
            sightings = seen.into_iter().map(|seen| seen.tell(&state.topology)).collect();
        }
    });
    sightings
}

/// The packets kept.
#[derive(Default)]
pub(super) struct Capture {
    seen: Vec<Seen>,
    /// Packets that left so far.
    left: u64,
}

struct Seen {
    at: Time,
    crossing: Crossing,
    serial: u64,
    from: Port,
    to: Port,
    content: Content,
}

impl Capture {
    /// Numbers a packet that leaves.
    pub(super) fn left(&mut self, at: Time, packet: &mut Packet) {
        packet.serial = self.left;
        self.left += 1;
        self.note(at, Crossing::Left, packet);
    }

    pub(super) fn reached(&mut self, at: Time, packet: &Packet) {
        self.note(at, Crossing::Reached, packet);
    }

    fn note(&mut self, at: Time, crossing: Crossing, packet: &Packet) {
        let Packet { from, to, serial, .. } = *packet;
        if from.node == to.node {
            return;
        }
        let content = match &packet.body {
            Body::Tcp(segment) => Content::Tcp(segment.clone()),
            Body::Udp(datagram) => Content::Udp(datagram.data.clone()),
        };
        self.seen.push(Seen { at, crossing, serial, from, to, content });
    }
}

impl Seen {
    fn tell(self, topology: &Topology) -> Sighting {
        let Seen { at, crossing, serial, from, to, content } = self;
        let (from, to) = (topology.address(from), topology.address(to));
        Sighting { at, crossing, serial, from, to, content }
    }
}
