//! An end that is replaced in mid-transfer: its successor starts beside it, and it is told to end (SIGTERM). Its
//! transfers complete, and the next client is served by the successor.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::ends::{LEGS, Pair, connect, read_all, until};
use crate::origin::{origin, pattern};

/// More than all buffers on the path hold.
const LARGE: usize = 64 << 20;

/// A long response to `much`, and a short one to anything else.
fn site() -> SocketAddr {
    origin(|mut tcp| {
        let mut word = [0; 4];
        tcp.read_exact(&mut word).unwrap();
        let answer = if &word == b"much" { pattern(LARGE) } else { b"little".to_vec() };
        drop(tcp.write_all(&answer));
    })
}

fn ask(pair: &Pair, word: &[u8; 4]) -> TcpStream {
    let mut tcp = connect(pair.near.at);
    tcp.write_all(word).unwrap();
    tcp
}

/// A client that has the first bytes of the answer to `much`.
fn in_the_middle(pair: &Pair) -> (TcpStream, Vec<u8>) {
    let mut tcp = ask(pair, b"much");
    let mut begun = vec![0; 1 << 20];
    tcp.read_exact(&mut begun).unwrap();
    (tcp, begun)
}

fn comes_whole(mut tcp: TcpStream, mut got: Vec<u8>) {
    let (rest, ended) = read_all(&mut tcp);
    ended.unwrap();
    got.extend(rest);
    assert!(got == pattern(LARGE), "{} of {LARGE} bytes", got.len());
}

fn is_served(pair: &Pair) {
    let (answer, ended) = read_all(&mut ask(pair, b"some"));
    ended.unwrap();
    assert_eq!(answer, b"little");
}

#[test]
fn a_far_end_is_replaced_without_a_broken_connection() {
    let mut pair = Pair::start(site(), false);
    let (tcp, begun) = in_the_middle(&pair);
    let old = pair.start_far_end_again();
    old.signal("TERM");
    until("its successor carries", || {
        is_served(&pair);
        pair.far.count("connections_split_total") > 0
    });
    assert_eq!(old.count("connections_broken_total"), 0);
    comes_whole(tcp, begun);
    old.ends();
    assert_eq!(pair.near.count("connections_broken_total"), 0);
    let past = pair.near.count("connections_failed_open_total");
    is_served(&pair);
    assert_eq!(pair.near.count("connections_failed_open_total"), past, "by the far end");
}

#[test]
fn a_near_end_is_replaced_without_a_broken_connection() {
    for leg in LEGS {
        let mut pair = Pair::start_with(site(), false, leg);
        let (tcp, begun) = in_the_middle(&pair);
        let old = pair.start_near_end_again();
        old.signal("TERM");
        for _ in 0..50 {
            is_served(&pair);
        }
        comes_whole(tcp, begun);
        old.ends();
        is_served(&pair);
        assert!(pair.near.count("connections_split_total") > 0);
        assert_eq!(pair.near.count("connections_failed_open_total"), 0);
        assert_eq!(pair.near.count("connections_broken_total"), 0);
    }
}

/// Over QUIC the port is not shared: the successor starts after the end of the first. Transfers complete, and no
/// client is refused meanwhile.
#[test]
fn a_far_end_over_quic_is_replaced_one_after_the_other() {
    let mut pair = Pair::start_with(site(), false, LEGS[1]);
    let (tcp, begun) = in_the_middle(&pair);
    pair.far.signal("TERM");
    until("the near end knows", || !pair.near.is_well());
    is_served(&pair);
    assert_eq!(pair.near.count("connections_failed_open_total"), 1);
    comes_whole(tcp, begun);
    until("it ends", || pair.far.child.try_wait().unwrap().is_some());
    drop(pair.start_far_end_again());
    until("the leg stands again", || pair.near.is_well());
    is_served(&pair);
    assert_eq!(pair.near.count("connections_failed_open_total"), 1);
    assert_eq!(pair.near.count("connections_broken_total"), 0);
}
