//! The round trips of 620 ms that splitting leaves of a page's, simulated: of TCP, TLS and HTTP, TCP's are gone; in
//! clear text the objects' are, too.

use serde_json::Value;

use crate::common::Desk;

const RTT_MS: f64 = 620.0;
/// Time for the links to send a few packets, two of them a ClientHello over 128 kbit/s.
const LITTLE_MS: f64 = 300.0;

/// Time to the first byte and to the load event, in whole round trips.
fn trips(protocol: &str, tls: &str, route: &str) -> [u64; 2] {
    let desk = Desk::new();
    let ran = desk.run(&[
        "load",
        "synthetic:1x1KB",
        "--network",
        "rtt=620ms,down=1mbit,up=128kbit",
        "--device",
        "zero",
        "--no-noise",
        "--json",
        "-n",
        "1",
        "--protocol",
        protocol,
        "--tls",
        tls,
        "--route",
        route,
    ]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let visit: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    ["ttfb_ms", "plt_ms"].map(|name| {
        let took_ms = visit[name].as_f64().unwrap();
        let over_ms = took_ms % RTT_MS;
        assert!(over_ms < LITTLE_MS, "{protocol} {tls} {route}: {name} {took_ms}");
        (took_ms / RTT_MS) as u64
    })
}

#[test]
fn splitting_saves_one_and_split_http_all_but_one() {
    for (protocol, tls, direct, pep) in [
        // TCP, TLS, HTTP; then the object.
        ("h2", "tls13", [3, 4], [2, 3]),
        ("h1", "tls13", [3, 4], [2, 3]),
        ("h1", "tls12", [4, 5], [3, 4]),
        ("spdy", "none", [2, 3], [1, 2]),
        // The object follows the page.
        ("h1", "none", [2, 3], [1, 1]),
    ] {
        assert_eq!(trips(protocol, tls, "direct"), direct, "{protocol} {tls}");
        assert_eq!(trips(protocol, tls, "pep"), pep, "{protocol} {tls}");
    }
}
