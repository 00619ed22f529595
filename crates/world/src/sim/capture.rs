//! Capture: a copy of every packet when it leaves a host and when it reaches one, as taken by a sniffer at each host's
//! interface.
//!
//! Packets dropped on the way still left their host. Packets that a host sends to itself cross no interface and are
//! not seen. Copies share the payload's bytes; nothing is kept unless the plan asks for it.

use std::net::SocketAddr;

use bytes::Bytes;
use net::DropCause;
use units::Time;

use super::movement::ArrivalLog;
use super::state;
use super::tcp_table::TcpEnd;
use super::topology::{NodePort, PacketBody, SimPacket, Topology};
use crate::ambient;
use crate::report::{Drop, Endpoint, WorldReport};

/// Direction in which a packet crossed a host's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceDirection {
    /// It left the host.
    Left,
    /// It reached the host.
    Reached,
}

/// A packet at a host's interface.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedPacket {
    /// Time of the crossing.
    pub at: Time,
    /// Side of the crossing: departure from the sender or arrival at the receiver.
    pub crossing: InterfaceDirection,
    /// Number of the packet in the world: the same at its departure and its arrival.
    pub serial: u64,
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Its content.
    pub content: CaptureContent,
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum CaptureContent {
    /// A TCP segment.
    Tcp(Box<tcp::Segment>),
    /// A UDP datagram; its ECN field is not kept.
    Udp(Bytes),
}

/// Takes the packets seen so far in this thread's world, in chronological order; empty if its plan did not ask for a
/// [capture](super::Plan::capture).
pub fn take_sightings() -> Vec<CapturedPacket> {
    let mut sightings = Vec::new();
    state::with_if_any(|state| {
        if let Some(capture) = &mut state.trace.capture {
            let seen = std::mem::take(&mut capture.seen);
            sightings = seen.into_iter().map(|seen| seen.resolve(&state.topology)).collect();
        }
    });
    sightings
}

/// The packets kept.
#[derive(Default)]
pub(super) struct PacketCapture {
    seen: Vec<UnresolvedPacket>,
    /// Packets that left so far.
    left: u64,
}

struct UnresolvedPacket {
    at: Time,
    crossing: InterfaceDirection,
    serial: u64,
    from: NodePort,
    to: NodePort,
    content: CaptureContent,
}

impl PacketCapture {
    /// Numbers a packet that leaves.
    pub(super) fn left(&mut self, at: Time, packet: &mut SimPacket) {
        packet.serial = self.left;
        self.left += 1;
        self.note(at, InterfaceDirection::Left, packet);
    }

    pub(super) fn reached(&mut self, at: Time, packet: &SimPacket) {
        self.note(at, InterfaceDirection::Reached, packet);
    }

    fn note(&mut self, at: Time, crossing: InterfaceDirection, packet: &SimPacket) {
        let SimPacket { from, to, serial, .. } = *packet;
        if from.node == to.node {
            return;
        }
        let content = match &packet.body {
            PacketBody::Tcp(segment) => CaptureContent::Tcp(segment.clone()),
            PacketBody::Udp(datagram) => CaptureContent::Udp(datagram.data.clone()),
        };
        self.seen.push(UnresolvedPacket { at, crossing, serial, from, to, content });
    }
}

impl UnresolvedPacket {
    fn resolve(self, topology: &Topology) -> CapturedPacket {
        let UnresolvedPacket { at, crossing, serial, from, to, content } = self;
        let (from, to) = (topology.address(from), topology.address(to));
        CapturedPacket { at, crossing, serial, from, to, content }
    }
}

/// The report of this thread's world so far; `None` outside the simulated world.
pub fn report() -> Option<WorldReport> {
    let mut report = None;
    state::with_if_any(|state| {
        let tells_series = state.trace.series == SeriesUse::Told;
        let mut endpoints: Vec<Endpoint> = match tells_series {
            true => state.trace.closed.clone(),
            false => state.trace.closed.iter().map(Endpoint::without_series).collect(),
        };
        endpoints.extend(state.tcp.endpoints(&state.topology, tells_series));
        report = Some(WorldReport {
            digest: Some(state.trace.digest),
            links: state.topology.link_reports(),
            radios: state.topology.radio_reports(state.now),
            drops: state.trace.drops.clone(),
            endpoints,
        });
    });
    // Called outside the state, since they may ask for the time.
    if let Some(report) = &mut report {
        report.endpoints.extend(ambient::added());
    }
    report
}

#[derive(Default)]
pub(super) struct WireTrace {
    digest: u64,
    drops: Vec<Drop>,
    pub(super) closed: Vec<Endpoint>,
    /// Copies of packets, if captured.
    pub(super) capture: Option<PacketCapture>,
    /// Recording of connections' series.
    pub(super) series: SeriesUse,
    /// Arrived packets, if kept.
    pub(super) arrivals: Option<ArrivalLog>,
}

/// Use of connections' series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SeriesUse {
    /// None are recorded.
    #[default]
    None,
    /// They are returned by [`movements`](super::movements).
    Kept,
    /// They are part of every report, with the data held above the sockets.
    Told,
}

impl WireTrace {
    /// Makes a new socket record as the plan asks.
    pub(super) fn watch(&self, socket: &mut TcpEnd) {
        if self.series != SeriesUse::None {
            socket.connection.record_series();
        }
        if self.series == SeriesUse::Told {
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

    pub(super) fn dropped(
        &mut self,
        at: Time,
        link: u32,
        user: u32,
        wire_bytes: u32,
        cause: DropCause,
    ) {
        self.drops.push(Drop { at, link: link as usize, user, wire_bytes, cause });
    }
}
