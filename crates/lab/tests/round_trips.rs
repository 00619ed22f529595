//! From navigation to the first byte, in round trips, for every protocol and every TLS: docs/tls.md shows the same table.

mod common;

use common::{bare, visit};
use farlink_lab::scenario::{Protocol, Tls};
use farlink_lab::simulate::Simulator;

/// Nothing but round trips takes time on it, to a thousandth of one.
const NETWORK: &str = "rtt=1s,down=unlimited,up=unlimited";

/// A protocol over a TLS with knobs, and its round trips.
type Case = (Protocol, Tls, &'static str, u32);

const CASES: [Case; 30] = [
    (Protocol::H1, Tls::None, "", 2),
    (Protocol::H1, Tls::Tls10, "", 4),
    (Protocol::H1, Tls::Tls10, "false-start=on", 3),
    (Protocol::H1, Tls::Tls10, "resume=session", 3),
    (Protocol::H1, Tls::Tls10, "resume=session,false-start=on", 3),
    (Protocol::H1, Tls::Tls12, "", 4),
    (Protocol::H1, Tls::Tls12, "false-start=on", 3),
    (Protocol::H1, Tls::Tls12, "resume=session", 3),
    (Protocol::H1, Tls::Tls13, "", 3),
    (Protocol::H1, Tls::Tls13, "resume=session", 3),
    (Protocol::H1, Tls::Tls13, "resume=0rtt", 2),
    (Protocol::Spdy, Tls::None, "", 2),
    (Protocol::Spdy, Tls::Tls10, "", 4),
    (Protocol::Spdy, Tls::Tls10, "false-start=on", 3),
    (Protocol::Spdy, Tls::Tls10, "resume=session", 3),
    (Protocol::Spdy, Tls::Tls12, "", 4),
    (Protocol::Spdy, Tls::Tls12, "false-start=on", 3),
    (Protocol::Spdy, Tls::Tls12, "resume=session", 3),
    (Protocol::Spdy, Tls::Tls13, "", 3),
    (Protocol::Spdy, Tls::Tls13, "resume=0rtt", 2),
    (Protocol::H2, Tls::None, "", 2),
    (Protocol::H2, Tls::Tls12, "", 4),
    (Protocol::H2, Tls::Tls12, "false-start=on", 3),
    (Protocol::H2, Tls::Tls12, "resume=session", 3),
    (Protocol::H2, Tls::Tls13, "", 3),
    (Protocol::H2, Tls::Tls13, "resume=session", 3),
    (Protocol::H2, Tls::Tls13, "resume=0rtt", 2),
    (Protocol::H3Deployed, Tls::Tls13, "", 2),
    (Protocol::H3Deployed, Tls::Tls13, "resume=session", 2),
    (Protocol::H3Deployed, Tls::Tls13, "resume=0rtt", 1),
];

fn round_trips(protocol: Protocol, tls: Tls, security: &str, dns: &str) -> f64 {
    let mut scenario = bare("synthetic:1x1KB", NETWORK, protocol, tls);
    scenario.security = security.parse().unwrap();
    scenario.resolution = dns.parse().unwrap();
    assert_eq!(scenario.contradiction(), None);
    visit(&Simulator::default(), scenario, 1).record.ttfb_ns.unwrap() as f64 / 1e9
}

#[test]
fn the_first_byte_takes_whole_round_trips() {
    let mut wrong = Vec::new();
    for (protocol, tls, security, expected) in CASES {
        let measured = round_trips(protocol, tls, security, "off");
        println!("{protocol:12} {tls:6} {security:30} {measured:.4}");
        if (measured - f64::from(expected)).abs() > 0.001 * f64::from(expected) {
            wrong.push(format!("{protocol} {tls} {security}: {measured}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn dns_takes_one_more() {
    for protocol in [Protocol::H1, Protocol::H2] {
        let with = round_trips(protocol, Tls::Tls13, "", "think=0ms");
        assert!((with - 4.0).abs() < 0.004, "{protocol}: {with}");
    }
    let missed = round_trips(Protocol::H3Deployed, Tls::Tls13, "", "think=0ms,hit=0%,miss=500ms");
    assert!((missed - 3.5).abs() < 0.004, "{missed}");
}
