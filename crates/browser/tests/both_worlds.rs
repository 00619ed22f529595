//! The same loader and the same origin, once in virtual time and once on the kernel's sockets.

mod support;

use farlink_browser::Visited;
use http_stack::client::Protocol;
use page::Page;
use support::{Stage, ideal, load_really, most_at_once, page};
use tls::Security;

const NETWORK: &str = "rtt=40ms,down=20mbit,up=20mbit,queue=100pkt";

fn check(page: &Page, protocol: Protocol, visited: &Visited) {
    let plt = visited.plt.as_ref().unwrap();
    assert!(visited.ttfb.unwrap() <= *plt);
    assert_eq!(visited.objects.len(), page.objects.len());
    for (record, object) in visited.objects.iter().zip(&page.objects) {
        assert_eq!((record.error.as_ref(), &record.url), (None, &object.url));
        assert_eq!((record.status, record.body_bytes), (object.status, object.body_bytes));
        assert_eq!(record.protocol, protocol.name());
        // Computing costs nothing here: an object is done when its last byte is there. The real clock advances
        // between the two.
        let ended = record.discovered_at_ns + record.phases.total_ns();
        assert!((ended..ended + 50_000_000).contains(&record.done_at_ns), "{record:?}");
    }
    let limit = if matches!(protocol, Protocol::H10 | Protocol::H1) { 6 } else { 1 };
    for host in &page.hosts {
        let most = most_at_once(visited, |name| name == host.name);
        assert!((1..=limit).contains(&most), "{most} connections to {}", host.name);
    }
}

/// The results that must not depend on the world.
fn outcome(visited: &Visited) -> Vec<(String, u16, u64, u64, String)> {
    let objects = visited.objects.iter();
    objects
        .map(|o| {
            (o.url.clone(), o.status, o.request_header_bytes, o.body_bytes, o.protocol.clone())
        })
        .collect()
}

#[test]
fn a_page_arrives_alike_in_both_worlds() {
    let page = page("synthetic:24x5KB@2hosts");
    for protocol in [Protocol::H10, Protocol::H1, Protocol::H2] {
        for security in [Security::None, Security::Tls12, Security::Tls13] {
            let simulated = Stage::serving(&page, NETWORK, protocol, security).visit(ideal());
            check(&page, protocol, &simulated);
            let real = load_really(&page, protocol, security);
            check(&page, protocol, &real);
            if protocol == Protocol::H1 {
                assert_eq!(outcome(&simulated), outcome(&real), "{protocol} {security}");
            }
        }
    }
}
