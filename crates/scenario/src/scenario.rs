//! The scenario itself.

use serde::{Deserialize, Serialize};

use super::{
    BackgroundTraffic, Client, Clients, DiscoverySettings, Itinerary, KeepAlive, Multiplexing,
    NetworkSpec, OriginAddresses, PrioritiesRef, Quic, Recording, RequestHeaderMode, Resolution,
    Route, Security, Server, Serving, Shared, Stack, Transport, View,
};
use crate::choice;

choice! {
    /// Clock and network of a journey.
    pub enum World, "world" {
        /// Virtual time over simulated links and TCP.
        Sim = "sim",
        /// The machine's time and the kernel's TCP over the same links, emulated.
        Emu = "emu",
    }
    not_yet {}
}

impl World {
    /// The world as an adjective: "simulated".
    pub const fn title(self) -> &'static str {
        match self {
            World::Sim => "simulated",
            World::Emu => "emulated",
        }
    }
}

choice! {
    /// Variation of start phase, server time, compute and packet processing between repetitions, as on real machines.
    pub enum Noise, "noise" {
        /// Seeded variation.
        On = "on",
        /// No variation: without loss all repetitions are equal.
        Off = "off",
    }
    not_yet {}
}

choice! {
    /// Release of packets to the far end in the emulated world.
    #[derive(Default)]
    pub enum Release, "release" {
        /// One by one, when due, as on a wire.
        #[default]
        Single = "single",
        /// Adjacent packets in one piece and up to 0.4 ms early or late, as from a network card that coalesces
        /// received packets: a third of the processor time.
        Coalesced = "coalesced",
    }
    not_yet {}
}

impl Release {
    fn is_single(&self) -> bool {
        *self == Release::Single
    }
}

/// A page and its version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageRef {
    /// The page as typed: a generator (`synthetic:100x10KB`), a name, a HAR's path.
    pub spec: String,
    /// Digest of the file it was read from, so that a changed file is another cell. `None` for a page that its
    /// name determines.
    pub digest: Option<String>,
    /// Names of the pages of a list, in its order. Omitted from the text for a single page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<String>,
}

/// Everything that determines a load except the seed and the version of farlink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// The page that is loaded.
    pub page: PageRef,
    /// The network between client and servers.
    pub network: Shared<NetworkSpec>,
    /// The protocol stack.
    pub stack: Shared<Stack>,
    /// TCP's settings.
    pub transport: Shared<Transport>,
    /// Settings of QUIC, for a protocol that runs on it. Omitted from the text if none is set.
    #[serde(default, skip_serializing_if = "Quic::is_usual")]
    pub quic: Shared<Quic>,
    /// Settings of HTTP/2 or SPDY. Omitted from the text if none is set.
    #[serde(default, skip_serializing_if = "Multiplexing::is_usual")]
    pub multiplexing: Multiplexing,
    /// Discovery of HTTP/3. Omitted from the text for prior knowledge, the behaviour before there was a choice.
    #[serde(default, skip_serializing_if = "DiscoverySettings::is_usual")]
    pub discovery: DiscoverySettings,
    /// Header fields of requests. Omitted from the text if they are made by size, the behaviour before there
    /// was a choice.
    #[serde(
        rename = "request_heads",
        default,
        skip_serializing_if = "RequestHeaderMode::is_usual"
    )]
    pub request_headers: RequestHeaderMode,
    /// The client that loads it.
    pub client: Shared<Client>,
    /// Number of clients. Omitted from the text for a single one, the behaviour before there was a choice.
    #[serde(default, skip_serializing_if = "Clients::is_one_alone")]
    pub clients: Clients,
    /// The servers.
    pub server: Shared<Server>,
    /// Keep-alive of HTTP/1.1 at servers. Omitted from the text if nothing is set.
    #[serde(default, skip_serializing_if = "KeepAlive::is_usual")]
    pub keep_alive: KeepAlive,
    /// Placement of hosts on machines. Omitted from the text if each host has its own.
    #[serde(rename = "hosting", default, skip_serializing_if = "OriginAddresses::is_separate")]
    pub origin_addresses: OriginAddresses,
    /// The client's mapping of priorities; `None` is the page's own priorities, which are not signalled in
    /// HTTP/2 and HTTP/3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priorities: Option<PrioritiesRef>,
    /// Sending by servers. Omitted from the text if nothing is set.
    #[serde(default, skip_serializing_if = "Serving::is_usual")]
    pub serving: Serving,
    /// Variation between repetitions.
    #[serde(rename = "nuisance")]
    pub noise: Noise,
    /// Clock and network.
    pub world: World,
    /// Release of packets by the emulator. Omitted from the text for single packets, the behaviour before there
    /// was a choice.
    #[serde(default, skip_serializing_if = "Release::is_single")]
    pub release: Release,
    /// Background traffic of the client. Omitted from the text if there is none, the behaviour before there was
    /// a choice.
    #[serde(default, skip_serializing_if = "BackgroundTraffic::is_none")]
    pub traffic: Shared<BackgroundTraffic>,
    /// Settings of TLS. Omitted from the text if none is set, the behaviour before there was a choice.
    #[serde(default, skip_serializing_if = "Security::is_usual")]
    pub security: Shared<Security>,
    /// Resolution of names. Omitted from the text for a hosts file, the behaviour before there was a choice.
    #[serde(default, skip_serializing_if = "Resolution::is_by_hosts")]
    pub resolution: Resolution,
    /// Route of requests to the page's hosts. Omitted from the text for the direct route, the behaviour before
    /// there was a choice.
    #[serde(default, skip_serializing_if = "Route::is_usual")]
    pub route: Shared<Route>,
    /// Digest of the PAC file that the route names, so that a changed file is another cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pac_digest: Option<String>,
    /// Sequence of visits. Omitted from the text for the default, the behaviour when each journey had one page.
    #[serde(default, skip_serializing_if = "Itinerary::is_usual")]
    pub journey: Itinerary,
    /// Recorded time series. Omitted from the text if there are none, the behaviour before there was a choice.
    #[serde(default, skip_serializing_if = "Recording::is_nothing")]
    pub record: Recording,
}

impl PageRef {
    /// A page that its name determines.
    pub fn named(spec: impl Into<String>) -> PageRef {
        PageRef { spec: spec.into(), digest: None, pages: Vec::new() }
    }
}

impl Scenario {
    /// The page over the network with everything else at its default: HTTP/2 with TLS 1.3, Linux's
    /// TCP, a desktop with Chrome's policy, a cold cache, noise on.
    pub fn new(page: impl Into<String>, network: impl Into<Shared<NetworkSpec>>) -> Scenario {
        Scenario {
            page: PageRef::named(page),
            network: network.into(),
            stack: Shared::default(),
            transport: Shared::default(),
            quic: Shared::default(),
            multiplexing: Multiplexing::default(),
            discovery: DiscoverySettings::default(),
            request_headers: RequestHeaderMode::default(),
            client: Shared::default(),
            clients: Clients::default(),
            server: Shared::default(),
            keep_alive: KeepAlive::default(),
            origin_addresses: OriginAddresses::Separate,
            priorities: None,
            serving: Serving::default(),
            noise: Noise::On,
            world: World::Sim,
            release: Release::Single,
            traffic: Shared::default(),
            security: Shared::default(),
            resolution: Resolution::default(),
            route: Shared::default(),
            pac_digest: None,
            journey: Itinerary::default(),
            record: Recording::default(),
        }
    }

    /// Number of measured visits per client.
    pub fn visits_each(&self) -> u32 {
        let pages = self.page.pages.len().max(1) as u32;
        let views = if self.client.view == View::Both { 2 } else { 1 };
        views * pages * self.journey.times
    }

    /// The client that made the visit with this index, and the number of the visit among the client's: visits
    /// of a journey are numbered client by client.
    pub fn who(&self, visit: u32) -> (u32, u32) {
        let each = self.visits_each();
        (visit / each, visit % each)
    }

    /// The index of a client's first visit.
    pub fn first_visit(&self, client: u32) -> u32 {
        client * self.visits_each()
    }

    /// The canonical text: one line of JSON, every key present, in the order of the types here.
    pub fn canonical(&self) -> String {
        serde_json::to_string(self)
            .expect("a scenario is plain data without maps, so it serialises")
    }

    /// Reads a canonical text back.
    pub fn from_canonical(text: &str) -> Result<Scenario, serde_json::Error> {
        serde_json::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Program, Protocol};
    use super::*;

    #[test]
    fn the_canonical_text_is_stable_and_reads_back() {
        let network = NetworkSpec::parse("cable,rtt=100ms").unwrap();
        let scenario = Scenario::new("synthetic:100x10KB", network);
        let text = scenario.canonical();
        assert_eq!(
            text,
            concat!(
                r#"{"page":{"spec":"synthetic:100x10KB","digest":null},"#,
                r#""network":{"base":"cable","rtt_ns":100000000,"down_bit_per_s":null,"#,
                r#""up_bit_per_s":null,"loss_ratio":null,"queue":null},"#,
                r#""stack":{"protocol":"h2","tls":"tls13","connections_per_host":null,"#,
                r#""connections_total":null},"transport":{"server":"linux-6","client":"linux-6"},"#,
                r#""client":{"device":"desktop","cpu_multiplier":1.0,"browser":"chrome","#,
                r#""view":"cold","blocked_hosts":[]},"server":{"origins":"equal","#,
                r#""workers":null,"service_time_ns":0},"nuisance":"on","world":"sim"}"#,
            )
        );
        assert_eq!(Scenario::from_canonical(&text).unwrap(), scenario);
    }

    #[test]
    fn several_clients_are_told() {
        let mut scenario = Scenario::new("synthetic:100x10KB", NetworkSpec::default());
        scenario.clients = Clients { count: 4, ..Clients::default() };
        let text = scenario.canonical();
        let told = r#""clients":{"count":4,"beside":"nobody","start_spacing":"together"},"server""#;
        assert!(text.contains(told), "{text}");
        assert_eq!(Scenario::from_canonical(&text).unwrap(), scenario);
        scenario.client.program = Program::Chromium;
        scenario.world = World::Emu;
        assert!(scenario.contradiction().unwrap().contains("several clients"));
    }

    #[test]
    fn how_long_servers_keep_connections_is_a_part_of_the_text() {
        let mut scenario = Scenario::new("synthetic:100x10KB", NetworkSpec::default());
        scenario.keep_alive = "idle=5s".parse().unwrap();
        assert!(scenario.contradiction().unwrap().contains("persistent HTTP/1.1 connections"));
        scenario.stack.protocol = Protocol::H1;
        assert_eq!(scenario.contradiction(), None);
        let text = scenario.canonical();
        assert!(text.contains(r#"},"keep_alive":"idle=5s","nuisance""#), "{text}");
        assert_eq!(Scenario::from_canonical(&text).unwrap(), scenario);
    }

    #[test]
    fn a_journey_is_a_part_of_the_text() {
        let mut scenario = Scenario::new("sites.toml", NetworkSpec::default());
        scenario.page.pages = vec!["a".to_owned(), "b".to_owned()];
        scenario.journey.times = 5;
        let text = scenario.canonical();
        assert!(text.contains(r#""digest":null,"pages":["a","b"]},"network""#), "{text}");
        let told = r#""world":"sim","journey":{"times":5,"order":"listed","#;
        assert!(text.contains(told), "{text}");
        assert_eq!(Scenario::from_canonical(&text).unwrap(), scenario);
        assert_eq!((scenario.visits_each(), scenario.who(23)), (10, (2, 3)));
        assert_eq!(scenario.contradiction(), None);
        scenario.client.view = View::Warm;
        assert!(scenario.contradiction().unwrap().contains("view"));
    }

    #[test]
    fn visits_are_numbered_client_by_client() {
        let mut scenario = Scenario::new("a", NetworkSpec::default());
        let who = |scenario: &Scenario| (0..4).map(|visit| scenario.who(visit)).collect::<Vec<_>>();
        scenario.client.view = View::Warm;
        assert_eq!(who(&scenario), [(0, 0), (1, 0), (2, 0), (3, 0)]);
        scenario.client.view = View::Both;
        assert_eq!(who(&scenario), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn background_traffic_is_a_part_of_the_text() {
        let mut scenario = Scenario::new("synthetic:100x10KB", NetworkSpec::default());
        scenario.traffic = "ping:every=3s".parse().unwrap();
        let text = scenario.canonical();
        assert!(text.ends_with(r#""world":"sim","traffic":"ping:every=3s,size=84B"}"#), "{text}");
        assert_eq!(Scenario::from_canonical(&text).unwrap(), scenario);
    }

    #[test]
    fn a_scenario_of_a_real_browser_reads_back() {
        let mut scenario = Scenario::new("synthetic:100x10KB", NetworkSpec::default());
        scenario.world = World::Emu;
        scenario.client.program = Program::Chromium;
        let text = scenario.canonical();
        assert!(text.contains(r#""program":"chromium"},"server""#), "{text}");
        assert_eq!(Scenario::from_canonical(&text).unwrap(), scenario);
        assert_eq!(scenario.contradiction(), None);
        scenario.world = World::Sim;
        assert!(scenario.contradiction().unwrap().contains("world `emu`"));
    }
}
