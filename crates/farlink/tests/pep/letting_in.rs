//! Admission of peers, inspection of connections, and permitted destinations.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use crate::common::Desk;
use crate::ends::{
    ANYWHERE, LEGS, PATIENCE, Pair, connect, far_end, key, near_end, read_all, until,
};
use crate::origin::{http, origin, whole};

fn hello() -> std::net::SocketAddr {
    http(|_, tcp| whole(tcp, "Connection: close\r\n", b"hello"))
}

fn is_served(near: std::net::SocketAddr) {
    let mut tcp = connect(near);
    tcp.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("hello"), "{answer}");
}

#[test]
fn a_stranger_is_not_let_in_and_his_clients_are_served() {
    for leg in LEGS {
        let desk = Desk::new();
        let (_, far_key) = (key(&desk, "near.key"), key(&desk, "far.key"));
        let somebody = key(&desk, "somebody.key");
        let far = far_end(&desk, ANYWHERE, &somebody, leg);
        let near = near_end(&desk, ANYWHERE, far.at, hello(), &far_key, false, leg);
        until("it is refused", || far.count("refused_total") > 0);
        assert!(!near.is_well());
        is_served(near.at);
        assert_eq!(near.count("connections_failed_open_total"), 1);
        assert_eq!(far.count("connections_split_total"), 0);
    }
}

#[test]
fn an_impostor_gets_nothing() {
    for leg in LEGS {
        let desk = Desk::new();
        let (near_key, _) = (key(&desk, "near.key"), key(&desk, "far.key"));
        let real = key(&desk, "real.key");
        let impostor = far_end(&desk, ANYWHERE, &near_key, leg);
        let near = near_end(&desk, ANYWHERE, impostor.at, hello(), &real, false, leg);
        until("it has tried", || impostor.count("refused_total") > 0);
        assert!(!near.is_well());
        is_served(near.at);
        assert_eq!(near.count("connections_failed_open_total"), 1);
    }
}

#[test]
fn who_does_not_speak_tls_is_hung_up_on() {
    let pair = Pair::start(hello(), false);
    let mut tcp = connect(pair.far.at);
    tcp.write_all(b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n").unwrap();
    let (said, _) = read_all(&mut tcp);
    assert!(!said.windows(4).any(|four| four == b"HTTP"), "{}", String::from_utf8_lossy(&said));
    until("it is counted", || pair.far.count("refused_total") == 1);
    is_served(pair.near.at);
    assert_eq!(pair.near.count("connections_split_total"), 1);
}

/// A TLS client hello on a port for HTTP: it and the bytes after it pass unchanged, both ways.
#[test]
fn what_is_secured_passes_unread() {
    let record = [&[22, 3, 1, 0, 40, 1][..], &[0xee; 39]].concat();
    let (tell, told) = mpsc::channel();
    let expected = record.clone();
    let at = origin(move |mut tcp| {
        let mut came = vec![0; expected.len()];
        tcp.read_exact(&mut came).unwrap();
        tell.send(came).unwrap();
        tcp.write_all(b"\x16\x03\x03 and so on").unwrap();
    });
    let pair = Pair::start(at, true);
    let mut tcp = connect(pair.near.at);
    tcp.write_all(&record).unwrap();
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), record);
    let (back, ended) = read_all(&mut tcp);
    ended.unwrap();
    assert_eq!(back, b"\x16\x03\x03 and so on");
    assert_eq!(pair.near.count("http_fetched_total"), 0);
    assert_eq!(pair.near.count("connections_split_total"), 1);
}

/// A page may name any host: hosts that no client has asked for are not connected to.
#[test]
fn nobody_is_connected_to_unasked() {
    for leg in LEGS {
        let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
        let html = format!("<img src=http://{}/i.png>", stranger.local_addr().unwrap());
        let at = http(move |path, tcp| match path {
            "/" => whole(tcp, "Content-Type: text/html\r\n", html.as_bytes()),
            _ => whole(tcp, "", b"hello"),
        });
        let pair = Pair::start_with(at, true, leg);
        let mut tcp = connect(pair.near.at);
        write!(tcp, "GET / HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
        let (answer, ended) = read_all(&mut tcp);
        ended.unwrap();
        assert!(answer.ends_with(b"i.png>"));
        assert_eq!(pair.far.count("http_fetched_total"), 1);
        assert_eq!(pair.far.count("http_promised_total"), 0);
        stranger.set_nonblocking(true).unwrap();
        assert_eq!(stranger.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}
