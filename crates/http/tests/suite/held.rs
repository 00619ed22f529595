//! Location of a large message while a slow link drains it: in the application, in TLS or in the socket.

use crate::common;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use common::Echo;
use common::any::{fetch, get, listen_on, open, post};
use farlink_http::client::{Opening, Protocol};
use farlink_http::server::Acceptor;
use http::Request;
use net::{LinkConfig, QueueLimit};
use tls::Security;
use units::{BitsPerSec, Time};
use world::report::{Endpoint, HeldBytes};
use world::sim::SimPlan;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)), 443);
const BODY: u64 = 1_000_000;
const LOWAT: u32 = 16 * 1024;
/// Size of the kernel's largest buffer, by which a write may exceed a limit.
const BUFFER: u64 = 45 * 1_448;

const ARMS: [(Protocol, Security); 6] = [
    (Protocol::H1, Security::None),
    (Protocol::H1, Security::Tls12),
    (Protocol::H1, Security::Tls13),
    (Protocol::H2, Security::None),
    (Protocol::H2, Security::Tls12),
    (Protocol::H2, Security::Tls13),
];

/// An exchange of one large message.
struct Exchange {
    protocol: Protocol,
    security: Security,
    /// The server's low-water mark.
    notsent_lowat_bytes: Option<u32>,
    /// `SO_SNDBUF` of both ends.
    send_buffer_bytes: u64,
}

impl Exchange {
    /// `buffer`: the server's low-water mark, and the send buffer of both ends.
    fn new(protocol: Protocol, security: Security, buffer: (Option<u32>, u64)) -> Exchange {
        let (notsent_lowat_bytes, send_buffer_bytes) = buffer;
        Exchange { protocol, security, notsent_lowat_bytes, send_buffer_bytes }
    }

    /// Sends `request` over a link of 1 Mbit/s, RTT 100 ms; returns both ends: client, server. `records` enables the series.
    fn run(&self, request: Request<Bytes>, records: bool) -> Vec<Endpoint> {
        let mut config = tcp::Config::default();
        config.send_buffer = config.send_buffer.fixed(self.send_buffer_bytes);
        let tcp = Arc::new(config);
        let mut plan = SimPlan::new(chance::RandomSource::new(7, 0));
        if records {
            plan.record_series();
        }
        let (client, server) = (plan.node(CLIENT, Arc::clone(&tcp)), plan.node(SERVER.ip(), tcp));
        let (half, queue) = (Duration::from_millis(50), QueueLimit::Packets(2_000));
        let link = |name: &str, plan: &mut SimPlan| {
            plan.link(name, LinkConfig::new(BitsPerSec::mbit(1), half, queue))
        };
        let (up, down) = (link("up", &mut plan), link("down", &mut plan));
        plan.route(client, server, &[up]);
        plan.route(server, client, &[down]);
        let acceptor = Acceptor {
            notsent_lowat_bytes: self.notsent_lowat_bytes,
            ..Acceptor::new(self.security)
        };
        plan.spawn(server, async move {
            listen_on(SERVER, Echo, acceptor);
            std::future::pending().await
        });
        let opening = Opening::new(SERVER, "any.farlink.test", self.security, self.protocol);
        let page = async move {
            let mut connection = open(opening).await;
            fetch(&mut connection, &request).await.unwrap();
            let mut endpoints = world::sim::report().unwrap().endpoints;
            endpoints.sort_by_key(|end| !end.active);
            endpoints
        };
        plan.run(client, page).unwrap()
    }

    fn response(&self) -> Endpoint {
        self.run(get(&format!("/{BODY}")), true).pop().unwrap()
    }

    fn request(&self) -> Endpoint {
        self.run(post("/body", vec![b'x'; BODY as usize]), true).swap_remove(0)
    }
}

/// Bytes that a socket had accepted by the end of an instant.
fn taken(end: &Endpoint, at: Time) -> u64 {
    let stats = |sample: &tcp::SenderSample| sample.stats.bytes_sent + sample.stats.unsent_bytes;
    end.series.iter().take_while(|sample| sample.at <= at).last().map_or(0, stats)
}

/// The most bytes in a layer.
fn most(end: &Endpoint, layer: impl Fn(&HeldBytes) -> u64) -> u64 {
    end.held.iter().map(layer).max().unwrap_or(0)
}

fn most_unsent(end: &Endpoint) -> u64 {
    end.series.iter().map(|sample| sample.stats.unsent_bytes).max().unwrap_or(0)
}

/// The bytes held by the layers and accepted by the socket always add up to the message and its overhead so far; in the
/// end the socket has accepted all of it.
fn assert_conserved(end: &Endpoint, exchange: &Exchange) {
    let Exchange { protocol, security, .. } = exchange;
    let first = end.held.first().expect("something was held").at;
    let before = taken(end, Time::from_nanos(first.as_nanos() - 1));
    let total =
        |held: &HeldBytes| held.application_bytes + held.tls_bytes + taken(end, held.at) - before;
    let totals: Vec<u64> = end.held.iter().map(total).collect();
    // A head; a frame head for each 16 KB of HTTP/2; less than 30 bytes for each record of a few KB.
    let most = BODY + 200 + BODY / 16_000 * 9 + if *security == Security::None { 0 } else { 3_900 };
    for (held, total) in end.held.iter().zip(&totals) {
        assert!((BODY..most).contains(total), "{protocol} {security}: {total} at {held:?}");
    }
    assert!(totals.is_sorted(), "{protocol} {security}: what was added vanishes: {totals:?}");
    if (*protocol, *security) == (Protocol::H1, Security::None) {
        assert!(totals.iter().all(|total| *total == totals[0]), "nothing adds: {totals:?}");
    }
    let last = end.held.last().expect("something was held");
    assert_eq!((last.application_bytes, last.tls_bytes), (0, 0), "{protocol} {security}");
    for held in &end.held {
        let sample = end.series.iter().take_while(|sample| sample.at <= held.at).last();
        let unsent = sample.map(|sample| sample.stats.unsent_bytes);
        assert_eq!(Some(held.socket_unsent_bytes), unsent, "{protocol} {security}: {held:?}");
    }
    assert!(end.held.is_sorted_by(|one, next| one.at < next.at), "an instant is told once");
}

#[test]
fn without_a_low_water_mark_a_response_lies_in_the_socket() {
    for (protocol, security) in ARMS {
        let buffer = (None, 4 << 20);
        let end = Exchange::new(protocol, security, buffer).response();
        assert_eq!(end.held, [], "{protocol} {security}: it passes the layers above at once");
        assert!(most_unsent(&end) > BODY * 98 / 100, "{protocol} {security}");
    }
}

#[test]
fn with_a_low_water_mark_it_lies_in_the_application() {
    for (protocol, security) in ARMS {
        let exchange = Exchange::new(protocol, security, (Some(LOWAT), 4 << 20));
        let end = exchange.response();
        assert_conserved(&end, &exchange);
        assert!(most(&end, |held| held.application_bytes) > BODY * 90 / 100);
        // Over the mark there is a buffer of the kernel's, and during the write what leaves of it at once.
        let unsent = most_unsent(&end);
        let limit = u64::from(LOWAT) + 2 * BUFFER;
        assert!(unsent < limit, "{protocol} {security}: {unsent} in the socket");
        let tls = most(&end, |held| held.tls_bytes);
        // TLS holds at most one record of 16 KB: more is encrypted when that has gone.
        let expected = if security == Security::None { 0..1 } else { 10_000..16_384 + 30 };
        assert!(expected.contains(&tls), "{protocol} {security}: {tls} in TLS");
    }
}

#[test]
fn a_small_send_buffer_leaves_messages_of_both_ends_in_the_application() {
    const SOCKET: u64 = 64 << 10;
    for (protocol, security) in ARMS {
        let exchange = Exchange::new(protocol, security, (None, SOCKET));
        for end in [exchange.response(), exchange.request()] {
            assert_conserved(&end, &exchange);
            let application = most(&end, |held| held.application_bytes);
            let least = BODY - SOCKET - BUFFER - 20_000;
            assert!(application > least, "{protocol} {security}: {application}");
            assert!(most_unsent(&end) <= SOCKET + 2 * BUFFER, "{protocol} {security}");
        }
    }
}

#[test]
fn flow_control_leaves_a_request_in_the_application() {
    // Before the server's SETTINGS arrive a stream's window is 65,535 bytes (RFC 9113 section 6.9.2).
    let exchange = Exchange::new(Protocol::H2, Security::None, (None, 4 << 20));
    let end = exchange.request();
    assert_conserved(&end, &exchange);
    assert_eq!(end.held[0].application_bytes, BODY - 65_535);
}

#[test]
fn recording_is_off_unless_asked_for_and_changes_nothing() {
    for (protocol, security) in ARMS {
        let exchange = Exchange::new(protocol, security, (Some(LOWAT), 4 << 20));
        let (watched, not) = (get("/1000000"), get("/1000000"));
        let (watched, not) = (exchange.run(watched, true), exchange.run(not, false));
        for (watched, not) in watched.iter().zip(&not) {
            assert_eq!(watched.stats, not.stats, "{protocol} {security}");
            assert_eq!(not.held, [], "{protocol} {security}");
        }
    }
}
