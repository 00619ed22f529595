//! CPU time of a site's servers: handshakes, requests and bytes of a load at measured costs.
//!
//! Costs are those of nginx 1.22 for HTTP/1.1 and HTTP/2 and of Caddy 2.6 for HTTP/3, over loopback, by `scripts/server-cpu/measure.sh`
//! (docs/decide.md). Both are common servers, and neither is the fastest: ratios between protocols say more than the times.

use std::collections::BTreeSet;

use record::{ConnectionRecord, VisitRecord};
use scenario::{CertificateKey, Resume, Scenario};

/// Costs of a server, in microseconds.
struct ServerCosts {
    rsa_handshake: f64,
    ecdsa_handshake: f64,
    ed25519_handshake: f64,
    request: f64,
    megabyte: f64,
}

/// nginx by HTTP/1.1.
const H1: ServerCosts = ServerCosts {
    rsa_handshake: 1_732.0,
    ecdsa_handshake: 651.0,
    ed25519_handshake: 641.0,
    request: 54.0,
    megabyte: 1_350.0,
};

/// nginx by HTTP/2.
const H2: ServerCosts = ServerCosts {
    rsa_handshake: 1_802.0,
    ecdsa_handshake: 741.0,
    ed25519_handshake: 711.0,
    request: 61.0,
    megabyte: 1_775.0,
};

/// Caddy by HTTP/3. The keys other than RSA cost as much less as in its handshakes over HTTP/2.
const H3: ServerCosts = ServerCosts {
    rsa_handshake: 6_131.0,
    ecdsa_handshake: 3_769.0,
    ed25519_handshake: 3_749.0,
    request: 145.0,
    megabyte: 8_500.0,
};

/// CPU time of a load's servers, in milliseconds; `None` for protocols and routes whose costs were not measured.
pub fn milliseconds(record: &VisitRecord, scenario: &Scenario) -> Option<f64> {
    if scenario.route.has_proxy() {
        return None;
    }
    let mut known_hosts = BTreeSet::new();
    let mut microseconds = 0.0;
    for connection in &record.connections {
        let costs = costs(&connection.protocol)?;
        let is_new = connection.opened_at_ns >= record.started_at_ns;
        let is_first = known_hosts.insert(connection.host.as_str());
        if is_new && connection.tls != "none" {
            microseconds += handshake(&costs, scenario, is_first);
        }
        microseconds += transfer(&costs, connection);
    }
    Some(microseconds / 1e3)
}

fn costs(protocol: &str) -> Option<ServerCosts> {
    match protocol {
        h1 if h1.starts_with("h1") => Some(H1),
        "h2" => Some(H2),
        h3 if h3.starts_with("h3") => Some(H3),
        _ => None,
    }
}

/// A handshake: one that resumes a session has no signature, and costs about as much as one with the cheapest.
fn handshake(costs: &ServerCosts, scenario: &Scenario, is_first: bool) -> f64 {
    let security = &scenario.security;
    let resumes = match security.resume {
        Some(Resume::Never) => false,
        Some(Resume::Session | Resume::EarlyData) => true,
        None => !is_first,
    };
    match security.key {
        _ if resumes => costs.ed25519_handshake,
        Some(CertificateKey::Rsa2048) => costs.rsa_handshake,
        Some(CertificateKey::EcdsaP256) => costs.ecdsa_handshake,
        Some(CertificateKey::Ed25519) | None => costs.ed25519_handshake,
    }
}

fn transfer(costs: &ServerCosts, connection: &ConnectionRecord) -> f64 {
    let megabytes = connection.bytes_down as f64 / 1e6;
    f64::from(connection.requests) * costs.request + megabytes * costs.megabyte
}
