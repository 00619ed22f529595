//! All links of a topology, the radio in front of them, and the packets on each. Time is an argument: nothing here depends on real time.
//!
//! Events are carried out in the order of the links' time. A packet enters its next link when it leaves the one before, to the nanosecond; in
//! each link events never go back in time, so a packet that is read too late enters late.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use net::{
    Admission, DropCause, Energy, LinkConfig, LinkStats, Packet, Radio, RadioDirection, Transition,
};
use units::Time;

use crate::hosts::HostId;
use crate::routing::{LinkReach, PacketRoute};
use crate::topology::{LinkRoute, NamedLink};
use crate::{AccessSide, DroppingLink, EmulatedTopology};

/// A dropped packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulatedDrop {
    /// Time of the drop.
    pub at: Time,
    /// Index among the [`EmulatedLinkReport`]s of the link that dropped it.
    pub link: usize,
    /// Number of the client that it belongs to.
    pub user: u32,
    /// Length of the IP packet.
    pub wire_bytes: u32,
    /// Cause of the drop.
    pub cause: DropCause,
}

/// Configuration and totals of a link.
#[derive(Clone, Debug)]
pub struct EmulatedLinkReport {
    /// Name of the link.
    pub name: String,
    /// Its configuration.
    pub config: LinkConfig,
    /// Its totals: `offered + duplicated = delivered + dropped + inside`.
    pub stats: LinkStats,
    /// Packets inside.
    pub inside: usize,
    /// Bytes that left it, by client number.
    pub delivered_bytes: Vec<u64>,
    /// Periods during which packets waited or were in service.
    pub busy_periods: Vec<(Time, Time)>,
}

/// History of a client's radio.
#[derive(Clone, Debug)]
pub struct EmulatedRadioReport {
    /// Its state changes, in chronological order. It begins idle.
    pub transitions: Vec<Transition>,
    /// Energy spent.
    pub energy: Energy,
    /// Energy that it will spend before it comes to rest, if no packet comes.
    pub tail: Energy,
}

/// A packet that has crossed all of its links.
pub(crate) struct CrossedPacket<B> {
    /// Time of arrival.
    pub(crate) due: Time,
    /// Side of its origin.
    pub(crate) from: AccessSide,
    /// Its destination.
    pub(crate) to: HostId,
    /// Its number, in the order in which packets entered the first link.
    pub(crate) number: u64,
    /// User that it belongs to.
    pub(crate) user: u32,
    /// True if a queue marked it.
    pub(crate) marked: bool,
    pub(crate) body: B,
}

/// Properties of a packet that the links need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkPacket {
    pub(crate) leg: PacketRoute,
    pub(crate) packet: Packet,
    pub(crate) payload_bytes: usize,
}

/// A packet on its way.
#[derive(Clone)]
struct Traveller<B> {
    number: u64,
    from: AccessSide,
    to: HostId,
    route: u32,
    /// Index of its current link in its route.
    hop: u32,
    packet: Packet,
    payload_bytes: u32,
    marked: bool,
    body: B,
}

struct EmulatedLink<B> {
    name: String,
    config: LinkConfig,
    path: DroppingLink<Traveller<B>>,
    /// Time of the last event: nothing enters or leaves earlier.
    reached: Time,
    /// Indexed by user.
    delivered_bytes: Vec<u64>,
}

/// A client's radio, in front of the first link of each direction.
struct UserRadio<B> {
    radio: Radio<Traveller<B>>,
    /// Time of the last event: nothing enters or leaves earlier.
    reached: Time,
}

/// The links behind the radio, by their indices in every topology: `up` and `down`.
const BEHIND_RADIO: [(usize, RadioDirection); 2] =
    [(0, RadioDirection::Up), (1, RadioDirection::Down)];

/// A radio's name: it keys its random streams, as in simulation.
fn radio_name(user: u32) -> String {
    match user {
        0 => "client".to_owned(),
        _ => format!("client/{user}"),
    }
}

/// Place of the next event.
#[derive(Clone, Copy)]
enum NextEvent {
    Radio(usize),
    Link(usize),
}

pub(crate) struct Links<B> {
    /// Indexed by user; none if the network has no radios.
    gates: Vec<UserRadio<B>>,
    lines: Vec<EmulatedLink<B>>,
    /// Deadline of each line; [`Time::NEVER`] if none.
    deadlines: Vec<Time>,
    routes: Vec<LinkRoute>,
    lookahead: Duration,
    /// Reaches with a route of their own.
    own: BTreeMap<LinkReach, usize>,
    entered: u64,
    /// Dropped packets, with their numbers, until they are polled.
    dropped: VecDeque<(u64, EmulatedDrop)>,
}

impl<B: Clone + Send + 'static> Links<B> {
    pub(crate) fn new(topology: EmulatedTopology, source: &chance::RandomSource) -> Links<B> {
        let lookahead = topology.lookahead();
        let gate = |user| {
            let radio = Radio::new(topology.radio()?, source, &radio_name(user));
            Some(UserRadio { radio, reached: Time::ZERO })
        };
        let gates = (0..topology.clients()).filter_map(gate).collect();
        let (links, routes, own) = topology.into_parts();
        let line = |NamedLink { name, config, drops }| EmulatedLink {
            path: DroppingLink::new(&name, config.clone(), drops, source),
            name,
            config,
            reached: Time::ZERO,
            delivered_bytes: Vec::new(),
        };
        let lines: Vec<_> = links.into_iter().map(line).collect();
        let deadlines = vec![Time::NEVER; lines.len()];
        let dropped = VecDeque::new();
        Links { gates, lines, deadlines, routes, lookahead, own, entered: 0, dropped }
    }

    /// A packet enters the first link of its route at `at`, or later if that link's time is past it. Returns its number and its entry time.
    pub(crate) fn handle(&mut self, at: Time, entry: LinkPacket, body: B) -> (u64, Time) {
        let LinkPacket { leg: PacketRoute { from, to, reach, .. }, packet, payload_bytes } = entry;
        let route = self.own.get(&reach).copied().unwrap_or(0) as u32;
        let number = self.entered;
        self.entered += 1;
        let payload_bytes = payload_bytes as u32;
        let traveller = Traveller {
            number,
            from,
            to,
            route,
            hop: 0,
            packet,
            payload_bytes,
            marked: false,
            body,
        };
        (number, self.admit(at, traveller))
    }

    /// Half of the minimum transit time of a packet.
    pub(crate) fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// Time of the next event, if any.
    pub(crate) fn deadline(&self) -> Option<Time> {
        Some(self.next().1).filter(|due| *due < Time::NEVER)
    }

    /// The next packet that has reached the end of its route by `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<CrossedPacket<B>> {
        loop {
            let (place, due) = self.next();
            if due > now || due == Time::NEVER {
                return None;
            }
            let link = match place {
                NextEvent::Link(link) => link,
                NextEvent::Radio(user) => {
                    self.pass(user, due);
                    continue;
                }
            };
            let line = &mut self.lines[link];
            line.reached = line.reached.max(due);
            // A managed queue may have been served without a departure.
            let left = line.path.poll(line.reached);
            self.settle(link);
            let Some(left) = left else { continue };
            let mut traveller = left.body;
            traveller.marked |= left.congestion_experienced;
            traveller.hop += 1;
            let user = traveller.packet.user;
            self.lines[link].count(user, traveller.packet.wire_bytes);
            let hops = self.routes[traveller.route as usize].from(traveller.from).len();
            if traveller.hop as usize == hops {
                let Traveller { number, from, to, marked, body, .. } = traveller;
                return Some(CrossedPacket { due, from, to, number, user, marked, body });
            }
            self.admit(due, traveller);
        }
    }

    /// The next packet that was dropped, with its number.
    pub(crate) fn dropped(&mut self) -> Option<(u64, EmulatedDrop)> {
        self.dropped.pop_front()
    }

    pub(crate) fn reports(&self) -> Vec<EmulatedLinkReport> {
        let report = |line: &EmulatedLink<B>| EmulatedLinkReport {
            name: line.name.clone(),
            config: line.config.clone(),
            stats: line.path.stats(),
            inside: line.path.in_flight(),
            delivered_bytes: line.delivered_bytes.clone(),
            busy_periods: line.path.busy_periods().to_vec(),
        };
        self.lines.iter().map(report).collect()
    }

    /// History of the radios up to `now`, by client.
    pub(crate) fn radio_reports(&self, now: Time) -> Vec<EmulatedRadioReport> {
        let report = |UserRadio { radio, .. }: &UserRadio<B>| EmulatedRadioReport {
            transitions: radio.transitions().to_vec(),
            energy: radio.energy(Time::ZERO, now),
            tail: radio.tail(now),
        };
        self.gates.iter().map(report).collect()
    }

    /// A packet comes to the next link of its route, or to the radio in front of it. Returns the time of entry.
    fn admit(&mut self, at: Time, traveller: Traveller<B>) -> Time {
        let link = self.link_of(&traveller);
        let way = BEHIND_RADIO.iter().find(|(behind, _)| *behind == link).map(|(_, way)| *way);
        let user = traveller.packet.user as usize;
        let (Some(gate), Some(way)) = (self.gates.get_mut(user), way) else {
            return self.enter(at, traveller);
        };
        gate.reached = gate.reached.max(at);
        let now = gate.reached;
        gate.radio.handle(now, way, traveller.packet, traveller);
        self.pass(user, now);
        now
    }

    /// Moves packets that may leave a client's radio by `now` to its link.
    fn pass(&mut self, user: usize, now: Time) {
        while let Some(gate) = self.gates.get_mut(user) {
            gate.reached = gate.reached.max(now);
            let Some(passed) = gate.radio.poll(gate.reached) else { return };
            self.enter(passed.at, passed.body);
        }
    }

    fn link_of(&self, traveller: &Traveller<B>) -> usize {
        self.routes[traveller.route as usize].from(traveller.from)[traveller.hop as usize]
    }

    fn enter(&mut self, at: Time, traveller: Traveller<B>) -> Time {
        let link = self.link_of(&traveller);
        let line = &mut self.lines[link];
        line.reached = line.reached.max(at);
        let now = line.reached;
        let Traveller { number, packet, payload_bytes, .. } = traveller;
        let verdict = line.path.handle(now, packet, payload_bytes as usize, traveller);
        if let Admission::Dropped(cause) = verdict {
            let Packet { wire_bytes, user, .. } = packet;
            let drop = EmulatedDrop { at: now, link, user, wire_bytes, cause };
            self.dropped.push_back((number, drop));
        }
        self.settle(link);
        now
    }

    /// Updates a link's state after an event.
    fn settle(&mut self, link: usize) {
        let path = &mut self.lines[link].path;
        while let Some(dropped) = path.poll_dropped() {
            let net::DroppedPacket { at, wire_bytes, cause, body } = dropped;
            let user = body.packet.user;
            self.dropped
                .push_back((body.number, EmulatedDrop { at, link, user, wire_bytes, cause }));
        }
        self.deadlines[link] = path.deadline().unwrap_or(Time::NEVER);
    }

    /// Place and time of the next event; of several the first.
    fn next(&self) -> (NextEvent, Time) {
        let deadlines = self.deadlines.iter().copied().enumerate();
        let (link, due) = deadlines.min_by_key(|(_, due)| *due).expect("a topology has links");
        let radios = self.gates.iter().enumerate();
        let radios = radios.filter_map(|(user, gate)| Some((user, gate.radio.deadline()?)));
        match radios.min_by_key(|(_, at)| *at).filter(|(_, at)| *at <= due) {
            Some((user, at)) => (NextEvent::Radio(user), at),
            None => (NextEvent::Link(link), due),
        }
    }
}

impl<B> EmulatedLink<B> {
    /// Counts a packet of `user` that has left the link.
    fn count(&mut self, user: u32, wire_bytes: u32) {
        if self.delivered_bytes.len() <= user as usize {
            self.delivered_bytes.resize(user as usize + 1, 0);
        }
        self.delivered_bytes[user as usize] += u64::from(wire_bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use net::{LossModel, QueueLimit};
    use units::BitsPerSec;

    use super::*;

    const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
    const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 1, 0, 1));

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// 1000 bytes take 1 ms.
    fn link(delay: Duration) -> LinkConfig {
        LinkConfig::new(BitsPerSec::mbit(8), delay, QueueLimit::Packets(2))
    }

    fn entry(from: AccessSide, server: IpAddr) -> LinkPacket {
        let reach = LinkReach::Server(server);
        let leg = PacketRoute { from, to: HostId::at(from.peer(), 0), reach, user: 0 };
        LinkPacket { leg, packet: Packet::new(1000), payload_bytes: 960 }
    }

    fn arrivals(links: &mut Links<()>) -> Vec<(u64, Time)> {
        let all = std::iter::from_fn(|| links.poll(Time::from_millis(1000)));
        all.map(|arrival| (arrival.number, arrival.due)).collect()
    }

    #[test]
    fn links_are_crossed_one_after_the_other() {
        let topology = EmulatedTopology::between(link(ms(10)), link(ms(20)))
            .beyond(link(ms(30)), link(ms(40)))
            .farther(FAR, "far/up", LinkConfig::delay(ms(5)), "far/down", LinkConfig::delay(ms(6)));
        let mut links = Links::new(topology, &chance::RandomSource::new(0, 0));
        links.handle(Time::ZERO, entry(AccessSide::Client, SERVER), ());
        links.handle(Time::from_millis(100), entry(AccessSide::Server, SERVER), ());
        links.handle(Time::from_millis(200), entry(AccessSide::Client, FAR), ());
        links.handle(Time::from_millis(300), entry(AccessSide::Server, FAR), ());
        let due = [42, 162, 247, 368].map(Time::from_millis);
        assert_eq!(arrivals(&mut links), (0..).zip(due).collect::<Vec<_>>());
        let names: Vec<_> = links.reports().into_iter().map(|link| link.name).collect();
        assert_eq!(names, ["up", "down", "hop/1/up", "hop/1/down", "far/up", "far/down"]);
    }

    #[test]
    fn what_is_read_late_enters_late() {
        let topology = EmulatedTopology::between(link(ms(0)), link(ms(0)));
        let mut links = Links::new(topology, &chance::RandomSource::new(0, 0));
        links.handle(Time::from_millis(10), entry(AccessSide::Client, SERVER), ());
        assert_eq!(arrivals(&mut links), [(0, Time::from_millis(11))]);
        let late = links.handle(Time::from_millis(5), entry(AccessSide::Client, SERVER), ());
        assert_eq!(late, (1, Time::from_millis(11)), "the link's time does not go back");
    }

    #[test]
    fn the_account_is_exact() {
        let lossy = LinkConfig { loss: LossModel::Random(0.1), ..link(ms(10)) };
        let topology =
            EmulatedTopology::between(lossy.clone(), link(ms(0))).beyond(lossy, link(ms(0)));
        let mut links = Links::new(topology, &chance::RandomSource::new(1, 0));
        let mut arrived = 0;
        for n in 0..1000 {
            let at = Time::ZERO + Duration::from_micros(700) * n;
            links.handle(at, entry(AccessSide::Client, SERVER), ());
            arrived += std::iter::from_fn(|| links.poll(at)).count() as u64;
        }
        let dropped: Vec<_> = std::iter::from_fn(|| links.dropped()).collect();
        for (index, report) in links.reports().iter().enumerate() {
            let stats = report.stats;
            let logged = dropped.iter().filter(|(_, drop)| drop.link == index).count() as u64;
            assert_eq!(logged, stats.dropped_packets(), "{}", report.name);
            let inside = report.inside as u64;
            assert_eq!(stats.offered_packets, stats.delivered_packets + logged + inside);
        }
        assert!(dropped.iter().any(|(_, drop)| drop.cause == DropCause::QueueFull));
        let inside: usize = links.reports().iter().map(|report| report.inside).sum();
        assert_eq!(arrived + dropped.len() as u64 + inside as u64, 1000);
    }
}
