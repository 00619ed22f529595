//! TCP behind a radio: effects of the radio's states.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chance::RandomSource;
use farlink_world as world;
use farlink_world::report::{Endpoint, WorldReport};
use farlink_world::sim::SimPlan;
use farlink_world::{TcpListener, TcpStream};
use net::{Network, RadioState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Size of a request: below the threshold of a shared channel.
const REQUEST: usize = 200;
const RESPONSE: usize = 60_000;

const UMTS: &str = "rtt=100ms,down=3600kbit,up=384kbit,queue=200pkt,radio=umts";

/// Times at which each response was requested, began and ended, since the world began.
struct Responses(Vec<[Duration; 3]>);

/// A client sends requests to a server whose TCP is `server` over one connection, pausing before each.
fn requests(network: &str, server: &str, rests: &[Duration]) -> (Responses, WorldReport) {
    let network = Network::parse(network).unwrap();
    let mut plan = SimPlan::new(RandomSource::new(1, 0));
    let client = plan.node("10.0.0.1".parse().unwrap(), Arc::default());
    let server_tcp = Arc::new(tcp::Config::parse(server).unwrap());
    let server = plan.node("10.0.0.2".parse().unwrap(), server_tcp);
    let (up, down) = (plan.link("up", network.up), plan.link("down", network.down));
    plan.radio("client", network.radio.unwrap(), client, [up, down]);
    plan.route(client, server, &[up]);
    plan.route(server, client, &[down]);
    let address: SocketAddr = "10.0.0.2:80".parse().unwrap();
    plan.spawn(server, serve(address));
    let rests = rests.to_vec();
    let visit = async move {
        world::sleep(rests[0]).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut responses = Vec::new();
        for rest in &rests {
            if !responses.is_empty() {
                world::sleep(*rest).await;
            }
            let asked = since_began();
            stream.write_all(&[0; REQUEST]).await.unwrap();
            stream.read_exact(&mut [0]).await.unwrap();
            let began = since_began();
            stream.read_exact(&mut vec![0; RESPONSE - 1]).await.unwrap();
            responses.push([asked, began, since_began()]);
        }
        (Responses(responses), world::sim::report().unwrap())
    };
    plan.run(client, visit).unwrap()
}

fn since_began() -> Duration {
    world::now() - units::Time::ZERO
}

async fn serve(address: SocketAddr) {
    let listener = TcpListener::bind(address).unwrap();
    while let Ok((mut stream, _)) = listener.accept().await {
        world::spawn(async move {
            while stream.read_exact(&mut [0; REQUEST]).await.is_ok() {
                stream.write_all(&[0; RESPONSE]).await.unwrap();
            }
        });
    }
}

fn server_end(report: &WorldReport) -> &Endpoint {
    report.endpoints.iter().find(|end| !end.active).expect("the server accepted")
}

/// Retransmissions of the server from `since` on without a lost packet. The handshake has some, too: the first
/// promotion outlasts the client's timeout.
fn needless(report: &WorldReport, since: Duration) -> usize {
    assert!(report.drops.is_empty(), "nothing is lost");
    let sent_again = server_end(report).retransmits.iter();
    sent_again.filter(|sent| sent.at - units::Time::ZERO >= since).count()
}

#[test]
fn after_a_long_idleness_the_first_byte_waits_for_the_promotion() {
    let (Responses(responses), report) = requests(UMTS, "linux-6", &[Duration::from_secs(60)]);
    // The connection's handshake pays for it: two seconds and a round trip. Then the request.
    let [asked, began, _] = responses[0];
    assert!(asked >= Duration::from_secs(62), "{asked:?}");
    assert!(began - asked < Duration::from_millis(400), "{:?}", began - asked);
    let first = report.radios[0].transitions[0];
    assert_eq!((first.from, first.to), (RadioState::Idle, RadioState::IdleToDch));
    assert_eq!(first.at.as_nanos(), 60_000_000_000);
}

/// erman2013: after five seconds the radio is on its shared channel; a small request passes, the large response must
/// wait for a dedicated channel, and the server's TCP, which knows round trips of 100 ms, takes it for lost.
#[test]
fn a_pause_of_some_seconds_makes_an_old_server_send_again_what_was_not_lost() {
    for pause in [6, 8, 12, 16] {
        let rests = [Duration::from_secs(1), Duration::from_secs(pause)];
        let (Responses(responses), report) = requests(UMTS, "linux-3.0", &rests);
        let [asked, began, _] = responses[1];
        assert!(began - asked > Duration::from_millis(1500), "{pause}: {:?}", began - asked);
        assert!(needless(&report, asked) > 0, "{pause}");
        let changes = &report.radios[0].transitions;
        let promoted = changes.iter().find(|change| change.to == RadioState::FachToDch);
        let cause = promoted.expect("a promotion from the shared channel").cause.unwrap();
        assert_eq!(cause.way, net::RadioDirection::Down, "{pause}");
    }
}

#[test]
fn a_server_that_forgets_its_round_trip_in_a_pause_waits_long_enough() {
    let rests = [Duration::from_secs(1), Duration::from_secs(8)];
    let server = "linux-3.0,reset-rtt-after-idle=on";
    let (Responses(responses), report) = requests(UMTS, server, &rests);
    let [asked, began, _] = responses[1];
    assert!(began - asked > Duration::from_millis(1500), "{:?}", began - asked);
    assert_eq!(needless(&report, asked), 0);
}
