//! An origin is scheme, host and port (RFC 6454 section 4): objects that a recording shows on another port or
//! in clear text are not loaded over the connection of the rest.

use crate::common;

use std::fmt::Write;
use std::path::Path;

use common::{bare, visit};
use farlink_testbed::simulate::Simulator;
use record::VisitRecord;
use scenario::{OriginAddresses, Protocol, Scenario, Tls};

/// A network on which only round trips take time, to a thousandth of one.
const NETWORK: &str = "rtt=100ms,down=unlimited,up=unlimited";

/// A HAR of one request and then others at once, each with its status and redirect target.
fn har(folder: &Path, entries: &[(&str, u16, &str)]) -> String {
    let mut text = String::new();
    for (index, (url, status, location)) in entries.iter().enumerate() {
        let at = index.min(1) * 21;
        let separator = if index == 0 { "" } else { "," };
        let kind = if *status == 200 && url.ends_with(".png") { "image/png" } else { "text/html" };
        write!(
            text,
            r#"{separator}{{"startedDateTime":"2026-01-01T00:00:00.{at:03}Z","time":21,
            "request":{{"method":"GET","url":"{url}","httpVersion":"http/1.1","headers":[],"headersSize":100,"bodySize":0}},
            "response":{{"status":{status},"httpVersion":"http/1.1","redirectURL":"{location}","headersSize":100,"bodySize":400,
              "headers":[],"content":{{"size":400,"mimeType":"{kind}"}}}},
            "timings":{{"blocked":0,"dns":0,"connect":20,"ssl":10,"send":0,"wait":1,"receive":0}}}}"#
        )
        .unwrap();
    }
    let path = folder.join("page.har");
    let log = format!(r#"{{"log":{{"version":"1.2","entries":[{text}]}}}}"#);
    std::fs::write(&path, log).unwrap();
    path.to_str().unwrap().to_owned()
}

fn load(entries: &[(&str, u16, &str)], protocol: Protocol, set: impl Fn(&mut Scenario)) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let page = har(folder.path(), entries);
    let mut scenario = bare(&page, NETWORK, protocol, Tls::Tls13);
    set(&mut scenario);
    assert_eq!(scenario.contradiction(), None);
    Loaded(visit(&Simulator::default(), scenario, 1).record)
}

struct Loaded(VisitRecord);

impl Loaded {
    /// Round trips from navigation to the load event.
    fn round_trips(&self) -> f64 {
        let trips = self.0.plt_ns().expect("it loads") as f64 / 100e6;
        assert!((trips - trips.round()).abs() < 0.02, "{trips}");
        trips.round()
    }

    /// Protocol and security of each connection.
    fn spoken(&self) -> Vec<(&str, &str)> {
        let connections = self.0.connections.iter();
        connections.map(|c| (c.protocol.as_str(), c.tls.as_str())).collect()
    }
}

fn as_usual(_: &mut Scenario) {}

const UPGRADE: [(&str, u16, &str); 2] =
    [("http://a.test/", 301, "https://a.test/"), ("https://a.test/", 200, "")];
const WITHIN: [(&str, u16, &str); 2] =
    [("https://a.test/old", 301, "https://a.test/"), ("https://a.test/", 200, "")];

#[test]
fn a_redirect_to_https_takes_a_connection_of_its_own() {
    // TCP and the request in clear; TCP, TLS 1.3 (or QUIC) and the request.
    for (protocol, expected) in [
        (Protocol::H1, 5.0),
        (Protocol::H2, 5.0),
        (Protocol::Spdy, 5.0),
        (Protocol::H3Deployed, 4.0),
    ] {
        assert_eq!(load(&UPGRADE, protocol, as_usual).round_trips(), expected, "{protocol}");
    }
    // One connection for both.
    for (protocol, expected) in
        [(Protocol::H1, 4.0), (Protocol::H2, 4.0), (Protocol::H3Deployed, 3.0)]
    {
        assert_eq!(load(&WITHIN, protocol, as_usual).round_trips(), expected, "{protocol}");
    }
}

#[test]
fn what_is_not_secured_is_spoken_as_browsers_speak_there() {
    let upgrade = |protocol| load(&UPGRADE, protocol, as_usual);
    assert_eq!(upgrade(Protocol::H2).spoken(), [("h1", "none"), ("h2", "tls13")]);
    assert_eq!(upgrade(Protocol::H3Deployed).spoken(), [("h1", "none"), ("h3", "tls13")]);
    assert_eq!(upgrade(Protocol::H1Pipelined).spoken(), [("h1", "none"), ("h1", "tls13")]);
}

const PORTS: [(&str, u16, &str); 3] = [
    ("https://a.test/", 200, ""),
    ("https://a.test:8443/p.png", 200, ""),
    ("http://a.test/plain.png", 200, ""),
];

#[test]
fn ports_and_schemes_of_one_name_share_no_connection() {
    let ports = load(&PORTS, Protocol::H2, as_usual);
    assert_eq!(ports.spoken(), [("h2", "tls13"), ("h2", "tls13"), ("h1", "none")]);
    // In addition to the document's three: TCP, TLS and the request.
    assert_eq!(ports.round_trips(), 6.0);
    let one = [PORTS[0], ("https://a.test/p.png", 200, "")];
    assert_eq!(load(&one, Protocol::H2, as_usual).round_trips(), 4.0);
}

#[test]
fn all_of_them_are_told_apart_where_nothing_is_secured() {
    let in_clear = |scenario: &mut Scenario| scenario.stack.tls = Tls::None;
    let upgrade = load(&UPGRADE, Protocol::H2, in_clear);
    assert_eq!((upgrade.round_trips(), upgrade.0.connections.len()), (4.0, 2));
    let ports = load(&PORTS, Protocol::Spdy, in_clear);
    assert_eq!((ports.round_trips(), ports.0.connections.len()), (4.0, 3));
}

#[test]
fn a_common_machine_listens_on_all_their_ports() {
    let together = |scenario: &mut Scenario| scenario.origin_addresses = OriginAddresses::Shared;
    for protocol in [Protocol::H1, Protocol::H2, Protocol::Spdy, Protocol::H3Deployed] {
        let ports = load(&PORTS, protocol, together);
        assert_eq!(ports.0.connections.len(), 3, "{protocol}");
    }
}

#[test]
fn every_route_leads_to_all_of_them() {
    for route in [
        "proxy",
        "caching-proxy,cache=primed",
        "proxy,via=connect",
        "socks",
        "pep",
        "pep,prefetch=off",
    ] {
        for entries in [&UPGRADE[..], &PORTS] {
            for protocol in [Protocol::H1, Protocol::H2] {
                let loaded =
                    load(entries, protocol, |scenario| scenario.route = route.parse().unwrap());
                assert!(loaded.0.plt_ns().is_some(), "{route} {protocol}");
                let statuses = loaded.0.objects.iter().map(|object| object.status);
                let expected: Vec<u16> = entries.iter().map(|entry| entry.1).collect();
                assert_eq!(statuses.collect::<Vec<_>>(), expected, "{route} {protocol}");
            }
        }
    }
}
