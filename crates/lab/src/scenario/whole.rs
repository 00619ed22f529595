//! The scenario itself.

use serde::{Deserialize, Serialize};

use super::choice::choice;
use super::{
    BackgroundTraffic, Client, Clients, Discovery, Hosting, KeepAlive, Multiplexing, NetworkSpec,
    Origins, PrioritiesRef, Program, Protocol, Quic, RequestHeads, Resolution, Scheduler, Security,
    Server, Serving, Stack, Tls, Transport,
};

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
}

impl Scenario {
    /// The page over the network with everything else at its default: HTTP/2 with TLS 1.3, Linux's
    /// TCP, a desktop with Chrome's policy, a cold cache, nuisance on.
    pub fn new(page: impl Into<String>, network: NetworkSpec) -> Scenario {
        Scenario {
            page: PageRef { spec: page.into(), digest: None },
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
        }
    }

    /// Why no world can run it, if none can.
    pub fn contradiction(&self) -> Option<&'static str> {
        let chromium = self.client.program == Program::Chromium;
        if chromium && !self.clients.is_one_alone() {
            return Some(
                "one Chromium keeps a machine busy: several clients are loaders (client `loader`)",
            );
        }
        let protocol = self.stack.protocol;
        if protocol.is_quic() && self.stack.tls != Tls::Tls13 {
            return Some(
                "HTTP/3 runs over QUIC, which TLS 1.3 alone secures (RFC 9001): use tls13 with it",
            );
        }
        if !protocol.is_quic() && !self.quic.is_usual() {
            return Some(
                "QUIC's knobs turn nothing where TCP carries the page: use them with h3-deployed or h3-matched",
            );
        }
        if !self.hosting.is_apart() {
            if chromium {
                return Some(
                    "Chromium must be told of each host's machine: hosting `together` is for farlink's own loader (client `loader`)",
                );
            }
            if self.server.origins == Origins::Recorded {
                return Some(
                    "hosts on one machine are equally far away: use hosting `apart`, or origins `equal`",
                );
            }
        }
        if !protocol.keeps_alive() && !self.keep_alive.is_usual() {
            return Some(
                "keep-alive is HTTP/1.1's: h1.0 keeps no connection, what multiplexes keeps its own for good; use it with h1 or h1-pipelined",
            );
        }
        if let Some(contradiction) = self.multiplexing.contradiction(protocol) {
            return Some(contradiction);
        }
        if !self.multiplexing.is_usual() && chromium {
            return Some(
                "Chromium's windows and tables are its own: turn multiplexing's knobs for farlink's loader (client `loader`)",
            );
        }
        if !protocol.is_quic() && !self.discovery.is_usual() {
            return Some(
                "there is no HTTP/3 to be found or blocked where TCP carries the page: use h3-discovery and udp with h3-deployed or h3-matched",
            );
        }
        if !self.discovery.is_usual() && chromium {
            return Some(
                "Chromium is told beforehand who speaks HTTP/3: it believes no Alt-Svc of a certificate that only farlink knows; load with farlink's own loader (client `loader`), or leave h3-discovery straight and UDP open",
            );
        }
        if !self.request_heads.is_usual() && chromium {
            return Some(
                "Chromium fills its requests' heads by itself: leave them `sized`, or load with farlink's own loader (client `loader`)",
            );
        }
        if let Some(contradiction) = self.order_contradiction() {
            return Some(contradiction);
        }
        let program = self.client.program;
        if let Some(why) = self.security.contradiction(protocol, self.stack.tls, program) {
            return Some(why);
        }
        if chromium && !self.resolution.is_by_hosts() {
            return Some(
                "Chromium is told the hosts' addresses here and asks no DNS: use the client `loader`, or dns `off`",
            );
        }
        match (self.world, protocol, self.stack.tls) {
            (World::Sim, ..) if self.release != Release::Single => Some(
                "the simulated world has no emulator that could release packets together: use world `emu`, or release `single`",
            ),
            (World::Sim, ..) if chromium => Some(
                "a real Chromium loads pages in real time only: use the emulated world (world `emu`)",
            ),
            (World::Emu, Protocol::Spdy | Protocol::Spdy3 | Protocol::Spdy2, _) if chromium => {
                Some(
                    "Chromium speaks SPDY no more since version 51: use h1 or h2, or the client `loader`",
                )
            }
            (World::Emu, Protocol::H2, Tls::None) if chromium => {
                Some("Chromium speaks HTTP/2 over TLS only: use h1, or tls13")
            }
            (_, Protocol::H10, _) if chromium => {
                Some("Chromium asks by HTTP/1.1: use h1, or farlink's own loader (client `loader`)")
            }
            (_, Protocol::H1Pipelined, _) if chromium => Some(
                "Chromium has not pipelined since version 32: use h1, or farlink's own loader (client `loader`)",
            ),
            _ => None,
        }
    }

    /// Why its responses cannot be sent in the order that is asked for.
    fn order_contradiction(&self) -> Option<&'static str> {
        let protocol = self.stack.protocol;
        let (is_spdy, is_h1) = (protocol.is_spdy(), protocol.is_h1());
        let Serving { scheduler, frame_bytes, unsent, push } = self.serving;
        let program = self.client.program;
        match scheduler {
            Some(_) if is_h1 => Some(
                "HTTP/1 answers in the order of requests: a scheduler needs a protocol that multiplexes (spdy, h2)",
            ),
            Some(_) if protocol == Protocol::Recorded => {
                Some("hosts of several protocols have no scheduler in common: name one protocol")
            }
            Some(Scheduler::Tree | Scheduler::Rfc9218) if is_spdy => Some(
                "SPDY says three bits of a request's priority: scheduler strict reads them; tree and rfc9218 need h2",
            ),
            Some(Scheduler::Tree) if protocol.is_quic() => {
                Some("HTTP/3 has no tree of dependencies (RFC 9114 appendix A.2.3): use rfc9218")
            }
            Some(Scheduler::Strict | Scheduler::Tree | Scheduler::Rfc9218)
                if !is_spdy && self.priorities.is_none() && program == Program::Loader =>
            {
                Some(
                    "the scheduler reads priorities that the client does not send: add priorities (chrome, safari, equal or a file)",
                )
            }
            _ if frame_bytes.is_some() && (is_h1 || protocol.is_quic()) => {
                Some("frames of a given size are HTTP/2's and SPDY's: use them with h2 or spdy")
            }
            _ if unsent.is_some() && protocol.is_quic() => Some(
                "what lies unsent in TCP means nothing to QUIC: use it with a protocol over TCP",
            ),
            _ if push.is_some() && !(is_spdy || protocol == Protocol::H2) => Some(
                "servers push over h2 and spdy alone: HTTP/1 has no push, HTTP/3 is spoken here without, and recorded hosts speak several protocols",
            ),
            _ if push.is_some() && program == Program::Chromium => {
                Some("Chromium refuses pushed responses since version 106: use the client `loader`")
            }
            _ if self.priorities.is_some() && program == Program::Chromium => Some(
                "Chromium has its own priorities: leave the mapping out, or use the client `loader`",
            ),
            _ => None,
        }
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
