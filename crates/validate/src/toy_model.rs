//! The toy model: a back-of-the-envelope estimate of a page load.
//!
//! A validation that anything would pass is worth little. This model is the "anything": round trips and a rate,
//! with no queue, no congestion control, no loss and no work at either end. The page is loaded in *levels* (the
//! document, the objects that it refers to, the objects that those refer to, ...), one after the other:
//!
//! - a host costs its handshakes at its first use: one round trip for TCP, and for TLS none
//!   (`none`), two (TLS 1.2, RFC 5246 section 7.3) or one (TLS 1.3, RFC 8446 section 2);
//! - a level costs a round trip for each turn that its busiest host takes: HTTP/2 asks for everything in one,
//!   HTTP/1.1 for as many objects as it has connections, HTTP/1.0 too, with handshakes for each turn;
//! - all bodies and response heads go over the slowest link's mean rate, once.
//!
//! It is a function of page, network and stack, and has no repetitions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use net::Network;
use page::{HostId, Page, PageHost};

use scenario::{Protocol, Stack, Tls};

/// The toy model's page load time of `page`, loaded with at most `connections` connections of HTTP/1.1 per
/// host.
pub fn page_load_time(
    page: &Page,
    network: &Network,
    stack: &Stack,
    connections: usize,
) -> Duration {
    let turns = u32::try_from(round_trips(page, stack, connections)).unwrap_or(u32::MAX);
    network.rtt().saturating_mul(turns) + serialisation(page, network)
}

/// Round trips, one after the other.
fn round_trips(page: &Page, stack: &Stack, connections: usize) -> usize {
    let handshakes = 1 + match stack.tls {
        Tls::None => 0,
        Tls::Tls10 | Tls::Tls12 => 2,
        Tls::Tls13 => 1,
    };
    let mut known = BTreeSet::new();
    let mut sum = 0;
    for hosts in levels(page) {
        let costs = hosts.into_iter().map(|(host, requests)| {
            let at_once = at_once(&page.hosts[host.0 as usize], stack, connections);
            let turns = requests.div_ceil(at_once);
            match (known.insert(host), stack.protocol) {
                (_, Protocol::H10) => turns * (handshakes + 1),
                (true, _) => handshakes + turns,
                (false, _) => turns,
            }
        });
        sum += costs.max().unwrap_or(0);
    }
    sum
}

/// The number of requests to each host in each level.
fn levels(page: &Page) -> Vec<BTreeMap<HostId, usize>> {
    let mut level_of: Vec<usize> = Vec::with_capacity(page.objects.len());
    let mut levels: Vec<BTreeMap<HostId, usize>> = Vec::new();
    for object in &page.objects {
        let parents = object.waits_for.iter().map(|edge| level_of[edge.object.0 as usize] + 1);
        let level = parents.max().unwrap_or(0);
        level_of.push(level);
        if object.blocks_load {
            levels.resize_with(levels.len().max(level + 1), BTreeMap::new);
            *levels[level].entry(object.host).or_default() += 1;
        }
    }
    levels
}

/// Number of requests to `host` that share a round trip.
fn at_once(host: &PageHost, stack: &Stack, connections: usize) -> usize {
    let multiplexed = match stack.protocol {
        Protocol::H10 | Protocol::H1 | Protocol::H1Pipelined => false,
        Protocol::H2 | Protocol::Spdy | Protocol::Spdy3 | Protocol::Spdy2 => true,
        Protocol::H3Deployed | Protocol::H3Matched => true,
        Protocol::Recorded => {
            matches!(host.recorded_protocol.as_deref(), Some("h2" | "h3" | "spdy"))
        }
    };
    if multiplexed { usize::MAX } else { connections.max(1) }
}

fn serialisation(page: &Page, network: &Network) -> Duration {
    let objects = page.objects.iter().filter(|o| o.blocks_load);
    let bytes: u64 = objects.map(|o| o.body_bytes + u64::from(o.response_header_bytes)).sum();
    let slowest = network.down_links().map(|link| link.rate.mean().0).min().unwrap_or(u64::MAX);
    Duration::from_secs_f64(bytes as f64 * 8.0 / slowest.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(page: &str, network: &str, stack: &Stack) -> f64 {
        let page = page::open(page).unwrap();
        let network = Network::parse(network).unwrap();
        page_load_time(&page, &network, stack, 6).as_secs_f64()
    }

    fn stack(protocol: Protocol, tls: Tls) -> Stack {
        Stack { protocol, tls, ..Stack::default() }
    }

    #[test]
    fn round_trips_and_bytes_by_hand() {
        // A document of 200 + 12 * 60 + 20 = 940 bytes and 12 images of 10,000: 120,940 bytes of bodies and
        // 13 heads of 300 are 124,840 bytes, 99.872 ms at 10 Mbit/s.
        let network = "rtt=100ms,down=10mbit,up=5mbit";
        let bytes = 0.099_872;
        // TCP, TLS, the document, 12 images in one turn.
        let h2 = time("synthetic:12x10KB", network, &stack(Protocol::H2, Tls::Tls13));
        assert!((h2 - (0.4 + bytes)).abs() < 1e-6, "{h2}");
        // TCP, the document, 12 images over 6 connections.
        let h1 = time("synthetic:12x10KB", network, &stack(Protocol::H1, Tls::None));
        assert!((h1 - (0.4 + bytes)).abs() < 1e-6, "{h1}");
        // TCP, twice TLS, the document, two turns.
        let h1 = time("synthetic:12x10KB", network, &stack(Protocol::H1, Tls::Tls12));
        assert!((h1 - (0.6 + bytes)).abs() < 1e-6, "{h1}");
        // TCP with each of three turns: the document, and twice six images.
        let h10 = time("synthetic:12x10KB", network, &stack(Protocol::H10, Tls::None));
        assert!((h10 - (0.6 + bytes)).abs() < 1e-6, "{h10}");
        // Four hosts: their handshakes at the second level, three images each in one turn.
        let hosts = time("synthetic:12x10KB@4hosts", network, &stack(Protocol::H1, Tls::None));
        assert!((hosts - (0.2 + 0.2 + bytes)).abs() < 1e-6, "{hosts}");
    }

    #[test]
    fn an_unlimited_network_costs_nothing() {
        let network = "rtt=0ms,down=unlimited,up=unlimited";
        assert!(time("synthetic:12x10KB", network, &stack(Protocol::H2, Tls::None)) < 1e-9);
    }
}
