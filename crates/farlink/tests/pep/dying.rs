//! An end that is killed or freezes in mid-transfer: no client hangs or gets wrong bytes, and the next client is served.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Instant;

use crate::ends::{LEGS, PATIENCE, Pair, connect, read_all, until};
use crate::origin::{http, origin, pattern, whole};

/// More than all buffers on the path hold.
const LARGE: usize = 64 << 20;

/// Serves `/large`, and anything else small.
fn site() -> SocketAddr {
    http(|path, tcp| match path {
        "/large" => whole(tcp, "", &pattern(LARGE)),
        _ => whole(tcp, "", b"small"),
    })
}

fn ask(tcp: &mut TcpStream, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    tcp.write_all(request.as_bytes()).unwrap();
}

/// A client that has the first bytes of `/large`.
fn in_the_middle(pair: &Pair) -> (TcpStream, Vec<u8>) {
    let mut tcp = connect(pair.near.at);
    ask(&mut tcp, "/large");
    let mut begun = vec![0; 1 << 20];
    tcp.read_exact(&mut begun).unwrap();
    (tcp, begun)
}

/// Checks the result: an error in good time, or a body that is too short, and no wrong byte in it.
fn breaks_off(mut tcp: TcpStream, mut got: Vec<u8>) {
    let began = Instant::now();
    let (rest, ended) = read_all(&mut tcp);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    got.extend(rest);
    let body_at = got.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let body = &got[body_at..];
    assert!(body.len() < LARGE, "it came whole");
    assert!(pattern(LARGE).starts_with(body), "wrong bytes");
    // Without a length an orderly end would be taken for the body's end.
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

fn is_served(pair: &Pair) {
    let mut tcp = connect(pair.near.at);
    ask(&mut tcp, "/small");
    let (answer, ended) = read_all(&mut tcp);
    ended.unwrap();
    assert!(answer.ends_with(b"\r\n\r\nsmall"), "{}", String::from_utf8_lossy(&answer));
}

fn a_far_end_is_killed(is_http: bool, leg: &str) {
    let mut pair = Pair::start_with(site(), is_http, leg);
    let carried = if is_http { "http_fetched_total" } else { "connections_split_total" };
    let (tcp, begun) = in_the_middle(&pair);
    pair.far.kill();
    breaks_off(tcp, begun);
    until("the loss is noticed", || !pair.near.is_well());
    assert_eq!(pair.near.count("connections_broken_total"), 1);
    is_served(&pair);
    assert_eq!(pair.near.count("connections_failed_open_total"), 1);
    drop(pair.start_far_end_again());
    until("the leg stands again", || pair.near.is_well());
    let before = pair.near.count(carried);
    is_served(&pair);
    assert_eq!(pair.near.count(carried), before + 1, "by the far end");
    assert_eq!(pair.near.count("connections_failed_open_total"), 1);
}

#[test]
fn a_far_end_that_is_killed_is_noticed_and_gone_past() {
    LEGS.iter().for_each(|leg| a_far_end_is_killed(false, leg));
}

#[test]
fn a_far_end_that_is_killed_in_mid_page_is_noticed_and_gone_past() {
    LEGS.iter().for_each(|leg| a_far_end_is_killed(true, leg));
}

/// The kernel goes on to acknowledge: only silence reveals it.
#[test]
fn a_far_end_that_freezes_is_noticed_and_gone_past() {
    for leg in LEGS {
        let pair = Pair::start_with(site(), false, leg);
        let (tcp, begun) = in_the_middle(&pair);
        pair.far.signal("STOP");
        breaks_off(tcp, begun);
        is_served(&pair);
        assert_eq!(pair.near.count("connections_failed_open_total"), 1);
        pair.far.signal("CONT");
        until("the leg stands again", || pair.near.is_well());
        is_served(&pair);
        assert_eq!(pair.near.count("connections_failed_open_total"), 1);
    }
}

/// A server must not take a truncated upload for a complete one.
fn an_end_is_killed_in_mid_upload(leg: &str, die: impl FnOnce(&mut Pair)) {
    let (tell, told) = mpsc::channel();
    let at = origin(move |mut tcp| tell.send(read_all(&mut tcp)).unwrap());
    let mut pair = Pair::start_with(at, false, leg);
    let mut tcp = connect(pair.near.at);
    tcp.write_all(&pattern(100_000)).unwrap();
    until("it arrives", || pair.far.count("leg_received_bytes_total") == 100_000);
    die(&mut pair);
    let (came, ended) = told.recv_timeout(PATIENCE).unwrap();
    assert!(pattern(100_000).starts_with(&came));
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(read_all(&mut tcp).1.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_near_end_that_is_killed_ends_no_upload() {
    LEGS.iter().for_each(|leg| an_end_is_killed_in_mid_upload(leg, |pair| pair.near.kill()));
}

#[test]
fn a_far_end_that_is_killed_ends_no_upload() {
    LEGS.iter().for_each(|leg| an_end_is_killed_in_mid_upload(leg, |pair| pair.far.kill()));
}
