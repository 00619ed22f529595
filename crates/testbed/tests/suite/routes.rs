//! Routes to a page's hosts: cost, limits and visibility of a proxy in between.

use crate::common;

use std::collections::BTreeSet;

use common::{bare, journey, visit};
use farlink_testbed::simulate::Simulator;
use record::{EventKind, PepCounters, Proxied, VisitRecord};
use scenario::Execute;
use scenario::{Clients, NetworkSpec, Protocol, Scenario, Spacing, Tls};

/// A network on which only round trips take time.
const FAR: &str = "rtt=1s,down=unlimited,up=unlimited";
/// A typical access link.
const LINK: &str = "rtt=100ms,down=10mbit,up=5mbit,queue=100pkt";

fn routed(page: &str, network: &str, route: &str, protocol: Protocol, tls: Tls) -> Scenario {
    let mut scenario = bare(page, network, protocol, tls);
    scenario.route = route.parse().unwrap();
    assert_eq!(scenario.contradiction(), None);
    scenario
}

fn load(scenario: Scenario) -> VisitRecord {
    let record = visit(&Simulator::default(), scenario, 1).record;
    assert!(record.plt_ns().is_some(), "{:?}", record.outcome);
    assert!(record.objects.iter().all(|object| object.error.is_none()), "{:?}", record.objects);
    record
}

/// Steps of the proxy for each request, from the visit's record.
fn proxied(record: &VisitRecord) -> Vec<Proxied> {
    let events = record.events.iter().filter(|event| event.kind == EventKind::Proxied);
    events.map(|event| Proxied::read(event.at_ns, &event.detail).unwrap()).collect()
}

fn upstream(record: &VisitRecord) -> usize {
    record.events.iter().filter(|event| event.kind == EventKind::Upstream).count()
}

/// Time from navigation to the first byte: a second is a round trip to the proxy's place, two are one beyond it.
#[test]
fn the_first_byte_takes_whole_round_trips() {
    let mut wrong = Vec::new();
    for (route, protocol, tls, expected) in [
        ("direct", Protocol::H1, Tls::None, 2.0),
        ("direct,rtt=2s", Protocol::H1, Tls::None, 6.0),
        ("direct,rtt=2s", Protocol::H2, Tls::Tls13, 9.0),
        // To the proxy, and from there to the origin: a handshake and a request each.
        ("proxy,rtt=2s", Protocol::H1, Tls::None, 6.0),
        ("proxy,rtt=2s", Protocol::H10, Tls::None, 6.0),
        ("proxy,rtt=2s", Protocol::H1Pipelined, Tls::None, 6.0),
        ("proxy,rtt=2s", Protocol::Spdy, Tls::None, 6.0),
        ("proxy,rtt=2s", Protocol::H2, Tls::None, 6.0),
        // TLS only with the proxy.
        ("proxy,rtt=2s", Protocol::H1, Tls::Tls12, 8.0),
        ("proxy,rtt=2s", Protocol::Spdy, Tls::Tls12, 8.0),
        ("proxy,rtt=2s", Protocol::H2, Tls::Tls13, 7.0),
        // To the proxy, CONNECT, from there to the origin; then TLS and the request end to end.
        ("proxy,rtt=2s,via=connect", Protocol::H1, Tls::Tls13, 10.0),
        ("proxy,rtt=2s,via=connect", Protocol::H2, Tls::Tls12, 13.0),
        // To the proxy, a greeting, a request, from there to the origin; then as on a direct connection.
        ("socks,rtt=2s", Protocol::H1, Tls::None, 8.0),
        ("socks,rtt=2s", Protocol::H10, Tls::None, 8.0),
        ("socks,rtt=2s", Protocol::Spdy, Tls::None, 8.0),
        ("socks,rtt=2s", Protocol::H2, Tls::None, 8.0),
        ("socks,rtt=2s", Protocol::H2, Tls::Tls13, 11.0),
        ("socks,rtt=2s", Protocol::Spdy, Tls::Tls12, 14.0),
    ] {
        let scenario = routed("synthetic:1x1KB", FAR, route, protocol, tls);
        let measured = load(scenario).ttfb_ns.unwrap() as f64 / 1e9;
        println!("{route:26} {protocol:12} {tls:6} {measured:.4}");
        if (measured - expected).abs() > 0.001 * expected {
            wrong.push(format!("{route} {protocol} {tls}: {measured}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_proxy_has_one_session_for_all_hosts_and_a_limit_in_all() {
    let page = "synthetic:120x10KB@8hosts";
    for (protocol, tls) in [(Protocol::Spdy, Tls::Tls12), (Protocol::H2, Tls::Tls13)] {
        let record = load(routed(page, LINK, "proxy", protocol, tls));
        let carried: Vec<u32> = record.connections.iter().map(|c| c.requests).collect();
        assert_eq!(carried, [121], "{protocol}");
        assert_eq!(record.connections[0].host, "proxy.farlink.test");
    }
    // Six per host, but at most 32 at once through one proxy.
    let mut h1 = routed(page, LINK, "proxy", Protocol::H1, Tls::None);
    assert_eq!(most_open(&load(h1.clone())), 32);
    h1.stack.connections_total = Some(40);
    assert_eq!(most_open(&load(h1.clone())), 40);
    h1.route = "direct".parse().unwrap();
    h1.stack.connections_total = None;
    assert_eq!(most_open(&load(h1)), 48);
}

/// Largest number of connections open at once.
fn most_open(record: &VisitRecord) -> usize {
    let open_at = |at: u64| {
        let is_open = |c: &&record::ConnectionRecord| {
            c.opened_at_ns <= at && c.closed_at_ns.is_none_or(|closed| at < closed)
        };
        record.connections.iter().filter(is_open).count()
    };
    record.connections.iter().map(|c| open_at(c.opened_at_ns)).max().unwrap_or(0)
}

#[test]
fn twenty_ports_have_a_session_each() {
    let mut scenario =
        routed("synthetic:60x10KB@4hosts", LINK, "proxy", Protocol::Spdy, Tls::Tls12);
    scenario.client.browser = "spdy-20".to_owned();
    let record = load(scenario);
    let mut carried: Vec<u32> = record.connections.iter().map(|c| c.requests).collect();
    carried.sort_unstable();
    assert_eq!(carried, [[3; 19].as_slice(), &[4]].concat());
}

#[test]
fn tunnels_are_a_host_s_own() {
    let route = "proxy,via=connect";
    let record = load(routed("synthetic:40x10KB@4hosts", LINK, route, Protocol::H2, Tls::Tls13));
    let hosts: BTreeSet<&str> = record.connections.iter().map(|c| c.host.as_str()).collect();
    assert_eq!((record.connections.len(), hosts.len()), (4, 4));
    assert!(!hosts.contains("proxy.farlink.test"));
}

#[test]
fn socks_keeps_connections_to_each_host() {
    let page = "synthetic:120x10KB@8hosts";
    let h1 = load(routed(page, LINK, "socks", Protocol::H1, Tls::None));
    let of_host = |host: &str| h1.connections.iter().filter(|c| c.host == host).count();
    let hosts: BTreeSet<&str> = h1.connections.iter().map(|c| c.host.as_str()).collect();
    assert!(hosts.len() == 8 && hosts.iter().all(|host| of_host(host) >= 1), "{hosts:?}");
    // Six per host, and at most 32 at once through one proxy, as for HTTP.
    assert_eq!(most_open(&h1), 32);
    assert!(h1.connections.iter().any(|c| c.requests > 1), "they are kept");
    // One connection from the proxy for each of a client's.
    assert_eq!(upstream(&h1), h1.connections.len());
    for (protocol, tls) in [(Protocol::H2, Tls::Tls13), (Protocol::Spdy, Tls::Tls12)] {
        let record = load(routed(page, LINK, "socks", protocol, tls));
        assert_eq!(record.connections.len(), 8, "{protocol}");
    }
    let tunnelled = proxied(&h1).iter().all(|step| step.outcome == "tunnelled");
    assert!(tunnelled, "{:?}", proxied(&h1));
}

#[test]
fn the_record_tells_what_the_proxy_did() {
    let record =
        load(routed("synthetic:20x10KB", LINK, "proxy,rtt=50ms", Protocol::Spdy, Tls::Tls12));
    let steps = proxied(&record);
    assert_eq!(steps.len(), 21);
    for step in &steps {
        let in_order = [
            Some(step.asked_at_ns),
            step.origin_first_ns,
            step.client_first_ns,
            step.client_last_ns,
        ];
        let times: Vec<u64> = in_order.into_iter().map(Option::unwrap).collect();
        assert!(times.is_sorted(), "{step:?}");
        // At least a round trip.
        assert!(times[1] - times[0] >= 50_000_000, "{step:?}");
        assert!(step.origin_last_ns >= step.origin_first_ns, "{step:?}");
    }
    let objects: BTreeSet<Option<u32>> = record
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Proxied)
        .map(|event| event.object)
        .collect();
    assert_eq!(objects.len(), 21);
    let links: Vec<&str> = record.links.iter().map(|link| link.name.as_str()).collect();
    assert!(links.ends_with(&["upstream/up", "upstream/down"]), "{links:?}");
}

#[test]
fn connections_to_origins_are_kept_or_not_and_limited() {
    let connections = |route: &str| {
        upstream(&load(routed("synthetic:60x1KB", LINK, route, Protocol::Spdy, Tls::None)))
    };
    assert_eq!(connections("proxy,rtt=50ms,keep-alive=off"), 61);
    assert_eq!(connections("proxy:apache,rtt=50ms"), 61);
    assert_eq!(connections("proxy,rtt=50ms,upstream=4"), 4);
    assert_eq!(connections("proxy,rtt=50ms,workers=3"), 3);
    assert!(connections("proxy,rtt=50ms") > 10);
}

/// At most ten at once between their arrival and their end, like mod_spdy's threads.
#[test]
fn requests_wait_for_a_thread() {
    let route = "proxy:mod_spdy,rtt=50ms";
    let record = load(routed("synthetic:100x1KB", LINK, route, Protocol::Spdy, Tls::None));
    let steps = proxied(&record);
    // Interval from the first byte, less the handshake and the round trip before it, to the last byte.
    let under_way = |at: u64| {
        let began = |step: &&Proxied| step.origin_first_ns.unwrap() - 100_000_000 <= at;
        steps.iter().filter(began).filter(|s| at < s.origin_last_ns.unwrap()).count()
    };
    let most = steps.iter().map(|s| under_way(s.origin_first_ns.unwrap() - 100_000_000)).max();
    assert_eq!(most, Some(10));
    // Over HTTP/1 it behaves like any Apache.
    let h1 =
        |route| load(routed("synthetic:30x1KB", LINK, route, Protocol::H1, Tls::None)).plt_ns();
    assert_eq!(h1("proxy:mod_spdy,rtt=50ms"), h1("proxy:apache,rtt=50ms"));
}

#[test]
fn a_cache_spares_the_way_beyond_it() {
    let scenario = |route: &str| routed("synthetic:30x10KB", FAR, route, Protocol::Spdy, Tls::None);
    let first_byte = |route: &str| load(scenario(route)).ttfb_ns.unwrap() as f64 / 1e9;
    let primed = first_byte("caching-proxy,rtt=2s,cache=primed");
    assert!((primed - 2.0).abs() < 0.01, "{primed}");
    let cold = first_byte("caching-proxy,rtt=2s");
    assert!((cold - 6.0).abs() < 0.01, "{cold}");
    let hits = |route: &str| {
        let record = load(scenario(route));
        proxied(&record).iter().filter(|step| step.outcome == "hit").count()
    };
    assert_eq!(hits("caching-proxy,rtt=2s,cache=primed"), 31);
    assert_eq!(hits("caching-proxy,rtt=2s"), 0);
    let some = hits("caching-proxy,rtt=2s,cache=0.5");
    assert!((8..24).contains(&some), "{some}");
    assert_eq!(hits("caching-proxy,rtt=2s,cache=0.5"), some);
}

/// Like [`FAR`], with a backhaul behind the first hop: a second is a round trip to the first hop's far end,
/// four are one over the backhaul.
const CELL: &str = "rtt=1s,down=unlimited,up=unlimited,hop.1.rtt=4s";

/// Bytes delivered by the named link of the backhaul.
fn delivered(record: &VisitRecord, link: &str) -> u64 {
    record.links.iter().find(|its| its.name == link).unwrap().delivered_bytes
}

/// Time from navigation to the first byte, over HTTP/1.1 in clear text: a handshake and a request to the first
/// proxy, and from each to the next server. Beyond the far end a round trip takes two seconds.
#[test]
fn each_tier_costs_a_handshake_and_spares_what_is_behind_it() {
    let mut wrong = Vec::new();
    for (route, expected, crosses) in [
        ("direct,rtt=2s", 14.0, true),
        ("proxy,rtt=2s", 14.0, true),
        ("proxy,rtt=2s,at=first-hop", 14.0, true),
        // At the base station, or in the core.
        ("caching-proxy,rtt=2s,cache=primed,at=first-hop", 2.0, false),
        ("caching-proxy,rtt=2s,cache=primed", 10.0, true),
        ("caching-proxy,cache=primed,at=first-hop/caching-proxy,rtt=2s,cache=primed", 2.0, false),
        // A miss at the first that hits the second.
        ("caching-proxy,at=first-hop/caching-proxy,rtt=2s,cache=primed", 10.0, true),
        ("caching-proxy,at=first-hop/caching-proxy,rtt=2s", 14.0, true),
        // The contents of the first do not imply those of the second.
        ("caching-proxy,cache=primed,at=first-hop/caching-proxy,rtt=2s", 2.0, false),
        ("proxy,at=first-hop/proxy,rtt=2s,at=hop.1", 14.0, true),
    ] {
        let scenario = routed("synthetic:1x1KB", CELL, route, Protocol::H1, Tls::None);
        let record = load(scenario);
        let measured = record.ttfb_ns.unwrap() as f64 / 1e9;
        let crossed = delivered(&record, "hop/1/up") + delivered(&record, "hop/1/down") > 0;
        println!("{route:80} {measured:.4} {crossed}");
        if (measured - expected).abs() > 0.001 * expected || crossed != crosses {
            wrong.push(format!("{route}: {measured}, not {expected}; crossed {crossed}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_record_tells_of_each_tier() {
    let tiers = "caching-proxy,cache=0.5,at=first-hop/caching-proxy,rtt=2s,cache=0.5";
    let record = load(routed("synthetic:30x10KB", CELL, tiers, Protocol::Spdy, Tls::None));
    let steps = proxied(&record);
    let outcomes = |behind: u32, outcome: &str| {
        steps.iter().filter(|it| it.behind == behind && it.outcome == outcome).count()
    };
    let [hits, misses] = ["hit", "passed"].map(|outcome| outcomes(0, outcome));
    assert_eq!(hits + misses, 31);
    assert!((8..24).contains(&hits), "{hits}");
    // The first tier's misses go to the second, and nothing else does; each tier has draws of its own.
    let [second_hits, second_misses] = ["hit", "passed"].map(|outcome| outcomes(1, outcome));
    assert_eq!(second_hits + second_misses, misses);
    assert!(second_hits > 0 && second_misses > 0, "{second_hits} {second_misses}");
    // To the second proxy, and from there to the host, never past it.
    let opened = record.events.iter().filter(|event| event.kind == EventKind::Upstream);
    let peers: BTreeSet<&str> =
        opened.map(|event| event.detail.split(' ').nth(3).unwrap()).collect();
    let expected = ["10.0.0.4:3128,", "10.1.0.1:80,"];
    assert_eq!(peers.into_iter().collect::<Vec<_>>(), expected);
    let again = load(routed("synthetic:30x10KB", CELL, tiers, Protocol::Spdy, Tls::None));
    assert_eq!((record.trace_digest, &record.events), (again.trace_digest, &again.events));
}

#[test]
fn tiers_have_limits_of_their_own() {
    let upstream = |route: &str| {
        let record = load(routed("synthetic:60x1KB", CELL, route, Protocol::Spdy, Tls::None));
        let opened = record.events.iter().filter(|event| event.kind == EventKind::Upstream);
        let own = |address: &str| opened.clone().filter(|it| it.detail.contains(address)).count();
        (own("from 10.0.0.3:"), own("from 10.0.0.4:"))
    };
    assert_eq!(upstream("proxy,upstream=4,at=first-hop/proxy,rtt=50ms"), (4, 4));
    assert_eq!(upstream("proxy,upstream=8,at=first-hop/proxy,rtt=50ms,upstream=3"), (8, 3));
    assert_eq!(upstream("proxy,upstream=8,at=first-hop/proxy:apache,rtt=50ms"), (8, 61));
    assert_eq!(upstream("proxy:apache,at=first-hop/proxy,rtt=50ms,upstream=3"), (61, 3));
}

#[test]
fn clients_behind_two_tiers_have_steps_of_their_own() {
    let route = "caching-proxy,at=first-hop/caching-proxy,rtt=100ms";
    let network = format!("{LINK},hop.1.rtt=20ms");
    let mut scenario = routed("synthetic:10x10KB", &network, route, Protocol::Spdy, Tls::None);
    let start_spacing = Spacing::Ns(20_000_000_000);
    scenario.clients = Clients { count: 2, start_spacing, ..Clients::default() };
    let result = Simulator::default().execute(&journey(scenario, 1));
    assert_eq!(result.failure, None);
    let steps = |record: &VisitRecord| {
        let steps = proxied(record);
        [0, 1].map(|behind| steps.iter().filter(|step| step.behind == behind).count())
    };
    let by_client: Vec<_> = result.visits.iter().map(|visit| steps(&visit.record)).collect();
    assert_eq!(by_client, [[11, 11], [11, 0]]);
}

#[test]
fn places_that_a_network_does_not_have_are_refused() {
    let refusal = |network: &str, route: &str| {
        let scenario = routed("synthetic:1x1KB", network, route, Protocol::H1, Tls::None);
        let prepared = farlink_testbed::tour::Library::default().prepare(&scenario);
        prepared.err().map(|refusal| refusal.message).unwrap_or_default()
    };
    assert_eq!(refusal(CELL, "proxy,at=first-hop/proxy,at=hop.1"), "");
    assert_eq!(refusal(LINK, "proxy,at=first-hop"), "");
    let one = refusal(LINK, "proxy,at=hop.1");
    assert!(one.contains("at=hop.1: the network has one hop alone"), "{one}");
    let two = refusal(CELL, "proxy,at=hop.2");
    assert!(two.contains("the network has hop.1 to hop.1"), "{two}");
    for (network, route) in [
        (LINK, "proxy,at=first-hop/proxy"),
        (CELL, "proxy/proxy"),
        (CELL, "proxy/proxy,at=first-hop"),
    ] {
        let same = refusal(network, route);
        assert!(same.contains("farther from clients than the first"), "{route}: {same}");
    }
}

#[test]
fn clients_share_a_cache() {
    let route = "caching-proxy,rtt=100ms";
    let mut scenario = routed("synthetic:10x10KB", LINK, route, Protocol::Spdy, Tls::None);
    let start_spacing = Spacing::Ns(20_000_000_000);
    scenario.clients = Clients { count: 2, start_spacing, ..Clients::default() };
    let result = Simulator::default().execute(&journey(scenario, 1));
    assert_eq!(result.failure, None);
    let hits =
        |record: &VisitRecord| proxied(record).iter().filter(|step| step.outcome == "hit").count();
    let by_client: Vec<(usize, usize)> =
        result.visits.iter().map(|v| (proxied(&v.record).len(), hits(&v.record))).collect();
    assert_eq!(by_client, [(11, 0), (11, 11)]);
}

/// Counters of the PEP, from the visit's record.
fn carried(record: &VisitRecord) -> PepCounters {
    let mut events = record.events.iter().filter(|event| event.kind == EventKind::Pep);
    PepCounters::read(&events.next().unwrap().detail).unwrap()
}

/// A second is a round trip over the leg; the near link and the stretch beyond the far end take no time.
#[test]
fn a_pep_leaves_the_round_trips_that_splitting_leaves() {
    let mut wrong = Vec::new();
    for (route, protocol, tls, expected) in [
        // The handshake ends at the near end; the request and all of TLS go end to end.
        ("pep", Protocol::H1, Tls::None, 1.0),
        ("pep,prefetch=off", Protocol::H1, Tls::None, 1.0),
        ("pep", Protocol::Spdy, Tls::None, 1.0),
        ("pep", Protocol::H1, Tls::Tls12, 3.0),
        ("pep", Protocol::H2, Tls::Tls13, 2.0),
        ("pep,leg=quic", Protocol::H1, Tls::None, 1.0),
        ("pep,leg=quic,fec=10,prefetch=off", Protocol::H1, Tls::None, 1.0),
        ("pep,leg=quic", Protocol::H2, Tls::Tls13, 2.0),
        // Beyond the far end each connection begins with a handshake.
        ("pep,rtt=2s", Protocol::H1, Tls::None, 5.0),
        ("pep,rtt=2s", Protocol::H2, Tls::Tls13, 8.0),
        ("pep,bypass=www.page.test,near-rtt=0ms", Protocol::H2, Tls::Tls13, 3.0),
    ] {
        let scenario = routed("synthetic:1x1KB", FAR, route, protocol, tls);
        let measured = load(scenario).ttfb_ns.unwrap() as f64 / 1e9;
        println!("{route:40} {protocol:12} {tls:6} {measured:.4}");
        if (measured - expected).abs() > 0.01 * expected {
            wrong.push(format!("{route} {protocol} {tls}: {measured}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A satellite link like cardaci2015's.
const SATELLITE: &str = "rtt=620ms,down=1mbit,up=128kbit,queue=64pkt";

#[test]
fn the_record_tells_what_a_pep_carried() {
    let page = "synthetic:12x10KB@2hosts";
    let record = load(routed(page, SATELLITE, "pep,channels=2", Protocol::H1, Tls::None));
    let clear = carried(&record);
    assert_eq!((clear.fetched, clear.bypassed, clear.failed_open), (13, 0, 0), "{clear:?}");
    assert!(clear.answered_early > 0 && clear.promised >= clear.answered_early, "{clear:?}");
    let legs = record.events.iter().filter(|event| event.kind == EventKind::Leg);
    assert_eq!(legs.count(), 2);
    assert!(upstream(&record) >= 2);
    let links: Vec<&str> = record.links.iter().map(|link| link.name.as_str()).collect();
    let expected = ["up", "down", "near/up", "near/down", "upstream/up", "upstream/down"];
    assert_eq!(links, expected);
    // Over QUIC the same is carried, by one connection.
    let record = load(routed(page, SATELLITE, "pep,leg=quic,fec=10", Protocol::H1, Tls::None));
    let by_quic = carried(&record);
    assert_eq!((by_quic.fetched, by_quic.failed_open), (13, 0), "{by_quic:?}");
    assert_eq!(record.events.iter().filter(|event| event.kind == EventKind::Leg).count(), 1);
    // Connections under TLS are only split.
    let record = load(routed(page, SATELLITE, "pep", Protocol::Spdy, Tls::Tls12));
    let secured = carried(&record);
    assert_eq!((secured.split, secured.fetched, secured.promised), (2, 0, 0), "{secured:?}");
    assert!(secured.received_bytes > 120_000 && secured.saved_ms > 1_000, "{secured:?}");
    assert_eq!(record.connections.len(), 2);
    let past = load(routed(page, SATELLITE, "pep,bypass=www.page.test", Protocol::H1, Tls::None));
    assert!(carried(&past).bypassed > 0 && carried(&past).fetched > 0, "{:?}", carried(&past));
}

#[test]
fn a_pep_changes_times_and_no_bytes() {
    let page = "synthetic:12x10KB@2hosts";
    let bodies = |network: &str, route: &str, protocol, tls, seed| {
        let scenario = routed(page, network, route, protocol, tls);
        let observed = Simulator::default().observe_bodies(&scenario, seed).unwrap();
        let visit = observed.visits().next().unwrap();
        assert!(visit.record.plt_ns().is_some(), "{route}: {:?}", visit.record.outcome);
        let of = |body: &&farlink_testbed::tour::ArrivedBody| {
            (body.object, body.bytes, body.digest.clone())
        };
        visit.bodies().iter().map(of).collect::<Vec<_>>()
    };
    let lossy = format!("{SATELLITE},loss=1%");
    for (protocol, tls) in [(Protocol::H1, Tls::Tls13), (Protocol::Spdy, Tls::Tls12)] {
        let bare = bodies(SATELLITE, "direct", protocol, tls, 1);
        assert_eq!(bare.len(), 13);
        for route in ["pep", "pep,leg=quic", "pep,leg=quic,fec=10"] {
            for seed in 1..4 {
                let carried = bodies(&lossy, route, protocol, tls, seed);
                assert_eq!(carried, bare, "{route}, {protocol}, {seed}");
            }
        }
    }
    // Pages for a PEP that parses them have readable contents: compare with a PEP that does not prefetch.
    let asked = bodies(SATELLITE, "pep,prefetch=0", Protocol::H1, Tls::None, 1);
    for seed in 1..4 {
        for route in ["pep", "pep,leg=quic", "pep,leg=quic,fec=10"] {
            let carried = bodies(&lossy, route, Protocol::H1, Tls::None, seed);
            assert_eq!(carried, asked, "{route}, {seed}");
        }
    }
}

/// The terminal is idle at the request of the page, so the first request waits for a grant, as without a PEP;
/// later ones do not. A leg over QUIC also sends by itself: capacity may have been requested a moment before.
#[test]
fn a_terminal_that_asks_for_capacity_carries_a_peps_leg() {
    let terminal = format!("{SATELLITE},radio=dama,radio.frame=1ms");
    for (route, tls, least) in
        [("pep", Tls::None, 655.0), ("pep", Tls::Tls13, 655.0), ("pep,leg=quic", Tls::Tls13, 0.0)]
    {
        let page =
            |network: &str| load(routed("synthetic:1x1KB", network, route, Protocol::H1, tls));
        let (bare, behind) = (page(SATELLITE), page(&terminal));
        let ttfb = |record: &VisitRecord| record.ttfb_ns.expect("it loads") as f64 / 1e6;
        let later = ttfb(&behind) - ttfb(&bare);
        assert!((least..675.0).contains(&later), "{route}, {tls}: {later} ms for a grant of 660");
        let radio = behind.radio.expect("the terminal is in the record");
        assert!(radio.radio.contains("radio=dama"), "{radio:?}");
        assert!(radio.states.iter().any(|it| it.state == "assigned"), "{radio:?}");
        assert_eq!(bare.radio, None);
    }
}

#[test]
fn what_a_pep_has_nothing_to_do_with_is_refused() {
    let refusal = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = bare("synthetic:1x1KB", LINK, Protocol::H2, Tls::Tls13);
        scenario.route = "pep".parse().unwrap();
        change(&mut scenario);
        let prepared = farlink_testbed::tour::Library::default().prepare(&scenario);
        let refused = scenario.contradiction().map(str::to_owned);
        refused.or(prepared.err().map(|refusal| refusal.message)).unwrap_or_default()
    };
    assert_eq!(refusal(&|_| ()), "");
    let quic = refusal(&|scenario| scenario.stack.protocol = Protocol::H3Deployed);
    assert!(quic.contains("QUIC pass"), "{quic}");
    let radio = refusal(&|scenario| {
        *scenario.network = NetworkSpec::parse(&format!("{LINK},radio=umts")).unwrap();
    });
    assert!(radio.contains("radio=umts is a client's own"), "{radio}");
    let terminal = refusal(&|scenario| {
        *scenario.network = NetworkSpec::parse(&format!("{LINK},radio=dama")).unwrap();
    });
    assert_eq!(terminal, "");
    let host = refusal(&|scenario| scenario.route = "pep,bypass=nowhere.test".parse().unwrap());
    assert!(host.contains("no host `nowhere.test`"), "{host}");
}

/// Texts arrive compressed through a proxy that compresses; pictures, and texts that were compressed already, as they are.
#[test]
fn a_compressing_proxy_saves_bytes_and_time() {
    let link = "rtt=300ms,down=1mbit,up=1mbit,queue=100pkt";
    for protocol in
        [Protocol::H10, Protocol::H1, Protocol::H1Pipelined, Protocol::Spdy, Protocol::H2]
    {
        let visit = |page: &str, route| load(routed(page, link, route, protocol, Tls::None));
        let bytes = |record: &VisitRecord, index: usize| record.objects[index].body_bytes;
        let plain = visit("cardaci2015-wikipedia", "proxy");
        let compressed = visit("cardaci2015-wikipedia", "proxy,compress=all");
        let page = page::open("cardaci2015-wikipedia").unwrap();
        for (index, object) in page.objects.iter().enumerate() {
            let (before, after) = (bytes(&plain, index), bytes(&compressed, index));
            match object.compressible_to().filter(|_| object.body_bytes >= 1_024) {
                None => assert_eq!(after, before, "{protocol} {}", object.url),
                Some(share) => {
                    let left = after as f64 / before as f64;
                    let slack = 0.02 + 200.0 / before as f64;
                    assert!((left - share).abs() < slack, "{protocol} {}: {left}", object.url);
                }
            }
        }
        assert!(compressed.plt_ns() < plain.plt_ns(), "{protocol}");
        let already = visit("cardaci2015-wikipedia~gzip=40%", "proxy,compress=all");
        let as_it_was = visit("cardaci2015-wikipedia~gzip=40%", "proxy");
        let pairs = already.objects.iter().zip(&as_it_was.objects);
        assert!(pairs.map(|(one, other)| (one.body_bytes, other.body_bytes)).all(|(a, b)| a == b));
    }
}

/// Answers to requests with cookies are left alone, unless they are for all: the shop's document is not, its sheet is.
#[test]
fn compression_leaves_alone_what_is_for_one_user() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shop.har~uncompressed");
    let page = page::open(shop).unwrap();
    let sheet = page.objects.iter().position(|object| object.url.ends_with("site.css")).unwrap();
    assert!(!page.objects[0].cacheable && page.objects[sheet].cacheable);
    let shrinks = |route: &str| {
        let record = load(routed(shop, LINK, route, Protocol::H2, Tls::Tls13));
        let is_small =
            |index: usize| record.objects[index].body_bytes < page.objects[index].body_bytes;
        [is_small(0), is_small(sheet)]
    };
    assert_eq!(shrinks("proxy"), [false, false]);
    assert_eq!(shrinks("proxy,compress=on"), [false, true]);
    assert_eq!(shrinks("proxy,compress=all"), [true, true]);
}

/// A cached text is compressed for a client that accepts it, as one that comes from its origin.
#[test]
fn a_compressing_proxy_serves_from_its_cache() {
    let link = "rtt=300ms,down=1mbit,up=1mbit,queue=100pkt";
    let visit =
        |route| load(routed("cardaci2015-wikipedia", link, route, Protocol::H2, Tls::Tls13));
    let whole = |record: &VisitRecord| record.objects.iter().map(|it| it.body_bytes).sum::<u64>();
    let plain = visit("caching-proxy,cache=primed");
    let primed = visit("caching-proxy,cache=primed,compress=on");
    assert!(whole(&primed) < whole(&plain), "{} {}", whole(&primed), whole(&plain));
    let asked = |record: &VisitRecord| {
        proxied(record).iter().filter(|step| step.origin_first_ns.is_some()).count()
    };
    assert_eq!(
        asked(&primed),
        asked(&plain),
        "the codings that are held are those that are asked for"
    );
    // What is flushed depends on how it arrives.
    let streamed = whole(&visit("caching-proxy,compress=on"));
    assert!(streamed.abs_diff(whole(&primed)) * 50 < streamed, "{streamed} {}", whole(&primed));
}
