//! Connections of the machine's own loopback, observed without access to their sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use farlink_kernel::diag::{Diag, Follower};
use farlink_kernel::{Connection, ConnectionSnapshot, monotonic, sockopt};
use tcp::TcpState;

const BYTES: usize = 300_000;

fn pair(address: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(address).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

fn connection(stream: &TcpStream) -> Connection {
    let cookie: [u8; 8] = sockopt::get(stream, libc::SOL_SOCKET, libc::SO_COOKIE).unwrap();
    Connection {
        local: stream.local_addr().unwrap(),
        peer: stream.peer_addr().unwrap(),
        cookie: u64::from_ne_bytes(cookie),
    }
}

/// Sends and reads, then closes the client first.
fn transfer(mut client: TcpStream, mut server: TcpStream) {
    let writer = std::thread::spawn(move || {
        server.write_all(&[7; BYTES]).unwrap();
        server.read(&mut [0]).unwrap()
    });
    client.read_exact(&mut vec![0; BYTES]).unwrap();
    drop(client);
    writer.join().unwrap();
}

#[test]
fn a_dump_tells_what_the_sockets_tell() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (client, server) = pair(address);
        (&client).write_all(&[1; 100]).unwrap();
        (&server).read_exact(&mut [0; 100]).unwrap();
        let seen = Diag::open().unwrap().connections().unwrap();
        for stream in [&client, &server] {
            let ours = seen.iter().find(|seen| seen.connection == connection(stream));
            let ours = ours.expect("the dump has both ends").snapshot;
            let stats = ConnectionSnapshot::of(stream).unwrap().stats();
            assert_eq!(ours.state(), TcpState::Established);
            assert_eq!(ours.stats().bytes_sent, stats.bytes_sent);
            assert_eq!(ours.stats().bytes_received, stats.bytes_received);
            assert_eq!(ours.stats().cwnd, stats.cwnd);
            assert_eq!(ours.stats().pacing_rate.is_some(), stats.pacing_rate.is_some());
        }
    }
}

#[test]
fn connections_are_followed_to_their_end() {
    let follower = Follower::start(Duration::from_millis(1), monotonic()).unwrap();
    let (client, server) = pair("127.0.0.1:0");
    let (ours, theirs) = (connection(&client), connection(&server));
    transfer(client, server);
    let motions = follower.finish().unwrap();
    let last = |connection| motions[connection].samples.last().unwrap().stats.clone();
    assert_eq!(last(&theirs).bytes_sent, BYTES as u64);
    assert!(motions[&ours].samples.is_sorted_by_key(|sample| sample.at));
}

/// The notices report what no poll has seen.
#[test]
fn what_ends_between_two_looks_is_not_lost() {
    let follower = Follower::start(Duration::from_secs(3600), monotonic()).unwrap();
    let (client, server) = pair("127.0.0.1:0");
    let theirs = connection(&server);
    transfer(client, server);
    let motions = follower.finish().unwrap();
    let sample = &motions[&theirs].samples[0];
    assert_eq!(sample.stats.bytes_sent, BYTES as u64);
    assert_eq!(sample.state, TcpState::Closed);
}
