//! Malicious clients: their connections end, others are served, memory does not grow. The exact answer of each
//! protocol is tested in the protocol's crate.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::origin::Origin;
use crate::running::{Running, TEST_RULES, connect, until};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Frame types and flags (RFC 9113 section 6).
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `GET http://a/`, by indices of HPACK's static table.
const REQUEST: [u8; 7] = [0x82, 0x86, 0x84, 0x01, 1, b'a', 0x10];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A connection of HTTP/2 in clear text, ready for frames.
fn http2(proxy: &Running) -> TcpStream {
    let mut stream = connect(proxy.address);
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
    stream
}

/// The proxy's resident memory in KiB, and its peak (proc_pid_status(5)).
pub fn memory(proxy: &Running) -> [u64; 2] {
    let status = std::fs::read_to_string(format!("/proc/{}/status", proxy.child.id())).unwrap();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    })
}

/// Lets each of several clients attack until its connection is ended; reports how.
#[track_caller]
fn survives(name: &str, attack: impl Fn(&Running) -> TcpStream) {
    const MORE_KIB: u64 = 24 << 10;
    let (proxy, origin) = (Running::start(TEST_RULES), Origin::start());
    assert!(proxy.get(&origin.url("/")).starts_with("HTTP/1.1 200"));
    let [before, _] = memory(&proxy);
    for _ in 0..8 {
        let mut stream = attack(&proxy);
        let ended = stream.read_to_end(&mut Vec::new());
        let timed_out = |error: &std::io::Error| {
            matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
        };
        assert!(!ended.as_ref().is_err_and(timed_out), "{name}: the connection is still there");
    }
    assert!(proxy.get(&origin.url("/")).starts_with("HTTP/1.1 200"), "{name}: others are served");
    let [_, most] = memory(&proxy);
    assert!(most < before + MORE_KIB, "{name}: {before} KiB before, {most} KiB at the most");
}

#[test]
fn rapid_resets() {
    survives("rapid resets", |proxy| {
        let mut stream = http2(proxy);
        for id in (1..20_000).step_by(2) {
            let mut pair = frame(HEADERS, END_STREAM | END_HEADERS, id, &REQUEST[..6]);
            pair.extend(frame(RST_STREAM, 0, id, &8u32.to_be_bytes()));
            if stream.write_all(&pair).is_err() {
                break;
            }
        }
        stream
    });
}

#[test]
fn a_head_that_never_ends() {
    survives("a CONTINUATION flood", |proxy| {
        let mut stream = http2(proxy);
        let mut sent = stream.write_all(&frame(HEADERS, END_STREAM, 1, &REQUEST[..6]));
        // 64 MiB of fields: a name and a value of one byte each, not indexed.
        let fields = [0x00, 1, b'a', 1, b'b'].repeat(3_200);
        for _ in 0..4_096 {
            if sent.is_err() {
                break;
            }
            sent = stream.write_all(&frame(CONTINUATION, 0, 1, &fields));
        }
        stream
    });
}

#[test]
fn a_head_that_inflates() {
    survives("an HPACK bomb", |proxy| {
        let mut stream = http2(proxy);
        // A field of 4,000 bytes goes into the table; each byte after that repeats the field.
        let mut block = REQUEST[..6].to_vec();
        block.extend([0x40, 1, b'a', 0x7f]);
        // 4000 - 127 as an integer of seven bits and more (RFC 7541 section 5.1).
        block.extend([0xa1, 0x1e]);
        block.extend([b'v'; 4_000]);
        block.extend([0xbe; 12_000]);
        let _ = stream.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, 1, &block));
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        // Answered 431 or closed: it is over.
        let _ = stream.read(&mut [0; 4_096]);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        stream
    });
}

#[test]
fn a_compressed_head_that_inflates() {
    survives("a zlib bomb", |proxy| {
        let mut block = ZlibEncoder::new(Vec::new(), Compression::best());
        // One pair, whose value has 64 MiB.
        let value = 64u32 << 20;
        for part in [&1u32.to_be_bytes()[..], &1u32.to_be_bytes(), b"a", &value.to_be_bytes()] {
            block.write_all(part).unwrap();
        }
        for _ in 0..64 {
            block.write_all(&vec![b'v'; 1 << 20]).unwrap();
        }
        let block = block.finish().unwrap();
        // SYN_STREAM of SPDY/3, stream 1, FIN.
        let mut bytes = vec![0x80, 3, 0, 1, 1];
        bytes.extend(&(block.len() as u32 + 10).to_be_bytes()[1..]);
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        bytes.extend(block);
        let mut stream = connect(proxy.address);
        let _ = stream.write_all(&bytes);
        stream
    });
}

/// A body that clients do not read waits at the origin, not here.
#[test]
fn clients_that_read_nothing_of_large_bodies() {
    const CLIENTS: u64 = 40;
    let (proxy, origin) = (Running::start(TEST_RULES), Origin::start());
    assert!(proxy.get(&origin.url("/")).starts_with("HTTP/1.1 200"));
    let [before, _] = memory(&proxy);
    let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", origin.url("/big"));
    let idle: Vec<TcpStream> = (0..CLIENTS)
        .map(|_| {
            let mut stream = connect(proxy.address);
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    until("all have been asked for", || origin.requests() as u64 == CLIENTS + 1);
    assert!(proxy.get(&origin.url("/")).starts_with("HTTP/1.1 200"));
    let [_, most] = memory(&proxy);
    // Of 5 MB each: the data between two buffers of the kernel's.
    assert!(most < before + CLIENTS * 512, "{before} KiB before, {most} KiB at the most");
    drop(idle);
}
