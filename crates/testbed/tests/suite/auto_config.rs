//! Loads by a PAC file: requests by port of the proxy, and requests past it.

use crate::common;

use std::path::PathBuf;

use common::{bare, visit};
use farlink_testbed::simulate::Simulator;
use farlink_testbed::tour::Library;
use page::Page;
use proxy::pac::{Pac, PacRule};
use record::{EventKind, VisitOutcome, VisitRecord};
use scenario::{OriginAddresses, Program, Protocol, Scenario, Tls, World};
use tempfile::TempDir;

const PAGE: &str = "synthetic:40x10KB@4hosts";
const LINK: &str = "rtt=100ms,down=10mbit,up=5mbit,queue=100pkt";

/// A folder with one file in it.
struct File {
    _folder: TempDir,
    path: PathBuf,
}

fn file(text: &str) -> File {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pac");
    std::fs::write(&path, text).unwrap();
    File { _folder: folder, path }
}

impl File {
    /// A scenario whose route ends with this file.
    fn scenario(&self, route: &str, protocol: Protocol, tls: Tls) -> Scenario {
        let mut scenario = bare(PAGE, LINK, protocol, tls);
        scenario.route = format!("{route},pac={}", self.path.display()).parse().unwrap();
        assert_eq!(scenario.contradiction(), None);
        scenario
    }

    fn load(&self, route: &str, protocol: Protocol, tls: Tls) -> VisitRecord {
        load(self.scenario(route, protocol, tls), 1)
    }
}

fn load(scenario: Scenario, seed: u64) -> VisitRecord {
    let record = visit(&Simulator::default(), scenario, seed).record;
    assert!(record.plt_ns().is_some(), "{:?}", record.outcome);
    assert!(record.objects.iter().all(|object| object.error.is_none()), "{:?}", record.objects);
    record
}

fn page() -> Page {
    page::open(PAGE).unwrap()
}

/// Peer of each object's connection, in the page's order, and the connection's index.
fn peers(record: &VisitRecord) -> Vec<(u32, &str)> {
    let peer = |connection: u32| record.connections[connection as usize].host.as_str();
    let connections = record.objects.iter().map(|object| object.connection.unwrap());
    connections.map(|connection| (connection, peer(connection))).collect()
}

fn count(record: &VisitRecord, kind: EventKind) -> usize {
    record.events.iter().filter(|event| event.kind == kind).count()
}

const PROXY: &str = "proxy.farlink.test";
const BY_HOST: &str = "function FindProxyForURL(url, host) {\n\
                       if (dnsDomainIs(host, 'static1.page.test')) return 'DIRECT';\n\
                       return shExpMatch(url, '*.png') ? 'PROXY images.corp:8080' : 'HTTPS corp:3128; DIRECT';\n}";

/// Rules send requests by host past the proxy, or by extension to one of its ports. Past the proxy, clients use
/// the same protocol as with it.
#[test]
fn rules_say_where_requests_go() {
    let (file, page) = (file(BY_HOST), page());
    for (protocol, tls) in [
        (Protocol::H2, Tls::Tls13),
        (Protocol::Spdy, Tls::Tls12),
        (Protocol::Spdy, Tls::None),
        (Protocol::H2, Tls::None),
    ] {
        let record = file.load("proxy,rtt=20ms", protocol, tls);
        let peers = peers(&record);
        let (document, _) = peers[0];
        for (object, (connection, peer)) in page.objects.iter().zip(&peers) {
            let host = page.host_of(object).name.as_str();
            match host {
                "static1.page.test" => assert_eq!(*peer, host),
                _ => assert_eq!(*peer, PROXY),
            }
            let is_document = object.path == "/";
            assert_eq!(*connection == document, is_document, "{protocol}: {}", object.path);
        }
        // One session for each port, and one past the proxy.
        assert_eq!(record.connections.len(), 3, "{protocol}");
        assert!(record.connections.iter().all(|it| it.tls == record.connections[0].tls));
        let asked = page.objects.iter().filter(|it| page.host_of(it).name != "static1.page.test");
        assert_eq!(count(&record, EventKind::Proxied), asked.count(), "{protocol}");
    }
}

/// Over HTTP/1 in clear text a host's port serves clients and proxy alike, unless the two keep connections differently.
#[test]
fn hosts_serve_clients_and_the_proxy() {
    let (file, page) = (file(BY_HOST), page());
    for (route, tls) in [
        ("proxy,rtt=20ms", Tls::None),
        ("proxy:apache,rtt=20ms", Tls::None),
        ("proxy:apache,rtt=20ms", Tls::Tls13),
        ("caching-proxy,rtt=20ms,cache=primed", Tls::None),
        ("proxy,at=first-hop,rtt=20ms", Tls::Tls12),
    ] {
        let record = file.load(route, Protocol::H1, tls);
        let all = page.objects.iter().zip(peers(&record));
        let past = all.filter(|(_, (_, peer))| *peer == "static1.page.test").count();
        assert_eq!(past, 10, "{route}: a quarter of the images");
        assert_eq!(count(&record, EventKind::Proxied), 31, "{route}");
        // Each connection past the proxy carries several requests; one of apache's to a host carries one.
        assert!(record.connections.iter().filter(|it| it.host == "static1.page.test").count() <= 6);
    }
}

/// Hosts on one machine also share a session past the proxy, if clients know that they share the machine.
#[test]
fn hosts_on_one_machine_share_what_goes_past() {
    let past = "function FindProxyForURL(url, host) { return host == 'static1.page.test' ? 'PROXY p:1' : 'DIRECT'; }";
    for (protocol, tls) in [(Protocol::H2, Tls::Tls13), (Protocol::H2, Tls::None)] {
        let kept = file(past);
        let mut scenario = kept.scenario("proxy", protocol, tls);
        scenario.origin_addresses = OriginAddresses::Shared;
        let record = load(scenario, 1);
        assert_eq!(record.connections.len(), 2, "{tls}: one to the proxy, one past it");
    }
}

/// Of a URL under TLS a file sees only the host.
#[test]
fn tunnels_are_chosen_by_host_alone() {
    let file = file(BY_HOST);
    let record = file.load("proxy,rtt=20ms,via=connect", Protocol::H2, Tls::Tls13);
    let hosts: Vec<&str> = record.connections.iter().map(|it| it.host.as_str()).collect();
    assert_eq!(hosts.len(), 4, "{hosts:?}");
    assert_eq!(count(&record, EventKind::Upstream), 3, "tunnels, and one host past the proxy");
    // `https://www.page.test/` is no image: all tunnels lead through one port, which accepts requests.
    let by_image = self::file(
        "function FindProxyForURL(url) { return /png$/.test(url) ? 'SOCKS s:1' : 'PROXY p:1'; }",
    );
    by_image.load("proxy,via=connect", Protocol::H2, Tls::Tls13);
    let scenario = by_image.scenario("proxy", Protocol::H2, Tls::Tls13);
    let refused = Library::default().prepare(&scenario).unwrap_err().message;
    assert!(refused.contains("/o/0001.png: `SOCKS s:1` names a proxy of SOCKS"), "{refused}");
}

/// erman2013's PAC file distributes requests among twenty ports in turn, which the policy `spdy-20` does
/// without a file.
#[test]
fn twenty_ports_in_turn_are_those_of_the_policy() {
    let written = Pac {
        proxies: (0..20).map(|port| format!("HTTPS proxy.test:{}", 3128 + port)).collect(),
        ..Pac::default()
    };
    let by_hand =
        "var n = 0;\nfunction FindProxyForURL() { return 'PROXY p:' + (3128 + n++ % 20); }";
    for text in [by_hand.to_owned(), written.text("DIRECT")] {
        let file = file(&text);
        for (route, protocol, tls) in [
            ("proxy,rtt=20ms", Protocol::Spdy, Tls::Tls12),
            ("proxy,via=connect", Protocol::H2, Tls::Tls13),
            ("proxy", Protocol::H1, Tls::None),
        ] {
            let mut by_file = file.scenario(route, protocol, tls);
            by_file.client.browser = "spdy-20".to_owned();
            let mut by_policy = by_file.clone();
            by_policy.route = route.parse().unwrap();
            let (by_file, by_policy) = (load(by_file, 1), load(by_policy, 1));
            assert_eq!(by_file.trace_digest, by_policy.trace_digest, "{route} {protocol}");
            assert!(by_file.trace_digest.is_some());
            assert_eq!(by_file.objects, by_policy.objects);
            if protocol == Protocol::Spdy {
                assert_eq!(by_file.connections.len(), 20);
            }
        }
    }
}

#[test]
fn what_is_drawn_is_the_seeds() {
    let drawn = file(
        "var own = Math.floor(Math.random() * 5);\n\
         function FindProxyForURL() { return Math.random() < 0.5 ? 'DIRECT' : 'PROXY p:' + (8000 + own); }",
    );
    let digest = |seed| {
        let scenario = drawn.scenario("proxy,rtt=20ms", Protocol::H2, Tls::Tls13);
        load(scenario, seed).trace_digest.unwrap()
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

/// A file's text is a part of the scenario, like that of a page's file.
#[test]
fn another_text_is_another_cell() {
    use scenario::experiment::Catalogue;
    let (one, other) = (file("// one"), file("// other"));
    let digest =
        |file: &File| Library::default().pac(file.path.to_str().unwrap()).unwrap().unwrap();
    assert_ne!(digest(&one), digest(&other));
    let mut scenario = one.scenario("proxy", Protocol::H1, Tls::None);
    let before = scenario.canonical();
    scenario.pac_digest = Some(digest(&one));
    assert_ne!(scenario.canonical(), before);
    assert_eq!(Scenario::from_canonical(&scenario.canonical()).unwrap(), scenario);
}

#[test]
fn files_are_refused_before_a_load() {
    let many = "var n = 0; function FindProxyForURL() { return 'PROXY p:' + (1 + n++); }";
    for (text, says) in [
        ("function FindProxyForURL( {", "line 1: SyntaxError"),
        ("var x;", "no function `FindProxyForURL`"),
        ("function FindProxyForURL() { return weekdayRange('MON'); }", "`weekdayRange` asks for"),
        ("function FindProxyForURL() { for (;;) {} }", "was still at work after"),
        (many, "names more than 256 proxies"),
    ] {
        let kept = file(text);
        let scenario = kept.scenario("proxy", Protocol::H1, Tls::None);
        let refused = Library::default().prepare(&scenario).unwrap_err().message;
        assert!(refused.contains(says), "{refused}");
    }
}

/// Chromium evaluates the file itself: the ports that the file names must exist.
#[test]
fn chromium_is_sent_nowhere_in_vain() {
    let refused = |text: &str, route, tls| {
        let kept = file(text);
        let mut scenario = kept.scenario(route, Protocol::H1, tls);
        (scenario.client.program, scenario.world) = (Program::Chromium, World::Emu);
        Library::default().prepare(&scenario).err().map(|refusal| refusal.message)
    };
    let direct = "function FindProxyForURL() { return 'DIRECT'; }";
    let says = refused(direct, "proxy", Tls::Tls13).unwrap();
    assert!(says.contains("says DIRECT, where Chromium asks"), "{says}");
    assert_eq!(refused(direct, "proxy", Tls::None), None);
    assert_eq!(refused(direct, "proxy,via=connect", Tls::Tls13), None);
    let clear = "function FindProxyForURL() { return 'PROXY p:1'; }";
    let says = refused(clear, "proxy", Tls::Tls13).unwrap();
    assert!(says.contains("`PROXY p:1`, and Chromium goes by the word"), "{says}");
    assert_eq!(refused(clear, "proxy", Tls::None), None);
}

/// An unpredictable port fails the visit, with a sentence.
#[test]
fn a_port_that_was_not_foreseen_fails_the_visit() {
    // Without the word `random` in the text, the function draws once for each browser.
    let text = "var n = Math['ran' + 'dom']();\n\
                function FindProxyForURL() { return 'PROXY p:' + Math.floor(1000 + 60000 * n); }";
    let of_an_image = "var n = Math['ran' + 'dom']();\n\
                       function FindProxyForURL(url) { return 'PROXY p:' + (/png$/.test(url) ? Math.floor(1000 + 60000 * n) : 1); }";
    for text in [text, of_an_image] {
        let kept = file(text);
        let scenario = kept.scenario("proxy", Protocol::H1, Tls::None);
        let record = visit(&Simulator::default(), scenario, 1).record;
        let VisitOutcome::Failed { reason } = record.outcome else { panic!("it loaded") };
        assert!(reason.contains("did not name when the load was prepared"), "{reason}");
    }
}

/// By host and by type, as served by `farlink proxy`.
#[test]
fn files_that_farlink_writes_are_understood() {
    let images = PacRule {
        types: vec!["png".to_owned()],
        proxies: vec!["PROXY p:8081".to_owned(), "PROXY p:8082".to_owned()],
        ..PacRule::default()
    };
    let written = Pac {
        direct_hosts: vec!["static1.page.test".to_owned()],
        rules: vec![images],
        ..Pac::default()
    };
    let file = file(&written.text("PROXY p:8080"));
    let record = file.load("proxy", Protocol::H2, Tls::Tls13);
    let mut carried: Vec<u32> = record.connections.iter().map(|it| it.requests).collect();
    carried.sort_unstable();
    assert_eq!(carried, [1, 10, 15, 15], "the document, what goes past, and images in turn");
}
