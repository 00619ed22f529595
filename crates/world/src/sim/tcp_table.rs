//! The simulated world's table of TCP sockets, the endpoints and listeners of all nodes, and the way of a packet to its socket.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::task::Waker;

use rustc_hash::FxHashMap;
use units::Time;

use super::plan::NodeId;
use super::topology::{NodePort, Topology};
use crate::report::Endpoint;

/// A socket: its slot, and its generation in that slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SocketId {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// One end of a connection.
pub(super) struct TcpEnd {
    /// Its host: its port's node, or one that took the connection over.
    pub(super) host: NodeId,
    pub(super) here: NodePort,
    pub(super) there: NodePort,
    pub(super) route: u32,
    pub(super) connection: tcp::Connection,
    /// Series of the data held above it, if recorded.
    pub(super) held: Option<Box<super::movement::HeldSeries>>,
    pub(super) active: bool,
    pub(super) opened_at: Time,
    /// The earliest of this socket's scheduled events; [`Time::NEVER`] if it has none.
    pub(super) armed: Time,
    /// The listener that waits for the handshake of a passive connection.
    pub(super) listener: Option<u32>,
    /// True if a handle exists (or will, once accepted).
    pub(super) owned: bool,
    pub(super) reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
    /// The last write took less than it was given: the next one waits until the socket is writable.
    pub(super) is_full: bool,
}

/// A port that accepts connections.
pub(super) struct PortListener {
    pub(super) host: NodeId,
    pub(super) here: NodePort,
    pub(super) backlog: VecDeque<SocketId>,
    pub(super) acceptor: Option<Waker>,
}

/// All sockets, in use and to be reused.
#[derive(Default)]
pub(super) struct TcpSockets {
    pub(super) slots: Vec<(u32, Option<TcpEnd>)>,
    pub(super) free: Vec<u32>,
    pub(super) listeners: Vec<Option<PortListener>>,
}

impl TcpSockets {
    pub(super) fn get(&mut self, id: SocketId) -> &mut TcpEnd {
        let (generation, socket) = &mut self.slots[id.slot as usize];
        assert!(*generation == id.generation, "a TCP socket lives as long as its handle");
        socket.as_mut().expect("a TCP socket lives as long as its handle")
    }

    /// The socket, if it still exists.
    pub(super) fn find(&mut self, id: SocketId) -> Option<&mut TcpEnd> {
        let (generation, socket) = self.slots.get_mut(id.slot as usize)?;
        if *generation == id.generation { socket.as_mut() } else { None }
    }

    pub(super) fn listener(&mut self, slot: u32) -> &mut PortListener {
        self.listeners[slot as usize].as_mut().expect("a listener lives as long as its handle")
    }

    pub(super) fn insert(&mut self, socket: TcpEnd) -> SocketId {
        match self.free.pop() {
            Some(slot) => {
                let entry = &mut self.slots[slot as usize];
                entry.1 = Some(socket);
                SocketId { slot, generation: entry.0 }
            }
            None => {
                self.slots.push((0, Some(socket)));
                SocketId { slot: (self.slots.len() - 1) as u32, generation: 0 }
            }
        }
    }

    /// Reports of the live sockets, in slot order; with their series, if requested.
    pub(super) fn endpoints(&self, topology: &Topology, tells_series: bool) -> Vec<Endpoint> {
        let told = |socket: &TcpEnd| match tells_series {
            true => Endpoint { series: socket.series().to_vec(), ..socket.account(topology) },
            false => socket.account(topology),
        };
        self.live().map(told).collect()
    }

    /// The live sockets, in slot order.
    pub(super) fn live(&self) -> impl Iterator<Item = &TcpEnd> {
        self.slots.iter().filter_map(|(_, socket)| socket.as_ref())
    }
}

impl TcpEnd {
    pub(super) fn new(
        host: NodeId,
        [here, there]: [NodePort; 2],
        route: u32,
        connection: tcp::Connection,
        now: Time,
    ) -> TcpEnd {
        TcpEnd {
            host,
            here,
            there,
            route,
            connection,
            held: None,
            active: false,
            opened_at: now,
            armed: Time::NEVER,
            listener: None,
            owned: true,
            reader: None,
            writer: None,
            is_full: false,
        }
    }

    /// Its report without its series.
    pub(super) fn account(&self, topology: &Topology) -> Endpoint {
        let [local, peer] = self.ends(topology);
        Endpoint {
            local,
            peer,
            cookie: None,
            active: self.active,
            opened_at: self.opened_at,
            closed_at: None,
            stats: Some(self.connection.stats()),
            retransmits: self.connection.retransmits().to_vec(),
            losses: Vec::new(),
            series: Vec::new(),
            held: self.held.as_ref().map_or_else(Vec::new, |held| held.samples().to_vec()),
            qlog: String::new(),
        }
    }

    /// Its address and its peer's.
    pub(super) fn ends(&self, topology: &Topology) -> [SocketAddr; 2] {
        [self.here, self.there].map(|port| topology.address(port))
    }

    /// True if it sent the first SYN.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    pub(super) fn series(&self) -> &[tcp::SenderSample] {
        self.connection.series()
    }

    /// Tasks that wait for what is now possible: reader, writer.
    pub(super) fn able(&mut self) -> [Option<Waker>; 2] {
        let failed = self.connection.error().is_some();
        let readable = failed || self.connection.is_readable();
        let writable = failed || self.connection.is_writable();
        [
            if readable { self.reader.take() } else { None },
            if writable { self.writer.take() } else { None },
        ]
    }
}

// Demultiplexing of packets to sockets.

#[derive(Default)]
pub(super) struct Demux {
    /// Connections by (here, there). Looked up only, never iterated.
    tcp: FxHashMap<u64, u32>,
    listeners: BTreeMap<NodePort, u32>,
    /// Listeners of nodes that take over connections to other nodes' ports.
    takers: BTreeMap<(NodeId, NodePort), u32>,
    udp: BTreeMap<NodePort, u32>,
    next_port: BTreeMap<NodeId, u16>,
}

/// Start of Linux's default `ip_local_port_range`.
const FIRST_EPHEMERAL: u16 = 32_768;

fn key(here: NodePort, there: NodePort) -> u64 {
    let pack = |port: NodePort| (u64::from(port.node.0) << 16) | u64::from(port.port);
    (pack(here) << 32) | pack(there)
}

impl Demux {
    pub(super) fn tcp(&self, here: NodePort, there: NodePort) -> Option<u32> {
        self.tcp.get(&key(here, there)).copied()
    }

    pub(super) fn add_tcp(&mut self, here: NodePort, there: NodePort, slot: u32) {
        self.tcp.insert(key(here, there), slot);
    }

    pub(super) fn remove_tcp(&mut self, here: NodePort, there: NodePort) {
        self.tcp.remove(&key(here, there));
    }

    /// The listener on `host` for connections to `here`.
    pub(super) fn listener(&self, host: NodeId, here: NodePort) -> Option<u32> {
        if host == here.node {
            return self.listeners.get(&here).copied();
        }
        self.takers.get(&(host, here)).copied()
    }

    /// Returns false if the port is taken.
    pub(super) fn add_listener(&mut self, host: NodeId, here: NodePort, slot: u32) -> bool {
        if host == here.node {
            return self.listeners.insert_new(here, slot);
        }
        self.takers.insert_new((host, here), slot)
    }

    /// Does nothing if another socket listens there by now.
    pub(super) fn remove_listener(&mut self, host: NodeId, here: NodePort, slot: u32) {
        if self.listener(host, here) != Some(slot) {
            return;
        }
        if host == here.node {
            self.listeners.remove(&here);
        } else {
            self.takers.remove(&(host, here));
        }
    }

    pub(super) fn udp(&self, here: NodePort) -> Option<u32> {
        self.udp.get(&here).copied()
    }

    /// Returns false if the port is taken.
    pub(super) fn add_udp(&mut self, here: NodePort, slot: u32) -> bool {
        self.udp.insert_new(here, slot)
    }

    pub(super) fn remove_udp(&mut self, here: NodePort) {
        self.udp.remove(&here);
    }

    /// The next free port of a node, counting up from the first ephemeral one.
    pub(super) fn ephemeral(&mut self, node: NodeId) -> NodePort {
        let next = self.next_port.entry(node).or_insert(FIRST_EPHEMERAL);
        let port = *next;
        *next = next.checked_add(1).unwrap_or(FIRST_EPHEMERAL);
        NodePort { node, port }
    }
}

/// Insertion that does not overwrite.
trait InsertNew<K> {
    fn insert_new(&mut self, key: K, slot: u32) -> bool;
}

impl<K: Ord> InsertNew<K> for BTreeMap<K, u32> {
    fn insert_new(&mut self, key: K, slot: u32) -> bool {
        match self.entry(key) {
            std::collections::btree_map::Entry::Occupied(_) => false,
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(slot);
                true
            }
        }
    }
}
