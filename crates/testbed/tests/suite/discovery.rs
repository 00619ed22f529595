//! Discovery of HTTP/3 by a browser: announced in a response, then raced; and its behaviour if UDP is blocked.

use crate::common;

use common::bare;
use farlink_testbed::simulate::Simulator;
use page::{After, ObjectId};
use scenario::{DiscoverySettings, H3Discovery, Protocol, Tls, Udp, View};
use scenario::{Execute, MeasuredVisit};
use tempfile::TempDir;

const NETWORK: &str = "rtt=80ms,down=8mbit,up=2mbit,queue=100pkt";
const STRAIGHT: DiscoverySettings =
    DiscoverySettings { h3: H3Discovery::PriorKnowledge, udp: Udp::Open };
const FOUND: DiscoverySettings = DiscoverySettings { h3: H3Discovery::AltSvc, udp: Udp::Open };
const RECORDED: DiscoverySettings =
    DiscoverySettings { h3: H3Discovery::HttpsRecord, udp: Udp::Open };
const RECORDED_IN_VAIN: DiscoverySettings =
    DiscoverySettings { h3: H3Discovery::HttpsRecord, udp: Udp::Blocked };
const FOUND_IN_VAIN: DiscoverySettings =
    DiscoverySettings { h3: H3Discovery::AltSvc, udp: Udp::Blocked };

/// Loads a page of a document and images, each discovered after the one before it, none of them cached: the
/// cold visit, then the warm one.
fn visits(protocol: Protocol, discovery: DiscoverySettings) -> [MeasuredVisit; 2] {
    visits_with(protocol, discovery, "off")
}

fn visits_with(protocol: Protocol, discovery: DiscoverySettings, dns: &str) -> [MeasuredVisit; 2] {
    let mut page = page::open("synthetic:12x12KB").unwrap();
    for (object, before) in page.objects.iter_mut().skip(1).zip(0..) {
        object.waits_for[0].object = ObjectId(before);
        object.waits_for[0].after = After::End;
    }
    page.objects.iter_mut().for_each(|object| object.cacheable = false);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("chain.json");
    page::file::save(&page, &file).unwrap();
    let mut scenario = bare(file.to_str().unwrap(), NETWORK, protocol, Tls::Tls13);
    (scenario.client.view, scenario.discovery) = (View::Both, discovery);
    scenario.resolution = dns.parse().unwrap();
    assert_eq!(scenario.contradiction(), None);
    let result = Simulator::default().execute(&common::journey(scenario, 1));
    assert_eq!(result.failure, None);
    result.visits.try_into().expect("a journey of both views has two visits")
}

/// Protocols of the requests, in the page's order.
fn protocols(visit: &MeasuredVisit) -> Vec<&str> {
    visit.record.objects.iter().map(|object| object.protocol.as_str()).collect()
}

fn connections(visit: &MeasuredVisit, protocol: &str) -> usize {
    visit.record.connections.iter().filter(|used| used.protocol == protocol).count()
}

fn plt_ns(visit: &MeasuredVisit) -> u64 {
    visit.record.plt_ns().expect("the page loads")
}

#[test]
fn the_first_visit_begins_over_http2_and_goes_on_over_http3() {
    let [cold, _] = visits(Protocol::H3Deployed, FOUND);
    let protocols = protocols(&cold);
    let moved = protocols.iter().position(|protocol| *protocol == "h3").expect("it moves over");
    // The document announces HTTP/3; QUIC shakes hands during the first images.
    assert!((2..=4).contains(&moved), "{protocols:?}");
    assert!(protocols[..moved].iter().all(|protocol| *protocol == "h2"), "{protocols:?}");
    assert!(protocols[moved..].iter().all(|protocol| *protocol == "h3"), "{protocols:?}");
    assert_eq!((connections(&cold, "h2"), connections(&cold, "h3")), (1, 1));
}

#[test]
fn a_later_visit_knows_and_goes_straight_to_http3() {
    let [_, found] = visits(Protocol::H3Deployed, FOUND);
    assert!(protocols(&found).iter().all(|protocol| *protocol == "h3"), "{:?}", protocols(&found));
    assert_eq!(connections(&found, "h2"), 0, "QUIC has its head start");
    let [_, straight] = visits(Protocol::H3Deployed, STRAIGHT);
    // The announcement changes the size of heads by a few bytes.
    assert!(plt_ns(&found).abs_diff(plt_ns(&straight)) < 1_000_000);
}

#[test]
fn where_udp_is_blocked_the_page_loads_as_over_http2() {
    let [cold, warm] = visits(Protocol::H3Deployed, FOUND_IN_VAIN);
    for visit in [&cold, &warm] {
        assert!(
            protocols(visit).iter().all(|protocol| *protocol == "h2"),
            "{:?}",
            protocols(visit)
        );
    }
    let [over_h2, again] = visits(Protocol::H2, STRAIGHT);
    // QUIC's useless first flights take a little of the uplink.
    let slower =
        |visit: &MeasuredVisit, plain: &MeasuredVisit| plt_ns(visit) as f64 / plt_ns(plain) as f64;
    assert!(slower(&cold, &over_h2) < 1.03, "{}", slower(&cold, &over_h2));
    assert!(slower(&warm, &again) < 1.03, "{}", slower(&warm, &again));
}

#[test]
fn who_asks_dns_begins_over_http3() {
    let [recorded, again] = visits_with(Protocol::H3Deployed, RECORDED, "on");
    for visit in [&recorded, &again] {
        assert!(protocols(visit).iter().all(|used| *used == "h3"), "{:?}", protocols(visit));
    }
    // TCP starts together with QUIC until QUIC has worked on this network; then QUIC gets its head start.
    assert_eq!((connections(&recorded, "h2"), connections(&again, "h2")), (1, 0));
    let [straight, _] = visits_with(Protocol::H3Deployed, STRAIGHT, "on");
    let [told, _] = visits_with(Protocol::H3Deployed, FOUND, "on");
    // The race's handshake takes a little of both links.
    assert!(plt_ns(&recorded).abs_diff(plt_ns(&straight)) < 10_000_000);
    assert!(plt_ns(&recorded) + 80_000_000 < plt_ns(&told), "a round trip and more earlier");
}

#[test]
fn a_record_is_of_no_use_where_udp_is_blocked() {
    for visit in visits_with(Protocol::H3Deployed, RECORDED_IN_VAIN, "on") {
        assert!(protocols(&visit).iter().all(|used| *used == "h2"), "{:?}", protocols(&visit));
    }
}

#[test]
fn who_resolves_no_names_finds_no_record() {
    let mut scenario = bare("synthetic:1x1KB", "4g", Protocol::H3Deployed, Tls::Tls13);
    scenario.discovery = RECORDED;
    assert!(scenario.contradiction().unwrap().contains("dns `on`"));
}

#[test]
fn who_goes_straight_where_udp_is_blocked_gets_nowhere() {
    let [cold, _] =
        visits(Protocol::H3Deployed, DiscoverySettings { udp: Udp::Blocked, ..STRAIGHT });
    assert_eq!(cold.record.plt_ns(), None, "{:?}", cold.record.outcome);
}

#[test]
fn discovery_is_a_part_of_the_text_where_it_is_not_usual() {
    let mut scenario = bare("synthetic:1x1KB", "4g", Protocol::H3Matched, Tls::Tls13);
    assert!(!scenario.canonical().contains("discovery"));
    scenario.discovery = FOUND_IN_VAIN;
    let text = scenario.canonical();
    assert!(text.contains(r#""discovery":{"h3":"alt-svc","udp":"blocked"}"#), "{text}");
    assert_eq!(scenario::Scenario::from_canonical(&text).unwrap(), scenario);
    scenario.stack.protocol = Protocol::H2;
    assert!(scenario.contradiction().unwrap().contains("no arm runs on QUIC"));
}
