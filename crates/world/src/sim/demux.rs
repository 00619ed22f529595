//! Demultiplexing of packets to sockets.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::plan::NodeId;
use super::topology::Port;

#[derive(Default)]
pub(super) struct Demux {
    /// Connections by (here, there). Looked up only, never iterated.
    tcp: FxHashMap<u64, u32>,
    listeners: BTreeMap<Port, u32>,
    /// Listeners of nodes that take over connections to other nodes' ports.
    takers: BTreeMap<(NodeId, Port), u32>,
    udp: BTreeMap<Port, u32>,
    next_port: BTreeMap<NodeId, u16>,
}

/// Start of Linux's default `ip_local_port_range`.
const FIRST_EPHEMERAL: u16 = 32_768;

fn key(here: Port, there: Port) -> u64 {
    let pack = |port: Port| (u64::from(port.node.0) << 16) | u64::from(port.port);
    (pack(here) << 32) | pack(there)
}

impl Demux {
    pub(super) fn tcp(&self, here: Port, there: Port) -> Option<u32> {
        self.tcp.get(&key(here, there)).copied()
    }

    pub(super) fn add_tcp(&mut self, here: Port, there: Port, slot: u32) {
        self.tcp.insert(key(here, there), slot);
    }

    pub(super) fn remove_tcp(&mut self, here: Port, there: Port) {
        self.tcp.remove(&key(here, there));
    }

    /// The listener on `host` for connections to `here`.
    pub(super) fn listener(&self, host: NodeId, here: Port) -> Option<u32> {
        if host == here.node {
            return self.listeners.get(&here).copied();
        }
        self.takers.get(&(host, here)).copied()
    }

    /// Returns false if the port is taken.
    pub(super) fn add_listener(&mut self, host: NodeId, here: Port, slot: u32) -> bool {
        if host == here.node {
            return self.listeners.insert_new(here, slot);
        }
        self.takers.insert_new((host, here), slot)
    }

    /// Does nothing if another socket listens there by now.
    pub(super) fn remove_listener(&mut self, host: NodeId, here: Port, slot: u32) {
        if self.listener(host, here) != Some(slot) {
            return;
        }
        if host == here.node {
            self.listeners.remove(&here);
        } else {
            self.takers.remove(&(host, here));
        }
    }

    pub(super) fn udp(&self, here: Port) -> Option<u32> {
        self.udp.get(&here).copied()
    }

    /// Returns false if the port is taken.
    pub(super) fn add_udp(&mut self, here: Port, slot: u32) -> bool {
        self.udp.insert_new(here, slot)
    }

    pub(super) fn remove_udp(&mut self, here: Port) {
        self.udp.remove(&here);
    }

    /// The next free port of a node, counting up from the first ephemeral one.
    pub(super) fn ephemeral(&mut self, node: NodeId) -> Port {
        let next = self.next_port.entry(node).or_insert(FIRST_EPHEMERAL);
        let port = *next;
        *next = next.checked_add(1).unwrap_or(FIRST_EPHEMERAL);
        Port { node, port }
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
