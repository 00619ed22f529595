//! Properties of a leg over QUIC beyond those of every leg: losses are repaired together and hold up nothing else; parity avoids their repair.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::{LEGS, Leg, RTT, SERVER, Sky, at, pattern};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use units::Time;
use world::{TcpListener, TcpStream};

/// Bytes of each connection: two of them fit into the leg's first window of 64 packets.
const BYTES: usize = 40_000;
/// Time that the links take to send a few packets.
const LITTLE: Duration = Duration::from_millis(250);

/// A satellite whose downlink loses exactly these packets.
fn losing(leg: Leg, packets: &str) -> Sky {
    let list = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(list.path(), packets).unwrap();
    let sky = Sky::over(leg, 1, &format!(",down.loss_file={}", list.path().display()));
    sky.with_pep().with_server(async {
        let listener = TcpListener::bind(at(SERVER, 7)).unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            drop(world::spawn(async move {
                drop(stream.write_all(&pattern(BYTES)).await);
                drop(stream.shutdown().await);
            }));
        }
    })
}

/// Times of arrivals on a client's connection.
async fn receive() -> Vec<Time> {
    let mut stream = TcpStream::connect(at("10.0.0.2", 7)).await.unwrap();
    let (mut all, mut came) = (Vec::new(), Vec::new());
    while stream.read_buf(&mut all).await.unwrap() > 0 {
        came.push(world::now());
    }
    assert!(all == pattern(BYTES), "{} of {BYTES} bytes", all.len());
    came
}

/// The longest time without arrivals at either of two clients, after the first.
async fn longest_gap_of_two() -> Duration {
    let [one, other] = [world::spawn(receive()), world::spawn(receive())];
    let mut came = one.await;
    came.extend(other.await);
    came.sort();
    came.windows(2).map(|two| two[1].since(two[0])).max().unwrap()
}

/// Duration of one client's connection.
async fn one_takes() -> Duration {
    let began = world::now();
    receive().await.last().unwrap().since(began)
}

/// Number of packets retransmitted by the far end.
fn sent_again() -> u64 {
    let report = world::sim::report().unwrap();
    let far = report.endpoints.iter().find(|end| end.local == at("10.1.0.1", 9400)).unwrap();
    far.stats.as_ref().unwrap().retransmitted_segments
}

/// The purpose of SNACK: an acknowledgement reports every hole (RFC 9000 section 19.3.1), so that one round trip repairs them
/// all.
#[test]
fn several_losses_of_one_window_are_repaired_in_one_round_trip() {
    let whole = losing(Leg::Quic, "").run(one_takes());
    let (took, again) =
        losing(Leg::Quic, "20 23 24 29 33").run(async { (one_takes().await, sent_again()) });
    assert_eq!(again, 5);
    assert!(took > whole + RTT / 2, "the losses were in its way: {took:?}, {whole:?}");
    assert!(took < whole + RTT + LITTLE, "{took:?}, {whole:?}");
}

#[test]
fn a_loss_holds_up_its_own_stream_alone() {
    let [tcp, quic, fec] = LEGS.map(|leg| losing(leg, "30").run(longest_gap_of_two()));
    assert!(tcp > RTT, "both wait for the repair: {tcp:?}");
    assert!(quic < RTT, "one goes on: {quic:?}");
    assert!(fec < LITTLE, "neither waits: {fec:?}");
}

#[test]
fn what_parity_restores_is_not_sent_again() {
    // One of each group: the distance from parity to parity is eleven datagrams.
    let sky = losing(Leg::Fec, "15 26 37 48 59");
    let fec = Arc::clone(&sky.fec);
    let again = sky.run(async {
        longest_gap_of_two().await;
        // Long enough for losses to be detected.
        world::sleep(2 * RTT).await;
        sent_again()
    });
    assert_eq!((again, fec.restored()), (0, 5));
    assert!(fec.parity_sent() >= 7, "{}", fec.parity_sent());
}
