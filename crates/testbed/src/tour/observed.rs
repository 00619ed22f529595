//! A journey with all that crossed its wires.
//!
//! A journey is a pure function of scenario and seed, so watching costs nothing until somebody wants to look: then the
//! journey is run once more. What is added - a copy of each packet, TLS randomness that repeats - changes neither the
//! time nor the size of any packet, as the digest of the trace shows.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use browser::Bodies;
use chance::Source;
use page::Page;
use record::VisitRecord;
use serde::{Deserialize, Serialize};
use units::Time;
use world::report::Endpoint;
use world::sim::Sighting;

use super::visitor;
use crate::emulate::Frame;
use scenario::JourneyResult;
use scenario::Scenario;

/// How much of a journey is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Detail {
    /// Its records.
    Records,
    /// The digests of what arrived, too.
    Bodies,
    /// Its packets and the series of its connections, too, the same to the byte each time.
    Packets,
    /// The same, and what a real browser shows on its way, which costs it time.
    Film,
}

impl Detail {
    /// Whether packets and series are kept.
    pub(crate) fn is_watched(self) -> bool {
        matches!(self, Detail::Packets | Detail::Film)
    }

    /// What is to keep the digests of what arrives, if they are wanted.
    pub(crate) fn bodies(self) -> Option<Rc<Bodies>> {
        (self != Detail::Records).then(Rc::default)
    }

    /// The TLS settings of one end, which draws from a stream of its own.
    pub(crate) fn tls(self, source: Source, end: &str) -> tls::Settings {
        let randomness = match self {
            Detail::Records | Detail::Bodies => tls::Randomness::System,
            Detail::Packets | Detail::Film => {
                tls::Randomness::Seeded(source.stream(&format!("tls/{end}")))
            }
        };
        tls::Settings { randomness, ..tls::Settings::default() }
    }
}

/// What crossed a journey's wires.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) packets: Packets,
    pub(crate) endpoints: Vec<Endpoint>,
    /// What a real browser showed, by visit; empty if none loaded the page.
    pub(crate) shown: Vec<Shown>,
    /// What arrived, of the loader's.
    pub(crate) bodies: Vec<ArrivedBody>,
}

/// A body that arrived whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivedBody {
    /// Whose: the client's number.
    pub(crate) client: u32,
    /// When the load that it belongs to began.
    pub(crate) visit_ns: u64,
    /// Index in the page.
    pub object: u32,
    /// Its length.
    pub bytes: u64,
    /// BLAKE3 of it, in hexadecimal.
    pub digest: String,
}

impl ArrivedBody {
    /// What a client's loader has kept.
    pub(crate) fn of(client: u32, bodies: &Bodies) -> impl Iterator<Item = ArrivedBody> {
        bodies.all().into_iter().map(move |body| ArrivedBody {
            client,
            visit_ns: body.visit.as_nanos(),
            object: body.object,
            bytes: body.bytes,
            digest: blake3::Hash::from(body.digest).to_hex().to_string(),
        })
    }
}

/// What a real browser showed during a visit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The page at the end.
    pub screenshot: Option<Png>,
    /// On the way there, if it was filmed: spans since navigation start, in nanoseconds, and pictures.
    pub film: Vec<(u64, Png)>,
}

/// A picture's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Png(pub Vec<u8>);

impl Serialize for Png {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Png {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Png, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Png).map_err(serde::de::Error::custom)
    }
}

/// Every packet at the interfaces of its sender and its receiver.
#[derive(Debug)]
pub enum Packets {
    /// As the simulated TCP makes them.
    Simulated(Vec<Sighting>),
    /// As the kernel makes them.
    Emulated(Vec<Frame>),
}

impl Default for Packets {
    fn default() -> Packets {
        Packets::Simulated(Vec::new())
    }
}

/// A journey that was watched.
#[derive(Debug)]
pub struct Observed {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// The seed.
    pub seed: u64,
    /// What the journey left behind.
    pub result: JourneyResult,
    /// Servers and their names.
    hosts: Vec<(IpAddr, String)>,
    traffic: Traffic,
}

/// One visit of a journey that was watched: what happened from its navigation start to its client's next visit's.
#[derive(Clone, Copy, Debug)]
pub struct ObservedVisit<'a> {
    journey: &'a Observed,
    /// What was measured.
    pub record: &'a VisitRecord,
    /// Whose visit it is.
    client: u32,
    ends: Time,
}

impl Observed {
    pub(crate) fn new(
        scenario: Arc<Scenario>,
        seed: u64,
        result: JourneyResult,
        page: &Page,
        traffic: Traffic,
    ) -> Observed {
        let beside = (!scenario.traffic.is_none())
            .then(|| (super::TRAFFIC_HOST.to_owned(), super::TRAFFIC_SERVER));
        let proxies = super::proxy_addresses(&scenario).into_iter().zip(1..);
        let proxy = proxies.map(|(address, number)| match number {
            1 => (browser::Proxy::NAME.to_owned(), address),
            _ => (format!("{number}.{}", browser::Proxy::NAME), address),
        });
        let hosts = super::hosts(page, scenario.hosting).chain(beside).chain(proxy);
        let hosts: Vec<_> = hosts.map(|(name, address)| (address, name)).collect();
        // Of several at one address the first gives it its name.
        let hosts = hosts.into_iter().rev().collect();
        Observed { scenario, seed, result, hosts, traffic }
    }

    /// The journey's visits, in order.
    pub fn visits(&self) -> impl Iterator<Item = ObservedVisit<'_>> {
        let records = self.result.visits.iter().map(|visit| &visit.record);
        records.clone().map(move |record| {
            let client = self.client_of(record);
            let mut later = records.clone().filter(|next| next.index > record.index);
            let next = later.next().filter(|next| self.client_of(next) == client);
            let ends = next.map_or(Time::NEVER, |next| Time::from_nanos(next.started_at_ns));
            ObservedVisit { journey: self, record, client, ends }
        })
    }

    /// The number of the client whose visit it is.
    fn client_of(&self, record: &VisitRecord) -> u32 {
        self.scenario.who(record.index).0
    }
}

impl<'a> ObservedVisit<'a> {
    /// The scenario.
    pub fn scenario(&self) -> &'a Scenario {
        &self.journey.scenario
    }

    /// The journey's seed.
    pub fn seed(&self) -> u64 {
        self.journey.seed
    }

    /// Whether the visit was under way at that instant.
    pub fn includes(&self, at: Time) -> bool {
        Time::from_nanos(self.record.started_at_ns) <= at && at < self.ends
    }

    /// The journey's packets, at the interfaces of their senders and receivers, in time's order; those before the visit say how connections began.
    pub fn packets(&self) -> &'a Packets {
        &self.journey.traffic.packets
    }

    /// The bodies that arrived, in the page's order. Farlink's own loader alone tells of them.
    pub fn bodies(&self) -> Vec<&'a ArrivedBody> {
        // In real time a load begins a little after its visit.
        let its = |body: &&ArrivedBody| {
            body.client == self.client && self.includes(Time::from_nanos(body.visit_ns))
        };
        let mut bodies: Vec<_> = self.journey.traffic.bodies.iter().filter(its).collect();
        bodies.sort_by_key(|body| body.object);
        bodies
    }

    /// What a real browser showed, if one loaded the page.
    pub fn shown(&self) -> Option<&'a Shown> {
        self.journey.traffic.shown.get(self.record.index as usize)
    }

    /// When the visit is over, or the next one begins.
    pub fn ends(&self) -> Time {
        self.ends
    }

    /// Both ends of each TCP connection that the visit opened, or found open where the journey keeps them: the client's, the server's if the SYN arrived. In order of
    /// opening.
    pub fn connections(&self) -> Vec<(&'a Endpoint, Option<&'a Endpoint>)> {
        let endpoints = &self.journey.traffic.endpoints;
        let began = Time::from_nanos(self.record.started_at_ns);
        let was_kept = |end: &Endpoint| {
            self.scenario().journey.keeps.connections
                && end.opened_at < began
                && end.closed_at.is_none_or(|closed| closed > began)
        };
        let is_own = |end: &&Endpoint| {
            end.active
                && end.local.ip() == self.client()
                && (self.includes(end.opened_at) || was_kept(end))
        };
        let mut clients: Vec<&Endpoint> = endpoints.iter().filter(is_own).collect();
        clients.sort_by_key(|end| (end.opened_at, end.local));
        let server = |client: &Endpoint| {
            let is_its = |end: &&Endpoint| {
                !end.active && (end.local, end.peer) == (client.peer, client.local)
            };
            endpoints.iter().find(is_its)
        };
        clients.into_iter().map(|client| (client, server(client))).collect()
    }

    /// The client's number.
    pub fn client_number(&self) -> u32 {
        self.client
    }

    /// The client's address.
    pub fn client(&self) -> IpAddr {
        visitor::address(self.client)
    }

    /// The servers' addresses and names.
    pub fn hosts(&self) -> &'a [(IpAddr, String)] {
        &self.journey.hosts
    }

    /// The name of the server at an address.
    pub fn host(&self, address: SocketAddr) -> &'a str {
        let known = self.journey.hosts.iter().find(|(ip, _)| *ip == address.ip());
        known.map_or("", |(_, name)| name)
    }
}
