//! HTTP in the simulated world: repeatability from run to run, and from process to process.

use crate::common;

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use common::any::{fetch, get, listen_on, open};
use common::{Echo, assert_repeats};
use farlink_http::client::{Opening, Protocol};
use farlink_http::h2::settings;
use farlink_http::server::Acceptor;
use net::{LinkConfig, QueueLimit};
use tls::{ChainKind, ClientSessions, Group, Identity, Randomness, Security, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use units::{BitsPerSec, Time};
use world::sim::{NodeId, SimPlan};
use world::{TcpListener, TcpStream};

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 1)), 443);

/// 10 Mbit/s, RTT 100 ms, 100 packets.
fn link() -> LinkConfig {
    LinkConfig::new(BitsPerSec::mbit(10), Duration::from_millis(50), QueueLimit::Packets(100))
}

/// A client and a server joined by two links.
fn plan() -> (SimPlan, NodeId, NodeId) {
    let mut plan = SimPlan::new(chance::RandomSource::new(7, 0));
    let tcp = Arc::new(tcp::Config::default());
    let (client, server) = (plan.node(CLIENT, Arc::clone(&tcp)), plan.node(SERVER.ip(), tcp));
    let (up, down) = (plan.link("up", link()), plan.link("down", link()));
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    (plan, client, server)
}

/// The result of a page load: the time of its last byte, and the trace's digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loaded {
    at: Time,
    digest: Option<u64>,
}

/// Loads 100 objects of 10,000 bytes: all at once over HTTP/2, else over six connections.
fn load(protocol: Protocol, security: Security) -> Loaded {
    let (mut plan, client, server) = plan();
    plan.spawn(server, async move {
        listen_on(SERVER, Echo, Acceptor::new(security));
        std::future::pending().await
    });
    let page = async move {
        let opening = Opening::new(SERVER, "any.farlink.test", security, protocol);
        let mut tasks = Vec::new();
        match protocol {
            Protocol::H1 => {
                for lane in 0..6 {
                    let (opening, objects) = (opening.clone(), 16 + usize::from(lane < 4));
                    tasks.push(world::spawn(async move {
                        let mut connection = open(opening).await;
                        for _ in 0..objects {
                            fetch(&mut connection, &get("/10000")).await.unwrap();
                        }
                    }));
                }
            }
            _ => {
                let connection = open(opening).await;
                for _ in 0..100 {
                    let mut connection = connection.share().unwrap();
                    tasks.push(world::spawn(async move {
                        let seen = fetch(&mut connection, &get("/10000")).await.unwrap();
                        assert_eq!(seen.body.len(), 10_000);
                    }));
                }
            }
        }
        for task in tasks {
            task.await;
        }
        Loaded { at: world::now(), digest: world::sim::report().unwrap().digest }
    };
    plan.run(client, page).unwrap()
}

const SECURITIES: [Security; 3] = [Security::None, Security::Tls12, Security::Tls13];

fn every_arm() -> String {
    let mut text = String::new();
    for protocol in [Protocol::H1, Protocol::H2] {
        for security in SECURITIES {
            text += &format!("{protocol} {security} {:?}\n", load(protocol, security));
        }
    }
    text
}

#[test]
fn a_trace_repeats_within_a_process_and_in_another() {
    assert_repeats("simulated::print_every_arm", every_arm);
}

#[test]
#[ignore = "prints for the other process of a_trace_repeats_within_a_process_and_in_another"]
fn print_every_arm() {
    println!("\n{}", every_arm());
}

#[test]
fn handshakes_take_their_round_trips() {
    // One object of one packet: TCP's round trip, TLS's, and the request's.
    for (security, trips) in [(Security::None, 2), (Security::Tls13, 3), (Security::Tls12, 4)] {
        for protocol in [Protocol::H1, Protocol::H2] {
            let (mut plan, client, server) = plan();
            plan.spawn(server, async move {
                listen_on(SERVER, Echo, Acceptor::new(security));
                std::future::pending().await
            });
            let at = plan.run(client, async move {
                let opening = Opening::new(SERVER, "any.farlink.test", security, protocol);
                let mut connection = open(opening).await;
                fetch(&mut connection, &get("/10")).await.unwrap();
                world::now().since(Time::ZERO)
            });
            let (at, ideal) = (at.unwrap(), Duration::from_millis(100 * trips));
            // Serialising the flights takes under 6 ms in all.
            assert!(
                at >= ideal && at < ideal + Duration::from_millis(6),
                "{protocol} over {security}: {at:?}"
            );
        }
    }
}

#[test]
fn a_small_window_limits_as_the_arithmetic_says() {
    let (mut plan, client, server) = plan();
    let limited = Rc::new(RefCell::new(None));
    let told = Rc::clone(&limited);
    plan.spawn(server, async move {
        let server = listen_on(SERVER, Echo, Acceptor::new(Security::None));
        *told.borrow_mut() = Some(Rc::clone(&server.meter));
        std::future::pending().await
    });
    let meter = Rc::clone(&limited);
    let share = plan.run(client, async move {
        let h2 = settings::Client { stream_window_bytes: 65_535, ..settings::Client::CHROME };
        let opening = Opening::new(SERVER, "any.farlink.test", Security::None, Protocol::H2);
        let mut connection = open(Opening { h2, ..opening }).await;
        fetch(&mut connection, &get("/2000000")).await.unwrap();
        let meter = meter.borrow().clone().unwrap();
        let now = world::now();
        meter.limited(now).as_secs_f64() / meter.busy(now).as_secs_f64()
    });
    // Windows of 64 KB, each of which the server's socket takes whole, on a path that holds 125 KB: nearly always.
    let share = share.unwrap();
    assert!(share > 0.9, "limited for {share} of the time");
}

/// Relays bytes, and digests them (FNV-1a).
async fn relay(
    mut from: ReadHalf<TcpStream>,
    mut to: WriteHalf<TcpStream>,
    digest: Rc<RefCell<u64>>,
) {
    let mut piece = [0; 4096];
    loop {
        let n = from.read(&mut piece).await.unwrap();
        if n == 0 {
            return to.shutdown().await.unwrap();
        }
        for byte in &piece[..n] {
            let mut digest = digest.borrow_mut();
            *digest = (*digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        to.write_all(&piece[..n]).await.unwrap();
    }
}

/// Loads an object over TLS through a relay that digests every byte; returns the digest.
fn bytes_on_the_wire(version: Version, group: Group, randomness: [Randomness; 2]) -> u64 {
    const RELAY: u16 = 4430;
    let [of_client, of_server] = randomness;
    let (mut plan, client, server) = plan();
    let digest = Rc::new(RefCell::new(0xcbf2_9ce4_8422_2325_u64));
    let relayed = Rc::clone(&digest);
    plan.spawn(server, async move {
        let settings = tls::Settings { randomness: of_server, group, ..tls::Settings::default() };
        let tls = tls::Server::new(
            &settings,
            version,
            Identity::Ed25519,
            ChainKind::Whole,
            &[Protocol::H2],
        );
        listen_on(SERVER, Echo, Acceptor { tls: Some(tls), ..Acceptor::new(Security::None) });
        let listener = TcpListener::bind(SocketAddr::new(SERVER.ip(), RELAY)).unwrap();
        let (near, _) = listener.accept().await.unwrap();
        let far = TcpStream::connect(SERVER).await.unwrap();
        let ((from_near, to_near), (from_far, to_far)) =
            (tokio::io::split(near), tokio::io::split(far));
        drop(world::spawn(relay(from_near, to_far, Rc::clone(&relayed))));
        relay(from_far, to_near, relayed).await;
    });
    plan.run(client, async move {
        let settings = tls::Settings { randomness: of_client, group, ..tls::Settings::default() };
        let sessions = ClientSessions::new(settings);
        let security = if version == Version::Tls12 { Security::Tls12 } else { Security::Tls13 };
        let address = SocketAddr::new(SERVER.ip(), RELAY);
        let opening = Opening::new(address, "any.farlink.test", security, Protocol::H2);
        let mut connection = open(opening.sessions(&sessions)).await;
        fetch(&mut connection, &get("/50000")).await.unwrap();
        *digest.borrow()
    })
    .unwrap()
}

#[test]
fn seeded_randomness_makes_bytes_repeat() {
    let seeded = |seed| {
        let source = chance::RandomSource::new(seed, 0);
        ["tls/client", "tls/server"].map(|end| Randomness::Seeded(source.stream(end)))
    };
    for (version, group) in [
        (Version::Tls12, Group::X25519),
        (Version::Tls13, Group::X25519),
        (Version::Tls13, Group::X25519MlKem768),
    ] {
        let loaded = |randomness| bytes_on_the_wire(version, group, randomness);
        let first = loaded(seeded(1));
        assert_eq!(first, loaded(seeded(1)), "{version:?} {group:?}");
        assert_ne!(first, loaded(seeded(2)), "{version:?} {group:?}");
        let system = || loaded([Randomness::System, Randomness::System]);
        assert_ne!(system(), system(), "{version:?}: the system's randomness does not repeat");
    }
}
