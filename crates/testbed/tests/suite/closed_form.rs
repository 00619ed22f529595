//! Loads whose time can be computed by hand.

use crate::common;

use common::{bare, visit};
use farlink_testbed::simulate::Simulator;
use scenario::{Protocol, Tls};

fn ttfb_ms(network: &str, protocol: Protocol, tls: Tls) -> f64 {
    let visit = visit(&Simulator::default(), bare("synthetic:1x1KB", network, protocol, tls), 1);
    visit.record.ttfb_ns.unwrap() as f64 / 1e6
}

fn assert_within(value: f64, expected: f64, tolerance: f64) {
    let off = (value - expected).abs() / expected;
    assert!(off <= tolerance, "{value} is {:.3} % off {expected}", off * 100.0);
}

/// The first byte over a GEO link of 620 ms: TCP, TLS and HTTP take one round trip each, TLS 1.2 two.
#[test]
fn first_byte_over_geo_takes_whole_round_trips() {
    let geo = "rtt=620ms,down=unlimited,up=unlimited";
    for protocol in [Protocol::H10, Protocol::H1, Protocol::H2] {
        assert_within(ttfb_ms(geo, protocol, Tls::None), 2.0 * 620.0, 0.001);
        assert_within(ttfb_ms(geo, protocol, Tls::Tls13), 3.0 * 620.0, 0.001);
        assert_within(ttfb_ms(geo, protocol, Tls::Tls12), 4.0 * 620.0, 0.001);
    }
}

/// 367 KB over 150 kbit/s take at least 19.6 s, without headers.
#[test]
fn a_slow_link_is_as_slow_as_its_rate() {
    let slow = "rtt=150ms,down=150kbit,up=75kbit,queue=50pkt";
    for protocol in [Protocol::H1, Protocol::H2] {
        let visit = visit(&Simulator::default(), bare("bth2013", slow, protocol, Tls::None), 1);
        let plt = visit.record.plt_ns().unwrap() as f64 / 1e9;
        assert!(plt >= 19.6, "{protocol}: {plt} s");
        assert!(plt < 30.0, "{protocol}: {plt} s");
    }
}

/// Fifty objects of 16 KB over one connection, without loss, at 33 Mbit/s and 49 ms: three round trips of set-up (TCP and two of
/// TLS 1.2), about six rounds of slow start, and 0.19 s of bytes: 0.6 s.
#[test]
fn slow_start_and_not_the_rate_decides_on_a_fast_link() {
    let lte = "rtt=49ms,down=33mbit,up=12mbit,queue=1000pkt";
    let scenario = bare("synthetic:50x16KB", lte, Protocol::H2, Tls::Tls12);
    let plt = visit(&Simulator::default(), scenario, 1).record.plt_ns().unwrap() as f64 / 1e9;
    assert_within(plt, 0.6, 0.05);
}

/// One object of 87 KB, 60 segments, IW10, no bandwidth limit: 10 + 20 + 30 segments are three round
/// trips after the handshake, and the request's own is the first of them.
#[test]
fn slow_start_doubles_by_round_trip() {
    let mut page = page::open("synthetic:1x1KB").unwrap();
    page.objects.truncate(1);
    page.objects[0].body_bytes = 86_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one-object.json");
    page::file::save(&page, &path).unwrap();
    let network = "rtt=100ms,down=unlimited,up=unlimited";
    let scenario = bare(path.to_str().unwrap(), network, Protocol::H1, Tls::None);
    let visit = visit(&Simulator::default(), scenario, 1);
    let plt = visit.record.plt_ns().unwrap() as f64 / 1e6;
    assert_within(plt, 400.0, 0.001);
}
