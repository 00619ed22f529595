//! Round trips from navigation to the first byte, for every protocol and every TLS version: docs/tls.md shows
//! the same table.

use crate::common;

use common::{bare, visit};
use farlink_testbed::simulate::Simulator;
use scenario::{H3Discovery, Protocol, Scenario, Tls};

/// A network on which only round trips take time, to a thousandth of one.
const NETWORK: &str = "rtt=1s,down=unlimited,up=unlimited";

/// A protocol, a TLS version with knobs, and the expected round trips.
type Case = (Protocol, Tls, &'static str, u32);

const CASES: [Case; 33] = [
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
    (Protocol::H1, Tls::Tls13, "group=x25519mlkem768", 3),
    (Protocol::H2, Tls::Tls13, "group=x25519mlkem768,resume=0rtt", 2),
    (Protocol::H3Deployed, Tls::Tls13, "", 2),
    (Protocol::H3Deployed, Tls::Tls13, "group=x25519mlkem768", 2),
    (Protocol::H3Deployed, Tls::Tls13, "resume=session", 2),
    (Protocol::H3Deployed, Tls::Tls13, "resume=0rtt", 1),
];

fn round_trips(protocol: Protocol, tls: Tls, security: &str, dns: &str) -> f64 {
    seconds(scenario(NETWORK, protocol, tls, security, dns))
}

fn scenario(network: &str, protocol: Protocol, tls: Tls, security: &str, dns: &str) -> Scenario {
    let mut scenario = bare("synthetic:1x1KB", network, protocol, tls);
    scenario.security = security.parse().unwrap();
    scenario.resolution = dns.parse().unwrap();
    assert_eq!(scenario.contradiction(), None);
    scenario
}

/// Time from navigation to the first byte.
fn seconds(scenario: Scenario) -> f64 {
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

/// DNS announces HTTP/3 together with the address, in the same round trip; with `Alt-Svc` the first response is
/// over HTTP/2.
#[test]
fn a_record_brings_http3_to_the_first_response() {
    use H3Discovery::{AltSvc, HttpsRecord, PriorKnowledge};
    for (discovery, expected, spoken) in
        [(PriorKnowledge, 3, "h3"), (HttpsRecord, 3, "h3"), (AltSvc, 4, "h2")]
    {
        let mut scenario = scenario(NETWORK, Protocol::H3Deployed, Tls::Tls13, "", "think=0ms");
        scenario.discovery.h3 = discovery;
        assert_eq!(scenario.contradiction(), None);
        let record = visit(&Simulator::default(), scenario, 1).record;
        let measured = record.ttfb_ns.unwrap() as f64 / 1e9;
        assert!((measured - f64::from(expected)).abs() < 0.004, "{discovery}: {measured}");
        let document = &record.objects[0];
        assert_eq!(document.protocol, spoken, "{discovery}");
        let asked = document.phases.dns_ns as f64 / 1e9;
        assert!((asked - 1.0).abs() < 0.001, "{discovery}: {asked} s of DNS");
    }
}

#[test]
fn a_resolver_at_the_first_hop_is_nearer() {
    let network = "rtt=200ms,down=unlimited,up=unlimited,hop.1.rtt=800ms";
    for (at, expected) in [("first-hop", 2.2), ("far-end", 3.0)] {
        let dns = format!("think=0ms,at={at}");
        let measured = seconds(scenario(network, Protocol::H1, Tls::None, "", &dns));
        assert!((measured - expected).abs() < 0.003, "{at}: {measured}");
    }
}

/// A server may send ten segments, or three, before the client's next packet; over QUIC three times the bytes received.
#[test]
fn a_chain_too_long_for_the_first_flight_costs_a_round_trip() {
    let over = |protocol, tls, chain: &str, window: &str| {
        let mut scenario = scenario(NETWORK, protocol, tls, chain, "off");
        scenario.transport.set("iw", window).unwrap();
        seconds(scenario).round() as u32
    };
    let key = "key=rsa-2048,chain=";
    for (bytes, window, expected) in [("6KB", "10", 4), ("3KB", "3", 4), ("6KB", "3", 5)] {
        let measured = over(Protocol::H1, Tls::Tls12, &format!("{key}{bytes}"), window);
        assert_eq!(measured, expected, "{bytes}, {window}");
    }
    assert_eq!(over(Protocol::H3Deployed, Tls::Tls13, "chain=1KB", "10"), 2);
    assert_eq!(over(Protocol::H3Deployed, Tls::Tls13, "chain=6KB", "10"), 3);
}

/// Names that the document's head announces are looked up while the document arrives.
#[test]
fn prefetched_names_cost_objects_less() {
    let spent = |prefetch: &str| {
        let network = "rtt=400ms,down=100kbit,up=100kbit";
        let mut scenario = bare("synthetic:100x1KB@4hosts", network, Protocol::H2, Tls::None);
        scenario.resolution = format!("prefetch={prefetch}").parse().unwrap();
        let record = visit(&Simulator::default(), scenario, 1).record;
        let spent: u64 = record.objects.iter().map(|object| object.phases.dns_ns).sum();
        (spent, record.plt_ns().unwrap())
    };
    let (late, early) = (spent("off"), spent("on"));
    assert!(late.0 > early.0 && early.0 > 400_000_000, "{late:?} {early:?}");
    assert!(late.1 >= early.1, "{late:?} {early:?}");
}
