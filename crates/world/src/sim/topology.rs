//! Nodes, links and the routes between them; packets on their way.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use chance::RandomSource;
use net::{Admission, Link, LinkConfig, Radio, RadioConfig, RadioDirection};
use units::Time;

use super::capture::WireTrace;
use super::clock::{Agenda, SimEvent};
use super::plan::{LinkId, NodeId};
use crate::report::{LinkReport, RadioReport};

/// An address and port, short enough to be a hash key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) struct NodePort {
    pub(super) node: NodeId,
    pub(super) port: u16,
}

/// A packet on its way.
#[derive(Clone)]
pub(super) struct SimPacket {
    pub(super) from: NodePort,
    pub(super) to: NodePort,
    /// Index of its route, and of the current or next link in the route.
    route: u32,
    hop: u32,
    /// Its number in the capture, if there is one.
    pub(super) serial: u64,
    pub(super) body: PacketBody,
}

#[derive(Clone)]
pub(super) enum PacketBody {
    /// Boxed: a packet is moved a dozen times on its way, and a segment has 200 bytes.
    Tcp(Box<tcp::Segment>),
    Udp(SimDatagram),
}

#[derive(Clone)]
pub(super) struct SimDatagram {
    pub(super) data: Bytes,
    pub(super) ecn: tcp::Ecn,
}

/// IPv4 and UDP headers (RFC 791, RFC 768).
const UDP_HEADERS: u32 = 20 + 8;
/// IPv4 and TCP headers, with the timestamp option.
const TCP_HEADERS: u32 = 20 + 20 + 12;

impl SimPacket {
    /// A hash of its ends (Fibonacci hashing: Knuth, volume 3, section 6.4).
    fn flow(&self) -> u32 {
        let end = |port: NodePort| (u64::from(port.node.0) << 16) | u64::from(port.port);
        let words = (end(self.from) << 32) | end(self.to);
        (words.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
    }
}

impl PacketBody {
    /// True if a congested queue may mark the packet instead of dropping it (RFC 3168).
    fn takes_marks(&self) -> bool {
        match self {
            PacketBody::Tcp(segment) => segment.ecn != tcp::Ecn::NotEct,
            PacketBody::Udp(datagram) => datagram.ecn != tcp::Ecn::NotEct,
        }
    }

    fn mark(&mut self) {
        match self {
            PacketBody::Tcp(segment) => segment.ecn = tcp::Ecn::Ce,
            PacketBody::Udp(datagram) => datagram.ecn = tcp::Ecn::Ce,
        }
    }

    pub(super) fn wire_bytes(&self) -> u32 {
        match self {
            PacketBody::Tcp(segment) => segment.wire_bytes(),
            PacketBody::Udp(datagram) => UDP_HEADERS + datagram.data.len() as u32,
        }
    }
}

struct SimNode {
    address: IpAddr,
    tcp: Arc<tcp::Config>,
    /// Metrics that its connections learned of its peers; they outlive a visit.
    metrics: tcp::MetricsCache,
    /// User number on all links, if it is a client.
    user: Option<u32>,
    /// Index of its radio.
    radio: Option<u32>,
}

struct WorldLink {
    name: String,
    config: LinkConfig,
    link: Link<SimPacket>,
    /// Time at which this link's next arrival is scheduled.
    armed: Option<Time>,
    /// Bytes that arrived at its far end, by user.
    delivered_bytes: Vec<u64>,
}

/// A device's radio, in front of two links, one per direction.
struct RadioGate {
    name: String,
    config: RadioConfig,
    radio: Radio<SimPacket>,
    links: [u32; 2],
    /// Time at which the radio's next event is scheduled; it may be stale.
    armed: Option<Time>,
}

#[derive(Default)]
pub(super) struct Topology {
    nodes: Vec<SimNode>,
    by_address: BTreeMap<IpAddr, NodeId>,
    links: Vec<WorldLink>,
    radios: Vec<RadioGate>,
    routes: Vec<Vec<u32>>,
    by_ends: BTreeMap<(NodeId, NodeId), u32>,
    /// Nodes that take over connections from one node to another, if any.
    takers: BTreeMap<(NodeId, NodeId), NodeId>,
    local: VecDeque<SimPacket>,
}

impl Topology {
    pub(super) fn add_node(&mut self, address: IpAddr, tcp: Arc<tcp::Config>) -> NodeId {
        let id = NodeId(u16::try_from(self.nodes.len()).expect("a plan has at most 65536 nodes"));
        let before = self.by_address.insert(address, id);
        assert!(before.is_none(), "two nodes cannot share the address {address}");
        let metrics = tcp::MetricsCache::default();
        self.nodes.push(SimNode { address, tcp, metrics, user: None, radio: None });
        id
    }

    pub(super) fn add_link(
        &mut self,
        name: &str,
        config: LinkConfig,
        source: &RandomSource,
    ) -> LinkId {
        let link = Link::new(config.clone(), source, name);
        let (name, delivered_bytes) = (name.to_owned(), Vec::new());
        self.links.push(WorldLink { name, config, link, armed: None, delivered_bytes });
        LinkId((self.links.len() - 1) as u32)
    }

    pub(super) fn set_user(&mut self, node: NodeId, user: u32) {
        self.nodes[node.0 as usize].user = Some(user);
    }

    pub(super) fn add_radio(
        &mut self,
        name: &str,
        config: RadioConfig,
        node: NodeId,
        [up, down]: [LinkId; 2],
        source: &RandomSource,
    ) {
        let number = self.radios.len() as u32;
        let before = self.nodes[node.0 as usize].radio.replace(number);
        assert!(before.is_none(), "a node has one radio");
        let (name, radio) = (name.to_owned(), Radio::new(&config, source, name));
        self.radios.push(RadioGate { name, config, radio, links: [up.0, down.0], armed: None });
    }

    pub(super) fn add_route(&mut self, from: NodeId, to: NodeId, links: &[LinkId]) {
        self.routes.push(links.iter().map(|link| link.0).collect());
        self.by_ends.insert((from, to), (self.routes.len() - 1) as u32);
    }

    pub(super) fn add_redirect(&mut self, from: NodeId, to: NodeId, taker: NodeId) {
        self.takers.insert((from, to), taker);
    }

    /// The node at which connections from `from` to `to` end: `to`, or the node to which they are redirected.
    pub(super) fn host_of(&self, from: NodeId, to: NodeId) -> NodeId {
        self.takers.get(&(from, to)).copied().unwrap_or(to)
    }

    /// The node at `address`.
    pub(super) fn node_at(&self, address: IpAddr) -> Option<NodeId> {
        self.by_address.get(&address).copied()
    }

    pub(super) fn address(&self, port: NodePort) -> SocketAddr {
        SocketAddr::new(self.node_address(port.node), port.port)
    }

    pub(super) fn node_address(&self, node: NodeId) -> IpAddr {
        self.nodes[node.0 as usize].address
    }

    /// The route from one node to another; from a node to itself there is always one.
    pub(super) fn route(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        if let Some(route) = self.by_ends.get(&(from, to)) {
            return Some(*route);
        }
        (from == to).then(|| {
            self.add_route(from, to, &[]);
            (self.routes.len() - 1) as u32
        })
    }

    /// The TCP settings of a node for connections along `route`: segments fit its smallest MTU.
    pub(super) fn tcp_config(&self, node: NodeId, route: u32) -> Arc<tcp::Config> {
        let config = &self.nodes[node.0 as usize].tcp;
        let links = self.routes[route as usize].iter();
        let mtu = links.map(|link| self.links[*link as usize].config.mtu).min();
        match mtu.map(|mtu| mtu.saturating_sub(TCP_HEADERS)) {
            Some(mss) if mss < config.mss => {
                Arc::new(tcp::Config { mss, ..tcp::Config::clone(config) })
            }
            _ => Arc::clone(config),
        }
    }

    /// Lets a new connection of a node start from the metrics of its earlier ones to the same peer.
    pub(super) fn seed_metrics(
        &self,
        host: NodeId,
        there: NodePort,
        now: Time,
        connection: &mut tcp::Connection,
    ) {
        let peer = self.nodes[there.node.0 as usize].address;
        let cache = &self.nodes[host.0 as usize].metrics;
        if let Some(metrics) = cache.get(now, peer, connection.config()) {
            connection.seed_metrics(metrics);
        }
    }

    /// Records the metrics of a node's connection that has ended.
    pub(super) fn save_metrics(
        &mut self,
        host: NodeId,
        there: NodePort,
        now: Time,
        config: &tcp::Config,
        saved: &tcp::SavedMetrics,
    ) {
        let peer = self.nodes[there.node.0 as usize].address;
        self.nodes[host.0 as usize].metrics.update(now, peer, config, saved);
    }

    /// Forgets the metrics that `node` and all others have of each other.
    pub(super) fn forget(&mut self, node: NodeId) {
        let address = self.nodes[node.0 as usize].address;
        self.nodes.iter_mut().for_each(|other| other.metrics.forget(address));
        self.nodes[node.0 as usize].metrics.flush();
    }

    pub(super) fn packet(from: NodePort, to: NodePort, route: u32, body: PacketBody) -> SimPacket {
        SimPacket { from, to, route, hop: 0, serial: 0, body }
    }

    /// True if `packet` has crossed the last link of its route.
    pub(super) fn at_destination(&self, packet: &SimPacket) -> bool {
        packet.hop as usize == self.routes[packet.route as usize].len()
    }

    /// Puts `packet` on the next link of its route.
    pub(super) fn forward(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        trace: &mut WireTrace,
        mut packet: SimPacket,
    ) {
        if packet.hop == 0
            && let Some(capture) = &mut trace.capture
        {
            capture.left(now, &mut packet);
        }
        let Some(&link) = self.routes[packet.route as usize].get(packet.hop as usize) else {
            self.local.push_back(packet);
            agenda.plan(now, SimEvent::Local);
            return;
        };
        let ect = packet.body.takes_marks();
        let (wire_bytes, flow, user) =
            (packet.body.wire_bytes(), packet.flow(), self.user(&packet));
        let entering = net::Packet { wire_bytes, flow, ect, user };
        match self.gate(link, &packet) {
            None => self.enter(now, agenda, trace, link, entering, packet),
            Some((radio, way)) => {
                self.radios[radio as usize].radio.handle(now, way, entering, packet);
                self.pass(now, agenda, trace, radio);
            }
        }
    }

    /// User of a packet: that of its end that is a client.
    fn user(&self, packet: &SimPacket) -> u32 {
        let of = |end: NodePort| self.nodes[end.node.0 as usize].user;
        of(packet.from).or_else(|| of(packet.to)).unwrap_or(0)
    }

    /// The radio that a packet passes before it enters `link`, and the direction: that of the device which sends or receives it.
    fn gate(&self, link: u32, packet: &SimPacket) -> Option<(u32, RadioDirection)> {
        let gate = |(end, way): (NodePort, RadioDirection)| {
            let radio = self.nodes[end.node.0 as usize].radio?;
            (self.radios[radio as usize].links[way as usize] == link).then_some((radio, way))
        };
        gate((packet.from, RadioDirection::Up)).or_else(|| gate((packet.to, RadioDirection::Down)))
    }

    /// Moves packets that may leave a radio by `now` to its links, and schedules the next event.
    pub(super) fn pass(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        trace: &mut WireTrace,
        radio: u32,
    ) {
        let index = radio as usize;
        while let Some(passed) = self.radios[index].radio.poll(now) {
            let link = self.radios[index].links[passed.way as usize];
            self.enter(now, agenda, trace, link, passed.packet, passed.body);
        }
        let gate = &mut self.radios[index];
        let Some(at) = gate.radio.deadline() else { return };
        // A later next event - each packet moves the end of a state - is found out when the scheduled one fires.
        if gate.armed.is_none_or(|armed| at < armed) {
            gate.armed = Some(at);
            agenda.plan(at, SimEvent::Radio(radio));
        }
    }

    /// An event of a radio scheduled for `now` has fired; an earlier one may have replaced it.
    pub(super) fn radio_due(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        trace: &mut WireTrace,
        radio: u32,
    ) {
        let gate = &mut self.radios[radio as usize];
        if gate.armed == Some(now) {
            gate.armed = None;
            self.pass(now, agenda, trace, radio);
        }
    }

    fn enter(
        &mut self,
        now: Time,
        agenda: &mut Agenda,
        trace: &mut WireTrace,
        link: u32,
        entering: net::Packet,
        packet: SimPacket,
    ) {
        let hop = &mut self.links[link as usize];
        if let Admission::Dropped(cause) = hop.link.handle(now, entering, packet) {
            trace.dropped(now, link, entering.user, entering.wire_bytes, cause);
        }
        self.note_drops(link, trace);
        let hop = &mut self.links[link as usize];
        // If packets may overtake each other, the next arrival can have come nearer.
        if hop.armed.is_none_or(|armed| hop.link.deadline().is_some_and(|at| at < armed)) {
            Topology::arm(hop, link, agenda);
        }
    }

    pub(super) fn next_local(&mut self) -> Option<SimPacket> {
        self.local.pop_front()
    }

    /// The next packet that has reached the far end of `link` by `now`.
    pub(super) fn arrived(
        &mut self,
        now: Time,
        link: u32,
        trace: &mut WireTrace,
    ) -> Option<SimPacket> {
        let hop = &mut self.links[link as usize];
        let arrived = hop.link.poll(now);
        self.note_drops(link, trace);
        let arrived = arrived?;
        trace.arrived(now, link, arrived.wire_bytes);
        let mut packet = arrived.body;
        self.count(link, self.user(&packet), arrived.wire_bytes);
        if arrived.congestion_experienced {
            packet.body.mark();
        }
        packet.hop += 1;
        Some(packet)
    }

    /// True if `link` has something due at `now`. An event that an earlier one has replaced is stale.
    pub(super) fn is_due(&self, now: Time, link: u32) -> bool {
        self.links[link as usize].armed == Some(now)
    }

    fn note_drops(&mut self, link: u32, trace: &mut WireTrace) {
        while let Some(dropped) = self.links[link as usize].link.poll_dropped() {
            let user = self.user(&dropped.body);
            trace.dropped(dropped.at, link, user, dropped.wire_bytes, dropped.cause);
        }
    }

    /// Counts a packet of `user` that has arrived at the far end of `link`.
    fn count(&mut self, link: u32, user: u32, wire_bytes: u32) {
        let delivered = &mut self.links[link as usize].delivered_bytes;
        if delivered.len() <= user as usize {
            delivered.resize(user as usize + 1, 0);
        }
        delivered[user as usize] += u64::from(wire_bytes);
    }

    /// Schedules the link's next arrival, after an arrival.
    pub(super) fn rearm(&mut self, link: u32, agenda: &mut Agenda) {
        let hop = &mut self.links[link as usize];
        hop.armed = None;
        Topology::arm(hop, link, agenda);
    }

    fn arm(hop: &mut WorldLink, link: u32, agenda: &mut Agenda) {
        if let Some(at) = hop.link.deadline() {
            hop.armed = Some(at);
            agenda.plan(at, SimEvent::Link(link));
        }
    }

    /// Every link's name and totals so far.
    pub(super) fn link_reports(&self) -> Vec<LinkReport> {
        let report = |hop: &WorldLink| LinkReport {
            name: hop.name.clone(),
            config: hop.config.clone(),
            stats: *hop.link.stats(),
            delivered_bytes: hop.delivered_bytes.clone(),
            busy_periods: hop.link.busy_periods().to_vec(),
        };
        self.links.iter().map(report).collect()
    }

    /// Reports of all radios up to `now`.
    pub(super) fn radio_reports(&self, now: Time) -> Vec<RadioReport> {
        let report = |gate: &RadioGate| RadioReport {
            name: gate.name.clone(),
            config: gate.config.clone(),
            transitions: gate.radio.transitions().to_vec(),
            energy: gate.radio.energy(Time::ZERO, now),
            tail: gate.radio.tail(now),
        };
        self.radios.iter().map(report).collect()
    }
}
