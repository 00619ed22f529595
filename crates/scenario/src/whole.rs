//! The scenario itself.

use serde::{Deserialize, Serialize};

use super::{
    BackgroundTraffic, Client, Clients, Discovery, Hosting, Itinerary, KeepAlive, Multiplexing,
    NetworkSpec, PrioritiesRef, Quic, Recording, RequestHeads, Resolution, Route, Security, Server,
    Serving, Stack, Transport, View,
};
use crate::choice;

choice! {
    /// Which clock and network a journey runs on.
    pub enum World, "world" {
        /// Virtual time over simulated links and TCP.
        Sim = "sim",
        /// The machine's time and the kernel's TCP over the same links, emulated.
        Emu = "emu",
    }
    not_yet {}
}

impl World {
    /// What was done in it: "simulated".
    pub const fn title(self) -> &'static str {
        match self {
            World::Sim => "simulated",
            World::Emu => "emulated",
        }
    }
}

choice! {
    /// Whether start phase, server time, compute and packet processing vary from repetition to
    /// repetition, as they do on real machines.
    pub enum Nuisance, "nuisance" {
        /// They vary, seeded.
        On = "on",
        /// They do not: without loss every repetition is the same.
        Off = "off",
    }
    not_yet {}
}

choice! {
    /// How the emulated world hands packets to the far end.
    #[derive(Default)]
    pub enum Release, "release" {
        /// Each by itself, when it is due, as on a wire.
        #[default]
        Single = "single",
        /// Neighbours in one piece and up to 0.4 ms early or late, as from a network card that merges what it
        /// receives: a third of the processor time.
        Coalesced = "coalesced",
    }
    not_yet {}
}

impl Release {
    fn is_single(&self) -> bool {
        *self == Release::Single
    }
}

/// Which page, and which version of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageRef {
    /// How it was asked for: a generator (`synthetic:100x10KB`), a name, a HAR's path.
    pub spec: String,
    /// Digest of the file it was read from, so that a changed file is another cell. `None` for a page
    /// that its name determines.
    pub digest: Option<String>,
    /// The names of the pages of a list, in its order. Left out of the text where there is but one page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<String>,
}

/// Everything that determines a load but the seed and the version of farlink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// What is loaded.
    pub page: PageRef,
    /// What lies between.
    pub network: NetworkSpec,
    /// What carries it.
    pub stack: Stack,
    /// TCP's settings.
    pub transport: Transport,
    /// What is turned in QUIC, for a protocol that runs on it. Left out of the text where nothing is.
    #[serde(default, skip_serializing_if = "Quic::is_usual")]
    pub quic: Quic,
    /// What is turned in HTTP/2 or SPDY. Left out of the text where nothing is.
    #[serde(default, skip_serializing_if = "Multiplexing::is_usual")]
    pub multiplexing: Multiplexing,
    /// How HTTP/3 is found. Left out of the text where it is known beforehand, as it was when there was no choice.
    #[serde(default, skip_serializing_if = "Discovery::is_usual")]
    pub discovery: Discovery,
    /// What requests say of themselves. Left out of the text where they are made by size, as they were when there was no choice.
    #[serde(default, skip_serializing_if = "RequestHeads::is_usual")]
    pub request_heads: RequestHeads,
    /// Who loads it.
    pub client: Client,
    /// How many do. Left out of the text where it is one alone, as it was when there was no choice.
    #[serde(default, skip_serializing_if = "Clients::is_one_alone")]
    pub clients: Clients,
    /// Who serves it.
    pub server: Server,
    /// How long servers keep connections of HTTP/1.1. Left out of the text where nothing is said of it.
    #[serde(default, skip_serializing_if = "KeepAlive::is_usual")]
    pub keep_alive: KeepAlive,
    /// On how many machines. Left out of the text where each host has its own.
    #[serde(default, skip_serializing_if = "Hosting::is_apart")]
    pub hosting: Hosting,
    /// By what the client prefers one object to another; `None` is the page's own priorities, of which HTTP/2 and HTTP/3 are told nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priorities: Option<PrioritiesRef>,
    /// How servers send. Left out of the text where nothing is set.
    #[serde(default, skip_serializing_if = "Serving::is_usual")]
    pub serving: Serving,
    /// Whether repetitions vary.
    pub nuisance: Nuisance,
    /// Which clock.
    pub world: World,
    /// How its emulator releases packets. Left out of the text where they leave one by one, as they did when there was no choice.
    #[serde(default, skip_serializing_if = "Release::is_single")]
    pub release: Release,
    /// What the client sends beside the page. Left out of the text where that is nothing, as it was when there was no choice.
    #[serde(default, skip_serializing_if = "BackgroundTraffic::is_none")]
    pub traffic: BackgroundTraffic,
    /// What is turned in TLS. Left out of the text where nothing is, as it was when there was no choice.
    #[serde(default, skip_serializing_if = "Security::is_usual")]
    pub security: Security,
    /// How names become addresses. Left out of the text where a hosts file says it, as it was when there was no choice.
    #[serde(default, skip_serializing_if = "Resolution::is_by_hosts")]
    pub resolution: Resolution,
    /// How requests get to the page's hosts. Left out of the text where that is straight on, as it was when there was no choice.
    #[serde(default, skip_serializing_if = "Route::is_usual")]
    pub route: Route,
    /// Digest of the PAC file that the route names, so that a changed one is another cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pac_digest: Option<String>,
    /// The way through the pages. Left out of the text where it says nothing, as it was when each journey had one page.
    #[serde(default, skip_serializing_if = "Itinerary::is_usual")]
    pub journey: Itinerary,
    /// What is recorded over time. Left out of the text where nothing is, as it was when there was no choice.
    #[serde(default, skip_serializing_if = "Recording::is_nothing")]
    pub record: Recording,
}

impl PageRef {
    /// The page that its name determines.
    pub fn named(spec: impl Into<String>) -> PageRef {
        PageRef { spec: spec.into(), digest: None, pages: Vec::new() }
    }
}

impl Scenario {
    /// The page over the network with everything else at its default: HTTP/2 with TLS 1.3, Linux's
    /// TCP, a desktop with Chrome's policy, a cold cache, nuisance on.
    pub fn new(page: impl Into<String>, network: NetworkSpec) -> Scenario {
        Scenario {
            page: PageRef::named(page),
            network,
            stack: Stack::default(),
            transport: Transport::default(),
            quic: Quic::default(),
            multiplexing: Multiplexing::default(),
            discovery: Discovery::default(),
            request_heads: RequestHeads::default(),
            client: Client::default(),
            clients: Clients::default(),
            server: Server::default(),
            keep_alive: KeepAlive::default(),
            hosting: Hosting::Apart,
            priorities: None,
            serving: Serving::default(),
            nuisance: Nuisance::On,
            world: World::Sim,
            release: Release::Single,
            traffic: BackgroundTraffic::default(),
            security: Security::default(),
            resolution: Resolution::default(),
            route: Route::default(),
            pac_digest: None,
            journey: Itinerary::default(),
            record: Recording::default(),
        }
    }

    /// How many visits each client makes that are measured.
    pub fn visits_each(&self) -> u32 {
        let pages = self.page.pages.len().max(1) as u32;
        let views = if self.client.view == View::Both { 2 } else { 1 };
        views * pages * self.journey.times
    }

    /// The client that made the visit with this index, and which of his visits it was: visits of a journey are numbered client by client.
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
        assert!(scenario.contradiction().unwrap().contains("keep-alive is HTTP/1.1's"));
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
