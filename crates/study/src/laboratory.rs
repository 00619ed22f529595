//! Laboratories other than the study's: four that are known to be wrong, and several in which one thing that
//! the study does not state is chosen differently.
//!
//! Each is the same plan with every scenario changed in one way. A claim that all the wrong ones confirm says
//! nothing about the right one; a verdict that turns with an unstated thing is a verdict on our choice. A
//! scenario to which the change does not apply stays as it is: without a radio, none can be removed.

use net::Network;

use scenario::Plan;
use scenario::{NetworkSpec, Protocol, Queue, Scenario, Tcp, Tls, choice};

choice! {
    /// A laboratory in which a study's experiments are run.
    #[derive(Default)]
    pub enum Laboratory, "laboratory" {
        /// The study's set-up.
        #[default]
        AsPublished = "as-published",
        /// TCP with the poorest loss recovery that its settings allow: no SACK, no probes, no early
        /// retransmission, no undo. Three duplicate ACKs and the timeout remain.
        NoLossRecovery = "no-loss-recovery",
        /// An ideal radio at the client: no promotions, no states, no scheduling.
        NoRadio = "no-radio",
        /// Proxies and servers that handle any number of requests at once, over any number of connections to
        /// origins.
        UnlimitedUpstream = "unlimited-upstream",
        /// Results of HTTP/1.1 are attributed to SPDY or HTTP/2, and vice versa.
        LabelsSwapped = "labels-swapped",
        /// Proxies with six connections to an origin, which handle six requests at once.
        UpstreamSix = "upstream-6",
        /// The same with 64.
        UpstreamMany = "upstream-64",
        /// Queues in front of the access link that hold one bandwidth-delay product.
        QueueOfBdp = "queue-1bdp",
        /// The same queues without a limit.
        QueueUnlimited = "queue-unlimited",
        /// TCP of an older Linux at both ends; individual settings stay.
        TcpOlder = "tcp-linux-3.2",
        /// TCP of a newer Linux, likewise.
        TcpNewer = "tcp-linux-6",
        /// HTTP/1.1 over TLS 1.2 instead of clear text.
        TlsForHttp = "tls-for-http",
        /// A client whose computing takes half the time.
        ClientFaster = "client-x2",
        /// A client whose computing takes twice the time.
        ClientSlower = "client-x0.5",
        /// SPDY/2 in place of another version.
        SpdyTwo = "spdy-2",
        /// SPDY/3 in place of another version.
        SpdyThree = "spdy-3",
    }
    not_yet {}
}

/// Relation of a laboratory to the study's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaboratoryKind {
    /// The study's own.
    Published,
    /// Known to be wrong.
    Wrong,
    /// As plausible as the study's own.
    Unstated,
}

/// A limit beyond the demand of any page.
const UNLIMITED: u32 = 10_000;

/// Settings for poor loss recovery, at each end.
const POOR_RECOVERY: [(&str, &str); 6] = [
    ("sack", "off"),
    ("dsack", "off"),
    ("loss-detection", "duplicates"),
    ("early-retransmit", "off"),
    ("tlp", "off"),
    ("frto", "off"),
];

impl Laboratory {
    /// Its relation to the study's.
    pub fn kind(self) -> LaboratoryKind {
        use Laboratory::*;
        match self {
            AsPublished => LaboratoryKind::Published,
            NoLossRecovery | NoRadio | UnlimitedUpstream | LabelsSwapped => LaboratoryKind::Wrong,
            UpstreamSix | UpstreamMany | QueueOfBdp | QueueUnlimited | TcpOlder | TcpNewer
            | TlsForHttp | ClientFaster | ClientSlower | SpdyTwo | SpdyThree => {
                LaboratoryKind::Unstated
            }
        }
    }

    /// The difference from the study's, in a few words.
    pub fn what(self) -> &'static str {
        use Laboratory::*;
        match self {
            AsPublished => "nothing",
            NoLossRecovery => {
                "TCP has no SACK, no probes, no early retransmission, and undoes nothing"
            }
            NoRadio => "the client's radio is always there",
            UnlimitedUpstream => "proxies and servers work on any number of requests at once",
            LabelsSwapped => {
                "HTTP/1.1 is called SPDY or HTTP/2, and the other way round; judged, not run"
            }
            UpstreamSix => "proxies have 6 connections to an origin, and 6 requests at once",
            UpstreamMany => "proxies have 64 connections to an origin, and 64 requests at once",
            QueueOfBdp => "the access link's queues hold one bandwidth-delay product",
            QueueUnlimited => "the access link's queues hold everything",
            TcpOlder => "TCP is that of Linux 3.2, at both ends",
            TcpNewer => "TCP is that of Linux 6, at both ends",
            TlsForHttp => "HTTP/1.1 in clear text runs over TLS 1.2",
            ClientFaster => "the client computes twice as fast",
            ClientSlower => "the client computes half as fast",
            SpdyTwo => "SPDY is SPDY/2",
            SpdyThree => "SPDY is SPDY/3",
        }
    }

    /// All of a kind.
    pub fn of_kind(kind: LaboratoryKind) -> impl Iterator<Item = Laboratory> {
        Laboratory::ALL.iter().copied().filter(move |it| it.kind() == kind)
    }

    /// True if measurements are relabelled rather than made anew.
    pub fn swaps_labels(self) -> bool {
        self == Laboratory::LabelsSwapped
    }

    /// The plan in this laboratory, with the same cells as that of the set-up. The plan is unchanged if the
    /// laboratory's change applies to none of its cells.
    pub fn plan(self, published: &Plan) -> Plan {
        let plan = published.mapped(|scenario| self.scenario(scenario));
        match plan.cells() == published.cells() {
            true => plan,
            false => plan.named(format!("{} [{self}]", published.name())),
        }
    }

    fn scenario(self, published: &Scenario) -> Scenario {
        let changed = self.changed(published);
        let is_possible = changed.contradiction().is_none()
            && (changed.network == published.network || is_network(&changed.network));
        if is_possible { changed } else { published.clone() }
    }

    fn changed(self, published: &Scenario) -> Scenario {
        use Laboratory::*;
        let mut changed = published.clone();
        match self {
            AsPublished | LabelsSwapped => {}
            NoLossRecovery => recover_poorly(&mut changed),
            NoRadio => without_radio(&mut changed.network),
            UnlimitedUpstream => {
                limit_upstream(&mut changed, UNLIMITED);
                changed.server.workers = None;
            }
            UpstreamSix => limit_upstream(&mut changed, 6),
            UpstreamMany => limit_upstream(&mut changed, 64),
            QueueOfBdp => queue(&mut changed.network, Queue::BdpThousandths(1000)),
            QueueUnlimited => queue(&mut changed.network, Queue::Unlimited),
            TcpOlder => generation(&mut changed, "linux-3.2"),
            TcpNewer => generation(&mut changed, "linux-6"),
            TlsForHttp if changed.stack.protocol.is_h1() && changed.stack.tls == Tls::None => {
                changed.stack.tls = Tls::Tls12;
            }
            TlsForHttp => {}
            ClientFaster => changed.client.cpu_multiplier /= 2.0,
            ClientSlower => changed.client.cpu_multiplier *= 2.0,
            SpdyTwo => spdy(&mut changed, Protocol::Spdy2),
            SpdyThree => spdy(&mut changed, Protocol::Spdy3),
        }
        changed
    }
}

fn recover_poorly(scenario: &mut Scenario) {
    for (knob, value) in POOR_RECOVERY {
        scenario.transport.set(knob, value).expect("TCP has these knobs");
    }
}

fn is_network(spec: &NetworkSpec) -> bool {
    Network::parse(&spec.to_string()).is_ok()
}

fn without_radio(network: &mut NetworkSpec) {
    let has_radio = Network::parse(&network.to_string()).is_ok_and(|it| it.radio.is_some());
    if has_radio {
        network.others.retain(|key, _| !key.starts_with("radio"));
        network.others.insert("radio".to_owned(), "none".to_owned());
    }
}

fn queue(network: &mut NetworkSpec, queue: Queue) {
    network.others.retain(|key, _| !matches!(key.as_str(), "down.queue" | "up.queue"));
    network.queue = Some(queue);
}

/// Limits connections to an origin, and concurrent requests where requests have workers. A tunnel has neither.
fn limit_upstream(scenario: &mut Scenario, limit: u32) {
    let resolved = scenario.route.resolved(scenario.stack.protocol);
    if !scenario.route.asks_proxy() {
        return;
    }
    let route = &mut *scenario.route;
    let behind = route.behind.as_mut();
    let behind = behind.map(|tier| (tier.resolved(Protocol::H1), &mut tier.settings));
    let front = (resolved, &mut route.settings);
    for (resolved, settings) in std::iter::once(front).chain(behind) {
        settings.upstream = Some(limit);
        if limit == UNLIMITED {
            settings.upstream_total = Some(limit);
        }
        if resolved.workers.is_some() {
            settings.workers = Some(limit);
        }
    }
}

/// Keeps individual settings, but changes the TCP generation.
fn generation(scenario: &mut Scenario, generation: &str) {
    let transport = &mut *scenario.transport;
    for side in [&mut transport.server, &mut transport.client] {
        let text = side.to_string();
        let turned = text.split_once(',').map_or(String::new(), |(_, knobs)| format!(",{knobs}"));
        if let Ok(changed) = format!("{generation}{turned}").parse::<Tcp>() {
            *side = changed;
        }
    }
}

fn spdy(scenario: &mut Scenario, version: Protocol) {
    if scenario.stack.protocol.is_spdy() {
        scenario.stack.protocol = version;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NAMES, shipped};
    use scenario::experiment::resolve;
    use testbed::tour::Library;

    fn plans(study: &str) -> Vec<Plan> {
        let study = shipped(study).unwrap();
        let sources = study.experiments().map(|(_, source)| source);
        sources.map(|source| resolve(&source, &Library::default()).unwrap()).collect()
    }

    fn kallio() -> Scenario {
        Scenario::clone(&plans("kallio2016")[3].cells()[0])
    }

    #[test]
    fn cells_keep_their_places_in_every_laboratory() {
        for study in NAMES {
            for published in plans(study) {
                for laboratory in Laboratory::ALL {
                    let plan = laboratory.plan(&published);
                    assert_eq!(plan.journey_count(), published.journey_count());
                    assert!(plan.cells().iter().all(|cell| cell.contradiction().is_none()));
                    let is_same = plan.digest() == published.digest();
                    assert_eq!(is_same, plan.name() == published.name(), "{study} {laboratory}");
                    for cell in plan.cells() {
                        Network::parse(&cell.network.to_string()).unwrap();
                    }
                }
            }
        }
    }

    #[test]
    fn every_laboratory_differs_from_the_published_one_in_some_study() {
        let published: Vec<Plan> = NAMES.into_iter().flat_map(plans).collect();
        for laboratory in Laboratory::ALL {
            let differs = published.iter().any(|it| laboratory.plan(it).digest() != it.digest());
            let relabels = laboratory.swaps_labels() || *laboratory == Laboratory::AsPublished;
            assert_eq!(differs, !relabels, "{laboratory}");
        }
    }

    #[test]
    fn one_thing_is_changed() {
        let published = kallio();
        let of = |laboratory: Laboratory| laboratory.scenario(&published);
        let network = of(Laboratory::NoRadio).network.to_string();
        assert_eq!(network, "kallio2016-cell-25prb,radio=none");
        let route = of(Laboratory::UnlimitedUpstream).route.to_string();
        let free = "proxy:mod_spdy,rtt=10ms,upstream=10000,upstream-total=10000,workers=10000";
        assert_eq!(route, free);
        let mut tiers = published.clone();
        tiers.route = "proxy,at=first-hop/caching-proxy,upstream=4".parse().unwrap();
        let route = Laboratory::UpstreamSix.scenario(&tiers).route.to_string();
        assert_eq!(route, "proxy,upstream=6,at=first-hop/caching-proxy,upstream=6");
        let server = of(Laboratory::TcpNewer).transport.server.to_string();
        assert_eq!(server, "linux-6");
        let server = of(Laboratory::NoLossRecovery).transport.server.to_string();
        assert!(server.starts_with("linux-3.10,sack=off"), "{server}");
        assert_eq!(of(Laboratory::SpdyTwo).stack.protocol, Protocol::Spdy2);
        assert_eq!(of(Laboratory::TlsForHttp), published, "SPDY has its own");
        assert_eq!(of(Laboratory::LabelsSwapped), published);
    }

    #[test]
    fn what_is_not_there_is_not_changed() {
        let network = NetworkSpec::parse("rtt=50ms,down=10mbit,up=5mbit").unwrap();
        let direct = Scenario::new("a", network);
        for laboratory in [Laboratory::NoRadio, Laboratory::UpstreamSix, Laboratory::SpdyTwo] {
            assert_eq!(laboratory.scenario(&direct), direct, "{laboratory}");
        }
    }
}
