//! A scenario's settings of QUIC, converted for HTTP/3.

use std::time::Duration;

use congestion::Algorithm;
use http_stack::h3::settings::{Client, Server};
use quic::{Congestion, Quinn, Transport};
use tcp::Config;
use units::Time;

use super::serving;
use scenario::{Protocol, Quic, QuicCongestion, Resume, Scenario};

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
    let scheduler = scenario.serving.scheduler.map_or(server.scheduler, serving::scheduler);
    Server { scheduler, ..server }
}

/// Transport of one end: the arm, with the knobs that are set.
fn transport(scenario: &Scenario, tcp: &Config) -> Transport {
    let mut transport = match scenario.stack.protocol {
        Protocol::H3Matched => Transport::matching(tcp),
        _ => Transport::QUINN,
    };
    let Quic { congestion, initial_window_packets, .. } = &scenario.quic;
    if let Some(chosen) = congestion {
        match (&mut transport.congestion, chosen) {
            (Congestion::Quinn(quinn), QuicCongestion::Cubic) => *quinn = Quinn::Cubic,
            (Congestion::Quinn(quinn), QuicCongestion::NewReno) => *quinn = Quinn::NewReno,
            (Congestion::AsTcp(tcp), QuicCongestion::Cubic) => tcp.algorithm = Algorithm::Cubic,
            (Congestion::AsTcp(tcp), QuicCongestion::NewReno) => tcp.algorithm = Algorithm::Reno,
        }
    }
    if let Some(packets) = initial_window_packets {
        transport.initial_window_bytes = u64::from(*packets) * PACKET_BYTES;
    }
    transport
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::NetworkSpec;

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
        assert_eq!(deployed.congestion, Congestion::Quinn(Quinn::NewReno));
        assert!(
            matches!(matched.congestion, Congestion::AsTcp(tcp) if tcp.algorithm == Algorithm::Reno)
        );
        assert_eq!([deployed.initial_window_bytes, matched.initial_window_bytes], [38_400; 2]);
        assert!(!client(&scenario(Protocol::H3Matched, "0rtt=off")).early_data);
    }
}
