//! HTTP/3 in both worlds: repeatability, round trips, content.

use crate::common;

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use common::any::{fetch, fetch_all, get, open, post};
use common::{Echo, assert_repeats, in_world};
use farlink_http::client::{self, ClientConnection, OpenError, Opening, Protocol};
use farlink_http::h3::settings;
use farlink_http::h3::{Acceptor, Listener};
use net::{LinkConfig, LossModel, QueueLimit};
use quic::Transport;
use tls::{ClientSessions, Randomness, Security};
use units::{BitsPerSec, Time};
use world::report::{Endpoint, WorldReport};
use world::sim::{NodeId, SimPlan};

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 1)), 443);

/// 10 Mbit/s, RTT 100 ms, 100 packets.
fn link() -> LinkConfig {
    LinkConfig::new(BitsPerSec::mbit(10), Duration::from_millis(50), QueueLimit::Packets(100))
}

fn plan_over(down: LinkConfig) -> (SimPlan, NodeId, NodeId) {
    let mut plan = SimPlan::new(chance::RandomSource::new(7, 0));
    let tcp = Arc::new(tcp::Config::default());
    let (client, server) = (plan.node(CLIENT, Arc::clone(&tcp)), plan.node(SERVER.ip(), tcp));
    let (up, down) = (plan.link("up", link()), plan.link("down", down));
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    (plan, client, server)
}

/// Both arms.
fn arms() -> [(&'static str, Transport); 2] {
    let matched = Transport::matching(&tcp::Config::default());
    [("deployed", Transport::QUINN), ("matched", matched)]
}

fn serve(address: SocketAddr, tls: &tls::Settings, transport: Transport) -> SocketAddr {
    let acceptor = Acceptor::new(tls, settings::Server::over(transport));
    let listener = Listener::bind(address, &acceptor).unwrap();
    let address = listener.local_addr();
    drop(world::spawn(async move {
        while let Some(incoming) = listener.accept().await {
            drop(world::spawn(async move { drop(incoming.serve(Rc::new(Echo)).await) }));
        }
    }));
    address
}

fn opening(address: SocketAddr, transport: Transport) -> Opening {
    let opening = Opening::new(address, "any.farlink.test", Security::Tls13, Protocol::H3);
    Opening { h3: settings::Client::over(transport), ..opening }
}

/// Runs `main` on a client whose server speaks HTTP/3.
fn simulate<F: Future + 'static>(
    (mut plan, client, server): (SimPlan, NodeId, NodeId),
    transport: Transport,
    main: F,
) -> F::Output {
    plan.spawn(server, async move {
        serve(SERVER, &tls::Settings::default(), transport);
        std::future::pending().await
    });
    plan.run(client, main).unwrap()
}

/// Fetches 100 objects of 10,000 bytes at once.
async fn page(transport: Transport) -> (Time, WorldReport) {
    let connection = open(opening(SERVER, transport)).await;
    let requests = (0..100).map(|_| get("/10000")).collect();
    for seen in fetch_all(&connection, requests).await {
        assert_eq!(seen.unwrap().body.len(), 10_000);
    }
    let report = world::sim::report().unwrap();
    (world::now(), report)
}

fn every_arm() -> String {
    let mut text = String::new();
    for (name, transport) in arms() {
        let main = page(transport.clone());
        let (at, report) = simulate(plan_over(link()), transport, main);
        text += &format!("{name} {at:?} {:?}\n", report.digest);
    }
    text
}

#[test]
fn a_trace_repeats_within_a_process_and_in_another() {
    assert_repeats("h3::print_every_arm", every_arm);
}

#[test]
#[ignore = "prints for the other process of a_trace_repeats_within_a_process_and_in_another"]
fn print_every_arm() {
    println!("\n{}", every_arm());
}

/// Time of the first response from the opening of the connection, for successive connections that share their sessions.
fn first_responses(connections: usize, early_data: bool) -> Vec<Duration> {
    let main = async move {
        let sessions = ClientSessions::default();
        let mut spans = Vec::new();
        for _ in 0..connections {
            let began = world::now();
            let mut opening = opening(SERVER, Transport::QUINN).sessions(&sessions);
            opening.h3.early_data = early_data;
            let mut connection = open(opening).await;
            fetch(&mut connection, &get("/10")).await.unwrap();
            spans.push(world::now().since(began));
            drop(connection);
            world::sleep(Duration::from_secs(5)).await;
        }
        spans
    };
    simulate(plan_over(link()), Transport::QUINN, main)
}

#[track_caller]
fn assert_trips(span: Duration, trips: u32) {
    // Serialising the flights takes under 9 ms in all.
    let ideal = trips * Duration::from_millis(100);
    assert!(span >= ideal && span < ideal + Duration::from_millis(9), "{span:?}");
}

#[test]
fn a_new_connection_takes_two_round_trips_and_a_resumed_one_one() {
    let spans = first_responses(3, true);
    assert_trips(spans[0], 2);
    assert_trips(spans[1], 1);
    assert_trips(spans[2], 1);
}

#[test]
fn a_crowded_server_has_addresses_proven_first() {
    let settings = settings::Server { unproven: Some(0), ..settings::Server::default() };
    let (mut plan, client, server) = plan_over(link());
    plan.spawn(server, async move {
        let acceptor = Acceptor::new(&tls::Settings::default(), settings);
        let listener = Listener::bind(SERVER, &acceptor).unwrap();
        while let Some(incoming) = listener.accept().await {
            drop(world::spawn(async move { drop(incoming.serve(Rc::new(Echo)).await) }));
        }
    });
    let main = async {
        let mut connection = open(opening(SERVER, Transport::QUINN)).await;
        fetch(&mut connection, &get("/10")).await.unwrap();
        world::now().since(Time::ZERO)
    };
    // One for Retry, one for the handshake, one for the response.
    assert_trips(plan.run(client, main).unwrap(), 3);
}

#[test]
fn without_early_data_a_resumed_connection_takes_two_round_trips() {
    for span in first_responses(2, false) {
        assert_trips(span, 2);
    }
}

/// Sizes, methods, statuses, bodies both ways.
async fn converse(connection: &mut ClientConnection) {
    for size in [0, 1, 63, 64, 16_383, 16_384, 1_000_000] {
        let seen = fetch(connection, &get(&format!("/{size}"))).await.unwrap();
        assert_eq!((seen.status, seen.body.len()), (200, size));
        assert!(seen.sent_head > 20 && seen.head_bytes > 2, "{seen:?}");
    }
    let seen = fetch(connection, &post("/body", vec![7; 300_000])).await.unwrap();
    assert_eq!((&seen.body[..], seen.sent_body), (&b"300000"[..], 300_000));
    assert_eq!(fetch(connection, &get("/later/100")).await.unwrap().body.len(), 100);
    assert_eq!(fetch(connection, &get("/status/404")).await.unwrap().status, 404);
    assert_eq!(fetch(connection, &get("/status/304")).await.unwrap().status, 304);
    let mut head = get("/100");
    *head.method_mut() = http::Method::HEAD;
    let seen = fetch(connection, &head).await.unwrap();
    assert_eq!((seen.status, seen.body.len()), (200, 0));
}

#[test]
fn both_worlds_carry_every_kind_of_exchange() {
    for (_, transport) in arms() {
        let simulated = transport.clone();
        simulate(plan_over(link()), transport.clone(), async move {
            converse(&mut open(opening(SERVER, simulated)).await).await;
        });
        in_world(async move {
            let any = "127.0.0.1:0".parse().unwrap();
            let address = serve(any, &tls::Settings::default(), transport.clone());
            converse(&mut open(opening(address, transport)).await).await;
        });
    }
}

#[test]
fn more_requests_than_streams_are_served_in_turn() {
    simulate(plan_over(link()), Transport::QUINN, async {
        let connection = open(opening(SERVER, Transport::QUINN)).await;
        let requests = (0..250).map(|_| get("/later/100")).collect();
        for seen in fetch_all(&connection, requests).await {
            assert_eq!(seen.unwrap().body.len(), 100);
        }
    });
}

#[test]
fn losses_are_repaired_and_told() {
    for (name, transport) in arms() {
        let lossy = LinkConfig { loss: LossModel::Random(0.02), ..link() };
        let main = page(transport.clone());
        let mut stage = plan_over(lossy);
        stage.0.record_series();
        let (_, report) = simulate(stage, transport, main);
        let ends: Vec<&Endpoint> = report.endpoints.iter().collect();
        assert_eq!(ends.len(), 2, "{name}");
        let client = ends.iter().find(|end| end.active).unwrap();
        let server = ends.iter().find(|end| !end.active).unwrap();
        assert_eq!((client.local, client.peer), (server.peer, server.local));
        let (sent, received) = (server.stats.as_ref().unwrap(), client.stats.as_ref().unwrap());
        assert!(sent.bytes_sent > 1_000_000 && received.bytes_received == sent.bytes_sent);
        let lost = report.drops.iter().filter(|drop| drop.link == 1).count() as u64;
        let declared = sent.retransmitted_segments;
        assert!(declared > 5 && declared.abs_diff(lost) < 10, "{name}: {declared} of {lost}");
        let fell = server.series.windows(2).any(|two| two[1].stats.cwnd < two[0].stats.cwnd);
        assert!(fell && server.series.len() > 50, "{name}: {} samples", server.series.len());
        assert!(client.closed_at.is_none());
    }
}

/// The report of one 3 MB response on a path with a queue of 250 packets.
fn bulk(transport: Transport) -> WorldReport {
    let mut stage = plan_over(LinkConfig { queue: QueueLimit::Packets(250), ..link() });
    stage.0.record_series();
    simulate(stage, transport.clone(), async move {
        let mut connection = open(opening(SERVER, transport)).await;
        fetch(&mut connection, &get("/3000000")).await.unwrap();
        world::sim::report().unwrap()
    })
}

fn server_of(report: &WorldReport) -> &Endpoint {
    report.endpoints.iter().find(|end| !end.active).unwrap()
}

#[test]
fn the_matched_window_begins_as_tcp_s_and_leaves_slow_start_by_hystart() {
    let [deployed, matched] = arms().map(|(_, transport)| bulk(transport));
    let first = |report: &WorldReport| server_of(report).series[0].stats.clone();
    // 14,480 bytes in packets of 1,200, and 12,000.
    assert_eq!((first(&matched).cwnd, first(&matched).ssthresh), (12, None));
    assert_eq!((first(&deployed).cwnd, first(&deployed).ssthresh), (10, None));
    // CUBIC continues to grow after HyStart, and overflows the queue slightly; quinn's doubles into it.
    let left = server_of(&matched).series.iter().find(|sample| sample.stats.ssthresh.is_some());
    let (early, late) = (matched.drops.len(), deployed.drops.len());
    assert!(left.is_some_and(
        |sample| sample.at < matched.drops.first().map_or(Time::NEVER, |drop| drop.at)
    ));
    assert!(late > 4 * early && late > 100, "{early} and {late} drops");
}

#[test]
fn bytes_repeat_with_seeded_randomness() {
    let seen = |seed| {
        let source = chance::RandomSource::new(seed, 0);
        let seeded = |end| tls::Settings {
            randomness: Randomness::Seeded(source.stream(end)),
            ..tls::Settings::default()
        };
        let (of_client, of_server) = (seeded("tls/client"), seeded("tls/server"));
        let (mut plan, client, server) = plan_over(link());
        plan.capture();
        plan.spawn(server, async move {
            serve(SERVER, &of_server, Transport::QUINN);
            std::future::pending().await
        });
        let main = async move {
            let sessions = ClientSessions::new(of_client);
            let mut connection = open(opening(SERVER, Transport::QUINN).sessions(&sessions)).await;
            fetch(&mut connection, &get("/50000")).await.unwrap();
            world::sim::take_sightings()
        };
        plan.run(client, main).unwrap()
    };
    let first = seen(1);
    assert!(first.len() > 100);
    assert_eq!(first, seen(1));
    assert_ne!(first, seen(2));
}

/// Fetches 100 objects while the client's address changes: returns the time of the last, the number of the server's
/// path challenges, and whether the client was seen at two addresses.
async fn moving_page(
    address: SocketAddr,
    transport: Transport,
    at: Option<Duration>,
) -> (Duration, u64) {
    let began = world::now();
    let mut opening = opening(address, transport);
    opening.h3.migrate_at = at.map(|at| began + at);
    let connection = open(opening).await;
    let requests = (0..100).map(|_| get("/10000")).collect();
    for seen in fetch_all(&connection, requests).await {
        assert_eq!(seen.unwrap().body.len(), 10_000);
    }
    let ClientConnection::H3(handle) = &connection else { panic!("it is HTTP/3") };
    (world::now().since(began), handle.path_challenges())
}

#[test]
fn a_client_that_moves_is_followed() {
    for (name, transport) in arms() {
        let load = |at| {
            let moving = transport.clone();
            let main = async move { moving_page(SERVER, moving, at).await };
            simulate(plan_over(link()), transport.clone(), main)
        };
        let (stayed, unasked) = load(None);
        assert_eq!(unasked, 0, "{name}");
        let (moved, asked) = load(Some(Duration::from_millis(500)));
        assert!(asked > 0, "{name}: the server validates the new path");
        // Packets under way to the old address still arrive: a NAT rebinding costs little.
        assert!(moved < stayed + Duration::from_millis(200), "{name}: {stayed:?}, {moved:?}");
        // A migration before the handshake is complete has no effect.
        assert_eq!(load(Some(Duration::from_millis(20))).1, 0, "{name}");
        println!("{name}: {stayed:?} where it stays, {moved:?} where it moves, {asked} challenges");
    }
    in_world(async {
        let any = "127.0.0.1:0".parse().unwrap();
        let address = serve(any, &tls::Settings::default(), Transport::QUINN);
        let mut opening = opening(address, Transport::QUINN);
        opening.h3.migrate_at = Some(world::now() + Duration::from_millis(300));
        let mut connection = open(opening).await;
        fetch(&mut connection, &get("/10000")).await.unwrap();
        world::sleep(Duration::from_millis(400)).await;
        assert_eq!(fetch(&mut connection, &get("/300000")).await.unwrap().body.len(), 300_000);
        let ClientConnection::H3(handle) = &connection else { panic!("it is HTTP/3") };
        assert!(handle.path_challenges() > 0);
    });
}

#[test]
fn what_cannot_be_opened_says_why() {
    let (plan, client, _) = plan_over(link());
    let errors = plan.run(client, async {
        let deaf = opening(SERVER, Transport::QUINN);
        let plain = Opening { security: Security::None, ..deaf.clone() };
        [
            client::open(deaf, &mut |_| {}).await.err().expect("nobody listens"),
            client::open(plain, &mut |_| {}).await.err().expect("it is refused"),
        ]
    });
    let [deaf, plain] = errors.unwrap();
    let OpenError::Connect { source, .. } = &deaf else { panic!("{deaf:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::TimedOut);
    assert!(plain.to_string().contains("use tls13"), "{plain}");
}

#[test]
fn a_connection_that_was_idle_too_long_is_not_used_again() {
    let ended = Rc::new(Cell::new(false));
    let told = Rc::clone(&ended);
    simulate(plan_over(link()), Transport::QUINN, async move {
        let mut connection = open(opening(SERVER, Transport::QUINN)).await;
        fetch(&mut connection, &get("/10")).await.unwrap();
        assert!(connection.is_reusable());
        // quinn's max_idle_timeout is 30 s.
        world::sleep(Duration::from_secs(31)).await;
        told.set(!connection.is_reusable());
    });
    assert!(ended.get());
}
