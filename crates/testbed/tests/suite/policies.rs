//! Effect of a browser's connection policy on a load.

use crate::common;

use common::{bare, visit};
use farlink_testbed::simulate::Simulator;
use record::{EventKind, RadioChange, VisitRecord, waited_behind};
use scenario::{H3Discovery, OriginAddresses, Protocol, Scenario, Tls};

const NETWORK: &str = "rtt=100ms,down=10mbit,up=5mbit,queue=500pkt";

fn load(scenario: Scenario) -> VisitRecord {
    let record = visit(&Simulator::default(), scenario, 1).record;
    assert!(record.plt_ns().is_some(), "{:?}", record.outcome);
    assert!(record.objects.iter().all(|object| object.error.is_none()), "{:?}", record.objects);
    record
}

fn plt_ms(record: &VisitRecord) -> f64 {
    record.plt_ns().unwrap() as f64 / 1e6
}

#[test]
fn http_1_0_opens_a_connection_for_each_request() {
    for tls in [Tls::None, Tls::Tls13] {
        let [old, new] = [Protocol::H10, Protocol::H1]
            .map(|protocol| load(bare("synthetic:30x10KB@2hosts", NETWORK, protocol, tls)));
        assert_eq!(old.connections.len(), old.objects.len());
        for connection in &old.connections {
            assert_eq!((connection.protocol.as_str(), connection.requests), ("h1.0", 1));
            assert!(connection.closed_at_ns.is_some());
        }
        assert!(old.objects.iter().all(|object| !object.reused && object.protocol == "h1.0"));
        assert!(new.connections.len() < old.connections.len());
        assert!(plt_ms(&old) > 1.2 * plt_ms(&new), "{} {}", plt_ms(&old), plt_ms(&new));
    }
}

/// Number of requests of each connection that carried any.
fn carried(record: &VisitRecord) -> Vec<u32> {
    record.connections.iter().map(|c| c.requests).filter(|requests| *requests > 0).collect()
}

fn by(browser: &str, page: &str, network: &str, protocol: Protocol, tls: Tls) -> VisitRecord {
    let mut scenario = bare(page, network, protocol, tls);
    scenario.client.browser = browser.to_owned();
    load(scenario)
}

#[test]
fn requests_are_dealt_out_among_twenty_connections() {
    for protocol in [Protocol::Spdy, Protocol::H2] {
        let record = by("spdy-20", "synthetic:99x10KB", NETWORK, protocol, Tls::Tls13);
        assert_eq!(carried(&record), [5; 20]);
        // Each image waited for its assigned connection; at first only the document's was open.
        let alone = by("chrome", "synthetic:99x10KB", NETWORK, protocol, Tls::Tls13);
        assert_eq!(carried(&alone), [100]);
    }
}

#[test]
fn a_number_of_connections_holds_for_protocols_that_multiplex() {
    for protocol in [Protocol::Spdy, Protocol::H2, Protocol::H3Deployed] {
        let mut scenario = bare("synthetic:40x10KB", NETWORK, protocol, Tls::Tls13);
        scenario.stack.connections_per_host = Some(4);
        let carried = carried(&load(scenario));
        assert_eq!(carried.len(), 4, "{protocol}");
        // Late binding: the document's connection takes an image at once, the others once they are open, and
        // then all share equally.
        assert!(carried.iter().all(|requests| *requests >= 8), "{protocol}: {carried:?}");
    }
}

#[test]
fn far_hosts_get_a_backup_connection() {
    let far = "rtt=600ms,down=10mbit,up=5mbit,queue=500pkt";
    let record = by("firefox", "synthetic:1x10KB", far, Protocol::H1, Tls::None);
    let opened: Vec<u64> = record.connections.iter().map(|c| c.opened_at_ns / 1_000_000).collect();
    assert_eq!(opened, [0, 250]);
    assert_eq!(record.connections[1].requests, 0);
    let near = by("firefox", "synthetic:1x10KB", NETWORK, Protocol::H1, Tls::None);
    assert_eq!(near.connections.len(), 1);
    let without = by("safari-ios9", "synthetic:1x10KB", far, Protocol::H1, Tls::None);
    assert_eq!(without.connections.len(), 1);

    // Multiplexing needs only one: the other is closed once it is established.
    let record = by("firefox", "synthetic:9x10KB", far, Protocol::H2, Tls::Tls13);
    assert_eq!(carried(&record), [10]);
    let closed: Vec<bool> = record.connections.iter().map(|c| c.closed_at_ns.is_some()).collect();
    assert_eq!(closed, [false, true]);
    let quic = by("firefox", "synthetic:9x10KB", far, Protocol::H3Deployed, Tls::Tls13);
    assert_eq!(quic.connections.len(), 1);
}

#[test]
fn a_backup_connection_saves_a_load_whose_first_packet_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("losses");
    std::fs::write(&list, "1\n").unwrap();
    let lossy = format!("{NETWORK},up.loss_file={}", list.display());
    let [firefox, safari] = ["firefox", "safari-ios9"]
        .map(|browser| plt_ms(&by(browser, "synthetic:1x1KB", &lossy, Protocol::H1, Tls::None)));
    let clean = plt_ms(&by("firefox", "synthetic:1x1KB", NETWORK, Protocol::H1, Tls::None));
    assert!((firefox - clean - 250.0).abs() < 1.0, "{firefox} {clean}");
    // RFC 6298 section 2: TCP by itself waits a second.
    assert!((safari - clean - 1000.0).abs() < 1.0, "{safari} {clean}");
}

#[test]
fn browsers_close_what_has_been_idle_for_long() {
    let idle = |browser, protocol| {
        let record = by(browser, "synthetic:6x10KB+200s", NETWORK, protocol, Tls::Tls13);
        let before_the_pause =
            record.connections.iter().filter(|c| c.opened_at_ns < 100_000_000_000);
        let ended =
            before_the_pause.filter(|c| c.closed_at_ns.is_some_and(|at| at < 200_000_000_000));
        (ended.count(), record.connections.len())
    };
    // Two were opened without use and are closed after a minute; the servers close the others after 75 s, which
    // the client notices on the next request.
    assert_eq!(idle("chrome", Protocol::H1), (2, 12));
    assert_eq!(idle("firefox", Protocol::H1), (6, 12));
    assert_eq!(idle("chrome", Protocol::H2), (0, 1));
    assert_eq!(idle("firefox", Protocol::H2), (1, 2));
}

/// The instants (s) at which the radio left idle, and the joules of the visit.
fn awakenings(record: &VisitRecord) -> (Vec<u64>, f64) {
    let changes = record.events.iter().filter(|event| event.kind == EventKind::Radio);
    let woken = changes
        .filter(|event| RadioChange::read(&event.detail).unwrap().state.starts_with("IDLE to"));
    let seconds = woken.map(|event| event.at_ns / 1_000_000_000).collect();
    (seconds, record.radio.as_ref().unwrap().energy_uj as f64 / 1e6)
}

/// A pause of 150 s, in which a 3G radio goes idle after 17 s, unless a connection is closed: Safari, as
/// modelled here, closes none.
fn pause(browser: &str, keep_alive: &str) -> VisitRecord {
    pause_with("synthetic:2x10KB+150s", browser, keep_alive)
}

fn pause_with(page: &str, browser: &str, keep_alive: &str) -> VisitRecord {
    let network = "rtt=100ms,down=6mbit,up=1mbit,queue=500pkt,radio=umts";
    let mut scenario = bare(page, network, Protocol::H1, Tls::None);
    scenario.client.browser = browser.to_owned();
    scenario.keep_alive = keep_alive.parse().unwrap();
    load(scenario)
}

#[test]
fn whoever_closes_late_wakes_the_radio() {
    let (kept, patient) = awakenings(&pause("safari-ios9", "idle=1h"));
    assert_eq!(kept.len(), 2, "for the page and what follows the pause: {kept:?}");
    // The server closes first.
    let (by_server, joules) = awakenings(&pause("safari-ios9", "idle=40s"));
    assert_eq!(by_server.len(), 3, "{by_server:?}");
    assert!((42..=46).contains(&by_server[1]), "{by_server:?}");
    assert!(joules > patient + 5.0, "{joules} {patient}");
    // The browser closes first.
    let (by_browser, joules) = awakenings(&pause("firefox", "idle=1h"));
    assert_eq!(by_browser.len(), 3, "{by_browser:?}");
    assert!((117..=121).contains(&by_browser[1]), "{by_browser:?}");
    assert!(joules > patient + 5.0, "{joules} {patient}");
    // A third connection, established too late to be used, is closed after a minute.
    let (unused, _) = awakenings(&pause_with("synthetic:3x10KB+150s", "chrome", "idle=1h"));
    assert_eq!(unused.len(), 3, "{unused:?}");
    assert!((60..=64).contains(&unused[1]), "{unused:?}");
    // While the radio is awake anyway, a FIN costs next to nothing.
    let (early, joules) = awakenings(&pause("safari-ios9", "idle=2s"));
    assert_eq!(early.len(), 2, "{early:?}");
    assert!((joules - patient).abs() < 2.0, "{joules} {patient}");
}

#[test]
fn servers_that_answer_few_requests_a_connection_cost_connections() {
    let connections = |keep_alive: &str, protocol| {
        let mut scenario = bare("synthetic:29x10KB", NETWORK, protocol, Tls::None);
        scenario.keep_alive = keep_alive.parse().unwrap();
        load(scenario).connections
    };
    let few = connections("requests=3", Protocol::H1);
    assert!(few.len() >= 10 && few.iter().all(|c| c.requests <= 3), "{}", few.len());
    assert_eq!(connections("", Protocol::H1).len(), 6);
    // Like HTTP/1.0.
    assert_eq!(connections("requests=1", Protocol::H1).len(), 30);
}

#[test]
fn a_server_that_breaks_pipelines_gets_its_requests_one_by_one() {
    let mut scenario = bare("synthetic:29x10KB", NETWORK, Protocol::H1Pipelined, Tls::None);
    scenario.stack.connections_per_host = Some(2);
    let pipelined = load(scenario.clone());
    assert!(waited_behind(&pipelined.objects).iter().any(|ns| *ns > 0));
    scenario.keep_alive = "requests=4".parse().unwrap();
    let broken = load(scenario);
    // After the first connection that ended with its response, which may have left requests unanswered.
    let late = broken.objects.iter().zip(waited_behind(&broken.objects)).skip(12);
    assert!(late.clone().all(|(_, ns)| ns == 0), "{:?}", late.collect::<Vec<_>>());
}

#[test]
fn hosts_on_one_machine_share_a_connection() {
    for (protocol, tls) in [
        (Protocol::H2, Tls::Tls13),
        (Protocol::H2, Tls::None),
        (Protocol::Spdy, Tls::Tls12),
        (Protocol::H3Deployed, Tls::Tls13),
    ] {
        let hosted = |origin_addresses, browser: &str| {
            let mut scenario = bare("synthetic:40x10KB@4hosts", NETWORK, protocol, tls);
            scenario.origin_addresses = origin_addresses;
            scenario.client.browser = browser.to_owned();
            load(scenario)
        };
        let together = hosted(OriginAddresses::Shared, "chrome");
        assert_eq!(carried(&together), [41], "{protocol}");
        assert_eq!(together.connections.len(), 1);
        assert_eq!(carried(&hosted(OriginAddresses::Separate, "chrome")).len(), 4);
        // The browser does not know that it may share.
        assert_eq!(carried(&hosted(OriginAddresses::Shared, "safari-ios9")).len(), 4);
    }
    let mut h1 = bare("synthetic:40x10KB@4hosts", NETWORK, Protocol::H1, Tls::None);
    h1.origin_addresses = OriginAddresses::Shared;
    assert_eq!(carried(&load(h1)).len(), 24);
}

/// Protocol of each connection that carried requests.
fn carriers(record: &VisitRecord) -> Vec<&str> {
    let used = record.connections.iter().filter(|connection| connection.requests > 0);
    used.map(|connection| connection.protocol.as_str()).collect()
}

#[test]
fn hosts_on_one_machine_share_a_connection_however_they_are_found() {
    let load_with = |protocol, dns: &str, how| {
        let mut scenario = bare("synthetic:40x10KB@4hosts", NETWORK, protocol, Tls::Tls13);
        scenario.origin_addresses = OriginAddresses::Shared;
        scenario.resolution = dns.parse().unwrap();
        scenario.discovery.h3 = how;
        assert_eq!(scenario.contradiction(), None);
        load(scenario)
    };
    use H3Discovery::{AltSvc, HttpsRecord, PriorKnowledge};
    // Each name is resolved before it is known that they share an address.
    let named = load_with(Protocol::H2, "on", PriorKnowledge);
    assert_eq!((carried(&named), named.connections.len()), (vec![41], 1));
    let asked = named.objects.iter().filter(|object| object.phases.dns_ns > 0).count();
    assert!(asked >= 1, "{asked}");
    let quic = load_with(Protocol::H3Deployed, "on", PriorKnowledge);
    assert_eq!((carried(&quic), quic.connections.len()), (vec![41], 1));
    // At most one connection of each protocol, for all hosts.
    let told = load_with(Protocol::H3Deployed, "off", AltSvc);
    assert!(told.connections.len() <= 2, "{:?}", carriers(&told));
    let both = load_with(Protocol::H3Deployed, "on", AltSvc);
    assert!(both.connections.len() <= 2, "{:?}", carriers(&both));
    let recorded = load_with(Protocol::H3Deployed, "on", HttpsRecord);
    assert_eq!(carriers(&recorded), ["h3"]);
    assert!(recorded.connections.len() <= 2, "the race's loser is not used");
}
