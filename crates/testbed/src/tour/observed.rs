//! A journey with all its packets.
//!
//! A journey is a pure function of scenario and seed, so observation costs nothing until it is requested: then
//! the journey is run once more. The additions - a copy of each packet, reproducible TLS randomness - change
//! neither the time nor the size of any packet, as the digest of the trace shows.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use browser::Bodies;
use chance::RandomSource;
use page::Page;
use record::VisitRecord;
use serde::{Deserialize, Serialize};
use units::Time;
use world::report::Endpoint;
use world::sim::CapturedPacket;

use crate::emulate::Frame;
use scenario::JourneyResult;
use scenario::Scenario;

/// Amount of detail kept of a journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Detail {
    /// Its records.
    Records,
    /// Also the digests of bodies that arrived.
    Bodies,
    /// Also its packets and the series of its connections, identical to the byte in each run.
    Packets,
    /// The same, and pictures of a loading page in a real browser, which cost it time.
    Film,
}

impl Detail {
    /// True if packets and series are kept.
    pub(crate) fn is_watched(self) -> bool {
        matches!(self, Detail::Packets | Detail::Film)
    }

    /// Collector of the digests of arriving bodies, if they are requested.
    pub(crate) fn bodies(self) -> Option<Rc<Bodies>> {
        (self != Detail::Records).then(Rc::default)
    }

    /// The TLS settings of one end, with a random stream of its own.
    pub(crate) fn tls(self, source: RandomSource, end: &str) -> tls::Settings {
        let randomness = match self {
            Detail::Records | Detail::Bodies => tls::Randomness::System,
            Detail::Packets | Detail::Film => {
                tls::Randomness::Seeded(source.stream(&format!("tls/{end}")))
            }
        };
        tls::Settings { randomness, ..tls::Settings::default() }
    }
}

/// Packets and connections of a journey.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) packets: Packets,
    pub(crate) endpoints: Vec<Endpoint>,
    /// Pictures by a real browser, by visit; empty if none loaded the page.
    pub(crate) shown: Vec<Shown>,
    /// Bodies received by farlink's loader.
    pub(crate) bodies: Vec<ArrivedBody>,
}

/// A body that arrived whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivedBody {
    /// The client's number.
    pub(crate) client: u32,
    /// Start of the load that it belongs to.
    pub(crate) visit_ns: u64,
    /// Index in the page.
    pub object: u32,
    /// Its length.
    pub bytes: u64,
    /// Its BLAKE3 hash, in hexadecimal.
    pub digest: String,
}

impl ArrivedBody {
    /// Bodies kept by a client's loader.
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

/// Pictures of a visit in a real browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The page at the end.
    pub screenshot: Option<Png>,
    /// Frames while it loaded, if it was filmed: time since navigation start, in nanoseconds, and picture.
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
    /// As built by the simulated TCP.
    Simulated(Vec<CapturedPacket>),
    /// As built by the kernel.
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
    /// Result of the journey.
    pub result: JourneyResult,
    /// Servers and their names.
    hosts: Vec<(IpAddr, String)>,
    traffic: Traffic,
}

/// One visit of a watched journey: events from its navigation start to the next visit of its client.
#[derive(Clone, Copy, Debug)]
pub struct ObservedVisit<'a> {
    journey: &'a Observed,
    /// Record of the visit.
    pub record: &'a VisitRecord,
    /// Number of the client.
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
        let hosts = super::hosts(page, scenario.origin_addresses).chain(beside).chain(proxy);
        let hosts: Vec<_> = hosts.map(|(name, address)| (address, name)).collect();
        // The first of several hosts at one address names it.
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

    /// Number of the client that made the visit.
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

    /// True if the visit was in progress at that instant.
    pub fn includes(&self, at: Time) -> bool {
        Time::from_nanos(self.record.started_at_ns) <= at && at < self.ends
    }

    /// The journey's packets, at the interfaces of their senders and receivers, in order of time; those before
    /// the visit show the start of its connections.
    pub fn packets(&self) -> &'a Packets {
        &self.journey.traffic.packets
    }

    /// The bodies that arrived, in the page's order. Only farlink's own loader reports them.
    pub fn bodies(&self) -> Vec<&'a ArrivedBody> {
        // In real time a load begins a little after its visit.
        let its = |body: &&ArrivedBody| {
            body.client == self.client && self.includes(Time::from_nanos(body.visit_ns))
        };
        let mut bodies: Vec<_> = self.journey.traffic.bodies.iter().filter(its).collect();
        bodies.sort_by_key(|body| body.object);
        bodies
    }

    /// Pictures by a real browser, if one loaded the page.
    pub fn shown(&self) -> Option<&'a Shown> {
        self.journey.traffic.shown.get(self.record.index as usize)
    }

    /// End of the visit, or start of the next one.
    pub fn ends(&self) -> Time {
        self.ends
    }

    /// Both ends of each TCP connection that the visit opened, or found open if the journey keeps them: the
    /// client's, and the server's if the SYN arrived. In order of opening.
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
        super::course::address(self.client)
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
