//! End-to-end properties of TCP that splitting keeps: half-close, resets, back pressure.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::ends::{LEGS, PATIENCE, Pair, connect, read_all, until};
use crate::origin::{origin, pattern};

/// Echoes the received bytes when the client has sent its last.
fn echo() -> SocketAddr {
    origin(|mut tcp| {
        let (all, _) = read_all(&mut tcp);
        drop(tcp.write_all(&all));
    })
}

fn comes_back(pair: &Pair, bytes: usize) {
    let mut tcp = connect(pair.near.at);
    let mut sending = tcp.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        sending.write_all(&pattern(bytes)).unwrap();
        sending.shutdown(Shutdown::Write).unwrap();
    });
    let (back, ended) = read_all(&mut tcp);
    sender.join().unwrap();
    ended.unwrap();
    assert!(back == pattern(bytes), "{} of {bytes} bytes", back.len());
}

/// The answer begins when the request's half has ended.
#[test]
fn half_closed_connections_stay_half_closed() {
    for leg in LEGS {
        let pair = Pair::start_with(echo(), false, leg);
        comes_back(&pair, 10);
        comes_back(&pair, 5_000_000);
        assert_eq!(pair.near.count("connections_split_total"), 2);
        assert_eq!(pair.near.count("connections_broken_total"), 0);
    }
}

/// Closed with unread data, a connection is reset (RFC 1122 section 4.2.2.13).
fn reset(tcp: TcpStream) {
    until("something unread", || matches!(tcp.peek(&mut [0]), Ok(1)));
    drop(tcp);
}

#[test]
fn a_clients_reset_is_a_reset_at_the_server() {
    for leg in LEGS {
        let (tell, told) = mpsc::channel();
        let at = origin(move |mut tcp| {
            tcp.write_all(b"something").unwrap();
            tell.send(read_all(&mut tcp)).unwrap();
        });
        let pair = Pair::start_with(at, false, leg);
        let mut tcp = connect(pair.near.at);
        tcp.write_all(b"begun").unwrap();
        until("it arrives", || pair.far.count("leg_received_bytes_total") == 5);
        reset(tcp);
        let (_, ended) = told.recv_timeout(PATIENCE).unwrap();
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

#[test]
fn a_servers_reset_is_a_reset_at_the_client() {
    for leg in LEGS {
        let pair = Pair::start_with(origin(reset), false, leg);
        let mut tcp = connect(pair.near.at);
        tcp.write_all(b"something").unwrap();
        assert_eq!(read_all(&mut tcp).1.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

/// An unreachable server is a reset, too: the client was accepted before the failure was known.
#[test]
fn a_server_that_is_not_there_is_a_reset() {
    for leg in LEGS {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let pair = Pair::start_with(closed, false, leg);
        let mut tcp = connect(pair.near.at);
        assert_eq!(read_all(&mut tcp).1.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}

/// Sixteen clients that read nothing of endless responses: their servers stop, both ends stay small, and others pass.
#[test]
fn slow_readers_stop_their_servers_and_nobody_else() {
    for leg in LEGS {
        const READERS: u64 = 16;
        const WINDOW_BYTES: u64 = 256 << 10;
        let written = Arc::<AtomicU64>::default();
        let count = Arc::clone(&written);
        let at = origin(move |mut tcp| {
            let mut first = [0];
            tcp.read_exact(&mut first).unwrap();
            if first == *b"e" {
                let (all, _) = read_all(&mut tcp);
                drop(tcp.write_all(&[&b"e"[..], &all].concat()));
                return;
            }
            while tcp.write_all(&[7; 10_000]).is_ok() {
                count.fetch_add(10_000, Ordering::SeqCst);
            }
        });
        let pair = Pair::start_with(at, false, leg);
        let before = [pair.near.resident_bytes(), pair.far.resident_bytes()];
        let slow: Vec<TcpStream> = (0..READERS)
            .map(|_| {
                let mut tcp = connect(pair.near.at);
                tcp.write_all(b"s").unwrap();
                tcp
            })
            .collect();
        stands_still(&written);
        for (end, before) in [(&pair.near, before[0]), (&pair.far, before[1])] {
            let grown = end.resident_bytes().saturating_sub(before);
            // A window and the data being sent of each connection; and the allocator's overhead.
            let most = READERS * (WINDOW_BYTES + (64 << 10)) + (16 << 20);
            assert!(grown < most, "{grown} bytes more, {most} at most");
        }
        let mut tcp = connect(pair.near.at);
        tcp.write_all(b"echo").unwrap();
        tcp.shutdown(Shutdown::Write).unwrap();
        let (back, ended) = read_all(&mut tcp);
        ended.unwrap();
        assert_eq!(back, b"echo");
        assert_eq!(pair.near.count("connections_failed_open_total"), 0);
        drop(slow);
    }
}

/// Waits until the servers are blocked in writing.
fn stands_still(written: &AtomicU64) {
    let deadline = Instant::now() + PATIENCE;
    let mut last = (0, Instant::now());
    while last.0 == 0 || last.1.elapsed() < Duration::from_secs(1) {
        assert!(Instant::now() < deadline, "they go on: {} bytes", last.0);
        let now = written.load(Ordering::SeqCst);
        if now != last.0 {
            last = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A client that finds no stream left is served all the same.
#[test]
fn a_full_leg_is_gone_past() {
    for leg in LEGS {
        let pair = Pair::start_with(echo(), false, &format!("{leg}streams = 2\n"));
        let held: Vec<TcpStream> = (0..2).map(|_| connect(pair.near.at)).collect();
        until("both are carried", || pair.far.count("connections_split_total") == 2);
        comes_back(&pair, 100_000);
        assert_eq!(pair.near.count("connections_failed_open_total"), 1);
        drop(held);
        until("they have ended", || {
            comes_back(&pair, 10);
            pair.near.count("connections_split_total") > 2
        });
    }
}
