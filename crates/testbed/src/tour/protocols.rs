//! A scenario's settings of QUIC, HTTP/2, SPDY, TLS and sending, converted for HTTP's two ends.

use std::time::Duration;

use browser::{Policy, Priorities, Pushes};
use congestion::Algorithm;
use http_stack::h3::settings::{Client, Server};
use http_stack::server::Acceptor;
use http_stack::{h2, spdy};
use proxy::PushPolicy;
use quic::{Congestion, QuinnController, TcpController, Transport};
use scenario::{
    CertificateKey, Multiplexing, NotsentLowat, Protocol, Push, Quic, QuicCongestion, RecordSize,
    Resume, Scenario, Scheduler, Serving, Tls,
};
use tcp::Config;
use tls::model::{HandshakeStart, Modelled, Version};
use tls::{ChainKind, Group, Identity, Records, Resumption, Security, Settings};
use units::Time;

/// A packet of the smallest size that every path carries (RFC 9000 section 14), the unit of initial windows.
const PACKET_BYTES: u64 = 1_200;

/// Settings of the client.
pub(super) fn client(scenario: &Scenario) -> Client {
    let client = Client::over(transport(scenario, scenario.transport.client.config()));
    let as_resumed = match scenario.security.resume {
        None => client.early_data,
        Some(resume) => resume == Resume::EarlyData,
    };
    let after_the_beginning = |ns| Time::ZERO + Duration::from_nanos(ns);
    Client {
        early_data: scenario.quic.early_data.unwrap_or(as_resumed),
        migrate_at: scenario.quic.migrate_at_ns.map(after_the_beginning),
        ..client
    }
}

/// Settings of the servers.
pub(super) fn server(scenario: &Scenario) -> Server {
    let server = Server::over(transport(scenario, scenario.transport.server.config()));
    let scheduler = scenario.serving.scheduler.map_or(server.scheduler, scheduler);
    Server { scheduler, ..server }
}

/// Transport of one end: the arm, with the knobs that are set.
fn transport(scenario: &Scenario, tcp: &Config) -> Transport {
    let mut transport = match scenario.stack.protocol {
        Protocol::H3Matched => Transport::matching(tcp),
        _ => Transport::QUINN,
    };
    set_quic_transport(&mut transport, &scenario.quic);
    transport
}

/// Applies the knobs of `quic` that concern the transport: congestion control and initial window.
pub fn set_quic_transport(transport: &mut Transport, quic: &Quic) {
    if let Some(chosen) = quic.congestion {
        match (&mut transport.congestion, chosen) {
            (Congestion::Quinn(quinn), QuicCongestion::Cubic) => *quinn = QuinnController::Cubic,
            (Congestion::Quinn(_), QuicCongestion::CubicHystart) => {
                transport.congestion = Congestion::AsTcp(TcpController::cubic_hystart());
            }
            (Congestion::Quinn(quinn), QuicCongestion::NewReno) => {
                *quinn = QuinnController::NewReno
            }
            (Congestion::AsTcp(tcp), QuicCongestion::Cubic | QuicCongestion::CubicHystart) => {
                tcp.algorithm = Algorithm::Cubic
            }
            (Congestion::AsTcp(tcp), QuicCongestion::NewReno) => tcp.algorithm = Algorithm::Reno,
        }
    }
    if let Some(packets) = quic.initial_window_packets {
        transport.initial_window_bytes = u64::from(packets) * PACKET_BYTES;
    }
}

// A scenario's settings of HTTP/2 and SPDY, converted for their two ends.

/// Settings of HTTP/2's client.
pub(super) fn h2_client(knobs: &Multiplexing) -> h2::settings::Client {
    let usual = h2::settings::Client::CHROME;
    h2::settings::Client {
        stream_window_bytes: knobs.stream_window_bytes.unwrap_or(usual.stream_window_bytes),
        connection_window_bytes: knobs
            .connection_window_bytes
            .unwrap_or(usual.connection_window_bytes),
        header_table_bytes: knobs.header_table_bytes.unwrap_or(usual.header_table_bytes),
        ..usual
    }
}

/// Settings of HTTP/2's servers.
pub(super) fn h2_server(knobs: &Multiplexing) -> h2::settings::Server {
    let usual = h2::settings::Server::default();
    h2::settings::Server {
        streams: knobs.streams.unwrap_or(usual.streams),
        header_table_bytes: knobs.header_table_bytes.unwrap_or(usual.header_table_bytes),
        ..usual
    }
}

/// Settings of SPDY's client.
pub(super) fn spdy_client(knobs: &Multiplexing) -> spdy::Config {
    let usual = spdy::Config::CLIENT;
    spdy::Config {
        stream_window_bytes: knobs.stream_window_bytes.unwrap_or(usual.stream_window_bytes),
        session_window_bytes: knobs.connection_window_bytes.unwrap_or(usual.session_window_bytes),
        compression: compression(knobs),
        ..usual
    }
}

/// Settings of SPDY's servers.
pub(super) fn spdy_server(knobs: &Multiplexing) -> spdy::Config {
    let usual = spdy::Config::SERVER;
    spdy::Config {
        streams: knobs.streams.unwrap_or(usual.streams),
        compression: compression(knobs),
        ..usual
    }
}

fn compression(knobs: &Multiplexing) -> spdy::Compression {
    match knobs.header_compression {
        Some(false) => spdy::Compression::Stored,
        Some(true) | None => spdy::Compression::Deflate,
    }
}

// A scenario's settings of TLS, converted for its two ends.

/// Time between the earlier visit, the source of the client's sessions, and the first measured one: longer than
/// any inactivity timer of radios (UMTS: 5 s and 12 s), and connections are closed.
pub(super) const SINCE_ACQUAINTANCE: Duration = Duration::from_secs(20);

/// Security layer of the scenario's connections.
pub(super) fn security(scenario: &Scenario) -> Security {
    let false_start = scenario.security.false_start == Some(true);
    let start = if false_start { HandshakeStart::False } else { HandshakeStart::Patient };
    match scenario.stack.tls {
        Tls::None => Security::None,
        Tls::Tls10 => Security::Modelled(Modelled { version: Version::Tls10, start }),
        Tls::Tls12 if false_start => {
            Security::Modelled(Modelled { version: Version::Tls12, start })
        }
        Tls::Tls12 => Security::Tls12,
        Tls::Tls13 => Security::Tls13,
    }
}

/// The client's settings. The size of records is set by the servers alone.
pub(crate) fn client_tls(scenario: &Scenario, usual: Settings) -> Settings {
    Settings { records: usual.records, ..server_tls(scenario, usual) }
}

/// The servers' settings.
pub(super) fn server_tls(scenario: &Scenario, usual: Settings) -> Settings {
    let turned = &scenario.security;
    let identity = turned.key.map(|key| match key {
        CertificateKey::Ed25519 => Identity::Ed25519,
        CertificateKey::Rsa2048 => Identity::Rsa2048,
        CertificateKey::EcdsaP256 => Identity::EcdsaP256,
    });
    let records = turned.records.map(|size| match size {
        RecordSize::Fixed(bytes) => Records::Fixed(bytes as usize),
        RecordSize::Dynamic => Records::Dynamic,
    });
    let resumption = turned.resume.map(|resume| match resume {
        Resume::Never => Resumption::Off,
        Resume::Session => Resumption::Tickets,
        Resume::EarlyData => Resumption::EarlyData,
    });
    let chain = turned.chain_bytes.map(|bytes| ChainKind::OfBytes(bytes as usize));
    let browser = Policy::named(&scenario.client.browser);
    let is_hybrid = scenario.stack.tls == Tls::Tls13 && browser.is_ok_and(|it| it.post_quantum);
    let group = if is_hybrid { Group::X25519MlKem768 } else { usual.group };
    Settings {
        identity: identity.unwrap_or(usual.identity),
        records: records.unwrap_or(usual.records),
        resumption: resumption.unwrap_or(usual.resumption),
        chain: chain.unwrap_or(usual.chain),
        group: turned.group.unwrap_or(group),
        staple_bytes: turned.staple_bytes.map_or(usual.staple_bytes, |bytes| bytes as usize),
        ..usual
    }
}

/// Notes on TLS for readers of results.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    let mut notes = Vec::new();
    if let Security::Modelled(modelled) = security(scenario) {
        notes.push(format!(
            "{} is a model: flights and records have the sizes and the order of the time, nothing is encrypted, and cryptography takes no time",
            modelled.name()
        ));
    }
    if scenario.security.is_acquainted() {
        notes.push(format!(
            "the client has TLS sessions of every host: it spoke with each once, {} s before the visit",
            SINCE_ACQUAINTANCE.as_secs()
        ));
    }
    notes
}

// A scenario's priorities and settings of sending, converted for HTTP.

/// The client's mapping of resource types to priorities, if it has one.
pub(super) fn priorities(scenario: &Scenario) -> Result<Option<Priorities>, String> {
    let Some(priorities) = &scenario.priorities else { return Ok(None) };
    Priorities::open(&priorities.name).map(Some).map_err(|error| error.to_string())
}

/// The reason why the servers cannot schedule by this mapping.
pub(super) fn contradiction(scenario: &Scenario, priorities: &Priorities) -> Option<&'static str> {
    let is_spdy = scenario.stack.protocol.is_spdy();
    match scenario.serving.scheduler? {
        Scheduler::Tree if priorities.tree().is_none() => {
            Some("this mapping says nothing of HTTP/2's tree, which scheduler tree reads")
        }
        Scheduler::Strict | Scheduler::Rfc9218 if !is_spdy && !priorities.has_field() => Some(
            "with this mapping requests have no `priority` field, which schedulers strict and rfc9218 read in HTTP/2",
        ),
        _ => None,
    }
}

/// The scenario's settings of sending, completed by those of its proxy's preset.
pub(super) fn of(scenario: &Scenario) -> Serving {
    let like = scenario.route.preset().filter(|_| scenario.route.asks_proxy());
    let usual = like.and_then(|preset| preset.frame_bytes);
    let frame_bytes = scenario.serving.frame_bytes.or(usual);
    Serving { frame_bytes, ..scenario.serving }
}

/// Configures an acceptor by the scenario.
pub(super) fn set(acceptor: &mut Acceptor, serving: Serving) {
    if let Some(scheduler) = serving.scheduler.map(scheduler) {
        acceptor.h2.scheduler = scheduler;
        if let Some(policy) = scheduler.spdy() {
            acceptor.spdy.policy = policy;
        }
    }
    if let Some(bytes) = serving.frame_bytes {
        acceptor.h2.chunk_bytes = bytes as usize;
        acceptor.spdy.chunk_bytes = bytes as usize;
    }
    match serving.notsent_lowat {
        Some(NotsentLowat::Bytes(bytes)) => acceptor.notsent_lowat_bytes = Some(bytes),
        Some(NotsentLowat::Unlimited) => acceptor.notsent_lowat_bytes = None,
        None => {}
    }
}

/// Push policy of the servers.
pub(super) fn push(serving: Serving) -> PushPolicy {
    match serving.push {
        None | Some(Push::None) => PushPolicy::None,
        Some(Push::Css) => PushPolicy::Stylesheets,
        Some(Push::Blocking) => PushPolicy::Blocking,
        Some(Push::All) => PushPolicy::All,
    }
}

/// Treatment of pushes by the client.
pub(super) fn pushes(serving: Serving) -> Pushes {
    match push(serving) {
        PushPolicy::None => Pushes::Refused,
        _ => Pushes::Taken,
    }
}

/// The scheduler of this name.
pub(super) fn scheduler(scheduler: Scheduler) -> http_stack::Scheduler {
    match scheduler {
        Scheduler::Fifo => http_stack::Scheduler::Fifo,
        Scheduler::RoundRobin => http_stack::Scheduler::RoundRobin,
        Scheduler::Strict => http_stack::Scheduler::Strict,
        Scheduler::Tree => http_stack::Scheduler::Tree,
        Scheduler::Rfc9218 => http_stack::Scheduler::Rfc9218,
    }
}

#[cfg(test)]
mod tests {
    use scenario::NetworkSpec;

    use super::*;

    fn scenario(protocol: Protocol, quic: &str) -> Scenario {
        let mut scenario = Scenario::new("synthetic:1x1KB", NetworkSpec::default());
        scenario.stack.protocol = protocol;
        scenario.quic = quic.parse().unwrap();
        scenario.transport.set("iw", "4").unwrap();
        scenario
    }

    #[test]
    fn only_the_matched_arm_follows_tcp() {
        let deployed = server(&scenario(Protocol::H3Deployed, "")).transport;
        assert_eq!(deployed, Transport::QUINN);
        let matched = server(&scenario(Protocol::H3Matched, "")).transport;
        assert_eq!(matched.initial_window_bytes, 4 * 1448);
        assert!(
            matches!(matched.congestion, Congestion::AsTcp(tcp) if tcp.algorithm == Algorithm::Cubic)
        );
    }

    #[test]
    fn knobs_turn_either_arm_in_its_own_kind() {
        let turned = |protocol| server(&scenario(protocol, "cc=newreno,iw=32")).transport;
        let (deployed, matched) = (turned(Protocol::H3Deployed), turned(Protocol::H3Matched));
        assert_eq!(deployed.congestion, Congestion::Quinn(QuinnController::NewReno));
        assert!(
            matches!(matched.congestion, Congestion::AsTcp(tcp) if tcp.algorithm == Algorithm::Reno)
        );
        assert_eq!([deployed.initial_window_bytes, matched.initial_window_bytes], [38_400; 2]);
        assert!(!client(&scenario(Protocol::H3Matched, "0rtt=off")).early_data);
    }
}
