//! All links of a topology, the radio in front of them, and who is on which. Time is an argument: nothing here knows that it is real.
//!
//! Events are carried out in the order of the links' time. A packet enters its next link when it leaves the one before, to the nanosecond; in
//! each link nothing enters or leaves before what entered or left last, so that a packet which is read too late enters late.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use net::{DropCause, Energy, LinkConfig, LinkStats, Packet, Radio, Transition, Verdict, Way};
use units::Time;

use crate::topology::{NamedLink, Route};
use crate::{Path, Side, Topology};

/// A dropped packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drop {
    /// When.
    pub at: Time,
    /// By which link: its index among the [`LinkReport`]s.
    pub link: usize,
    /// Length of the IP packet.
    pub wire_bytes: u32,
    /// Why.
    pub cause: DropCause,
}

/// What a link was asked to do and did.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// What it is called.
    pub name: String,
    /// What it was asked to be.
    pub config: LinkConfig,
    /// What it did: `offered + duplicated = delivered + dropped + inside`.
    pub stats: LinkStats,
    /// Packets inside.
    pub inside: usize,
}

/// What the client's radio did.
#[derive(Clone, Debug)]
pub struct RadioReport {
    /// Its changes of state, in time's order. It begins idle.
    pub transitions: Vec<Transition>,
    /// What it has spent.
    pub energy: Energy,
    /// What it will spend until it has come to rest, if no packet comes.
    pub tail: Energy,
}

/// A packet that has crossed all of its links.
pub(crate) struct Arrival<B> {
    /// When.
    pub(crate) due: Time,
    /// Whence it came.
    pub(crate) from: Side,
    /// Its number, in the order in which packets entered the first link.
    pub(crate) number: u64,
    /// Whether a queue marked it.
    pub(crate) marked: bool,
    pub(crate) body: B,
}

/// What the links must know of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) from: Side,
    /// The address at the server's side.
    pub(crate) server: IpAddr,
    pub(crate) packet: Packet,
    pub(crate) payload_bytes: usize,
}

/// A packet on its way.
#[derive(Clone)]
struct Traveller<B> {
    number: u64,
    from: Side,
    route: u32,
    /// Index of the link of its route that it is on.
    hop: u32,
    packet: Packet,
    payload_bytes: u32,
    marked: bool,
    body: B,
}

struct Line<B> {
    name: String,
    config: LinkConfig,
    path: Path<Traveller<B>>,
    /// Nothing enters or leaves before what entered or left last.
    reached: Time,
}

/// The radio in front of the first link of each direction.
struct Gate<B> {
    radio: Radio<Traveller<B>>,
    /// Nothing enters or leaves before what entered or left last.
    reached: Time,
}

/// The links behind the radio, by their places in every topology: `up` and `down`.
const BEHIND_RADIO: [(usize, Way); 2] = [(0, Way::Up), (1, Way::Down)];

/// The radio's name: it keys its random streams, as in simulation.
const RADIO: &str = "client";

/// Where something happens next.
#[derive(Clone, Copy)]
enum Place {
    Radio,
    Link(usize),
}

pub(crate) struct Links<B> {
    gate: Option<Gate<B>>,
    lines: Vec<Line<B>>,
    /// Of each line; [`Time::NEVER`] if nothing will happen.
    deadlines: Vec<Time>,
    routes: Vec<Route>,
    lookahead: Duration,
    /// Servers that have a route of their own.
    own: BTreeMap<IpAddr, usize>,
    entered: u64,
    /// Packets that were dropped, with their numbers, until somebody asks.
    dropped: VecDeque<(u64, Drop)>,
}

impl<B: Clone + Send + 'static> Links<B> {
    pub(crate) fn new(topology: Topology, source: &chance::Source) -> Links<B> {
        let lookahead = topology.lookahead();
        let gate = topology
            .radio()
            .map(|config| Gate { radio: Radio::new(config, source, RADIO), reached: Time::ZERO });
        let (links, routes, own) = topology.into_parts();
        let line = |NamedLink { name, config, drops }| Line {
            path: Path::new(&name, config.clone(), drops, source),
            name,
            config,
            reached: Time::ZERO,
        };
        let lines: Vec<_> = links.into_iter().map(line).collect();
        let deadlines = vec![Time::NEVER; lines.len()];
        let dropped = VecDeque::new();
        Links { gate, lines, deadlines, routes, lookahead, own, entered: 0, dropped }
    }

    /// A packet enters the first link of its way at `at`, or later if that link's time is past it. Returns its number and when it entered.
    pub(crate) fn handle(&mut self, at: Time, entry: Entry, body: B) -> (u64, Time) {
        let Entry { from, server, packet, payload_bytes } = entry;
        let route = self.own.get(&server).copied().unwrap_or(0) as u32;
        let number = self.entered;
        self.entered += 1;
        let payload_bytes = payload_bytes as u32;
        let traveller =
            Traveller { number, from, route, hop: 0, packet, payload_bytes, marked: false, body };
        (number, self.admit(at, traveller))
    }

    /// No packet takes less than twice this.
    pub(crate) fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// When the next thing happens, if anything does.
    pub(crate) fn deadline(&self) -> Option<Time> {
        Some(self.next().1).filter(|due| *due < Time::NEVER)
    }

    /// The next packet that has reached the far end of its way by `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Arrival<B>> {
        loop {
            let (place, due) = self.next();
            if due > now || due == Time::NEVER {
                return None;
            }
            let Place::Link(link) = place else {
                self.pass(due);
                continue;
            };
            let line = &mut self.lines[link];
            line.reached = line.reached.max(due);
            // A managed queue may only have been served.
            let left = line.path.poll(line.reached);
            self.settle(link);
            let Some(left) = left else { continue };
            let mut traveller = left.body;
            traveller.marked |= left.congestion_experienced;
            traveller.hop += 1;
            let hops = self.routes[traveller.route as usize].from(traveller.from).len();
            if traveller.hop as usize == hops {
                let Traveller { number, from, marked, body, .. } = traveller;
                return Some(Arrival { due, from, number, marked, body });
            }
            self.admit(due, traveller);
        }
    }

    /// The next packet that was dropped, with its number.
    pub(crate) fn dropped(&mut self) -> Option<(u64, Drop)> {
        self.dropped.pop_front()
    }

    pub(crate) fn reports(&self) -> Vec<LinkReport> {
        let report = |line: &Line<B>| LinkReport {
            name: line.name.clone(),
            config: line.config.clone(),
            stats: line.path.stats(),
            inside: line.path.in_flight(),
        };
        self.lines.iter().map(report).collect()
    }

    /// What the radio did up to `now`, if there is one.
    pub(crate) fn radio_report(&self, now: Time) -> Option<RadioReport> {
        let radio = &self.gate.as_ref()?.radio;
        let transitions = radio.transitions().to_vec();
        let (energy, tail) = (radio.energy(Time::ZERO, now), radio.tail(now));
        Some(RadioReport { transitions, energy, tail })
    }

    /// A packet comes to the next link of its way, or to the radio in front of it. When that was.
    fn admit(&mut self, at: Time, traveller: Traveller<B>) -> Time {
        let link = self.link_of(&traveller);
        let way = BEHIND_RADIO.iter().find(|(behind, _)| *behind == link).map(|(_, way)| *way);
        let (Some(gate), Some(way)) = (&mut self.gate, way) else {
            return self.enter(at, traveller);
        };
        gate.reached = gate.reached.max(at);
        let now = gate.reached;
        gate.radio.handle(now, way, traveller.packet, traveller);
        self.pass(now);
        now
    }

    /// Takes what may leave the radio by `now` to its link.
    fn pass(&mut self, now: Time) {
        while let Some(gate) = &mut self.gate {
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
        if let Verdict::Dropped(cause) = verdict {
            let drop = Drop { at: now, link, wire_bytes: packet.wire_bytes, cause };
            self.dropped.push_back((number, drop));
        }
        self.settle(link);
        now
    }

    /// Notes what a link made of an event.
    fn settle(&mut self, link: usize) {
        let path = &mut self.lines[link].path;
        while let Some(fallen) = path.fallen() {
            let net::Fallen { at, wire_bytes, cause, body } = fallen;
            self.dropped.push_back((body.number, Drop { at, link, wire_bytes, cause }));
        }
        self.deadlines[link] = path.deadline().unwrap_or(Time::NEVER);
    }

    /// Where something happens next, and when; of several the first.
    fn next(&self) -> (Place, Time) {
        let deadlines = self.deadlines.iter().copied().enumerate();
        let (link, due) = deadlines.min_by_key(|(_, due)| *due).expect("a topology has links");
        let radio = self.gate.as_ref().and_then(|gate| gate.radio.deadline());
        match radio.filter(|at| *at <= due) {
            Some(at) => (Place::Radio, at),
            None => (Place::Link(link), due),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

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

    fn entry(from: Side, server: IpAddr) -> Entry {
        Entry { from, server, packet: Packet::new(1000), payload_bytes: 960 }
    }

    fn arrivals(links: &mut Links<()>) -> Vec<(u64, Time)> {
        let all = std::iter::from_fn(|| links.poll(Time::from_millis(1000)));
        all.map(|arrival| (arrival.number, arrival.due)).collect()
    }

    #[test]
    fn links_are_crossed_one_after_the_other() {
        let topology = Topology::between(link(ms(10)), link(ms(20)))
            .beyond(link(ms(30)), link(ms(40)))
            .farther(FAR, "far/up", LinkConfig::delay(ms(5)), "far/down", LinkConfig::delay(ms(6)));
        let mut links = Links::new(topology, &chance::Source::new(0, 0));
        links.handle(Time::ZERO, entry(Side::Client, SERVER), ());
        links.handle(Time::from_millis(100), entry(Side::Server, SERVER), ());
        links.handle(Time::from_millis(200), entry(Side::Client, FAR), ());
        links.handle(Time::from_millis(300), entry(Side::Server, FAR), ());
        let due = [42, 162, 247, 368].map(Time::from_millis);
        assert_eq!(arrivals(&mut links), (0..).zip(due).collect::<Vec<_>>());
        let names: Vec<_> = links.reports().into_iter().map(|link| link.name).collect();
        assert_eq!(names, ["up", "down", "hop/1/up", "hop/1/down", "far/up", "far/down"]);
    }

    #[test]
    fn what_is_read_late_enters_late() {
        let topology = Topology::between(link(ms(0)), link(ms(0)));
        let mut links = Links::new(topology, &chance::Source::new(0, 0));
        links.handle(Time::from_millis(10), entry(Side::Client, SERVER), ());
        assert_eq!(arrivals(&mut links), [(0, Time::from_millis(11))]);
        let late = links.handle(Time::from_millis(5), entry(Side::Client, SERVER), ());
        assert_eq!(late, (1, Time::from_millis(11)), "the link's time does not go back");
    }

    #[test]
    fn the_account_is_exact() {
        let lossy = LinkConfig { loss: LossModel::Random(0.1), ..link(ms(10)) };
        let topology = Topology::between(lossy.clone(), link(ms(0))).beyond(lossy, link(ms(0)));
        let mut links = Links::new(topology, &chance::Source::new(1, 0));
        let mut arrived = 0;
        for n in 0..1000 {
            let at = Time::ZERO + Duration::from_micros(700) * n;
            links.handle(at, entry(Side::Client, SERVER), ());
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
