//! Pages in clear text: the same bytes with and without a PEP, and forwarded as they arrive.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, mpsc};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::ends::{LEGS, PATIENCE, Pair, connect, read_all, until};
use crate::origin::{chunk, http, pattern, whole};

const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A page of 100 KB that embeds `objects`, at its beginning, in its middle and at its end.
fn page(objects: &[&str]) -> String {
    let filling = "<p>Text that is long enough for compression to be of use. ".repeat(800);
    objects.iter().map(|path| format!("<img src={path}>{filling}")).collect()
}

fn objects() -> BTreeMap<String, Vec<u8>> {
    let named = |n: usize| (format!("/{n}.png"), pattern(3_000 * n + 1));
    (0..6).map(named).collect()
}

/// A site whose page is compressed, of unknown length, both, or neither.
fn site() -> SocketAddr {
    http(|path, tcp| {
        let html = page(&["/0.png", "/1.png", "/2.png"]);
        match path {
            "/plain" => whole(tcp, HTML, html.as_bytes()),
            "/packed" => {
                let fields = format!("{HTML}Content-Encoding: gzip\r\n");
                whole(tcp, &fields, &packed(html.as_bytes()))
            }
            "/chunked" => {
                tcp.write_all(CHUNKED)?;
                html.as_bytes().chunks(7_001).try_for_each(|piece| chunk(tcp, piece))?;
                tcp.write_all(b"0\r\n\r\n")
            }
            "/chunked-packed" => {
                let head = String::from_utf8_lossy(CHUNKED);
                let head = head.replace("Transfer", "Content-Encoding: gzip\r\nTransfer");
                tcp.write_all(head.as_bytes())?;
                packed(html.as_bytes()).chunks(99).try_for_each(|piece| chunk(tcp, piece))?;
                tcp.write_all(b"0\r\n\r\n")
            }
            path => whole(tcp, "Content-Type: image/png\r\n", &objects()[path]),
        }
    })
}

fn packed(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// Sends a GET of `path` on a persistent connection; returns the body.
fn get(tcp: &mut TcpStream, host: SocketAddr, path: &str) -> Vec<u8> {
    write!(tcp, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let head = head(tcp).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match length {
        Some(length) => exactly(tcp, length.parse().unwrap()),
        None => {
            let mut body = Vec::new();
            loop {
                let size = line(tcp);
                let size = usize::from_str_radix(size.trim(), 16).unwrap();
                body.extend(exactly(tcp, size));
                assert_eq!(exactly(tcp, 2), b"\r\n");
                if size == 0 {
                    return body;
                }
            }
        }
    }
}

fn head(tcp: &mut TcpStream) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head += &line(tcp);
    }
    head
}

fn line(tcp: &mut TcpStream) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        line.extend(exactly(tcp, 1));
    }
    String::from_utf8(line).unwrap()
}

fn exactly(tcp: &mut TcpStream, bytes: usize) -> Vec<u8> {
    let mut read = vec![0; bytes];
    tcp.read_exact(&mut read).unwrap();
    read
}

#[test]
fn a_page_is_the_same_with_and_without() {
    for leg in LEGS {
        let at = site();
        for kind in ["/plain", "/packed", "/chunked", "/chunked-packed"] {
            let pair = Pair::start_with(at, true, leg);
            let (mut with, mut without) = (connect(pair.near.at), connect(at));
            for path in [kind, "/0.png", "/1.png", "/2.png", "/3.png"] {
                let (ours, theirs) = (get(&mut with, at, path), get(&mut without, at, path));
                assert!(
                    ours == theirs,
                    "{kind}, {path}: {} and {} bytes",
                    ours.len(),
                    theirs.len()
                );
            }
            assert_eq!(pair.near.count("http_fetched_total"), 5, "{kind}");
            assert_eq!(pair.near.count("http_answered_early_total"), 3, "{kind}");
        }
    }
}

/// The server sends half of its page and waits. The client has that half then, and the far end the objects embedded
/// in it.
#[test]
fn a_page_is_sent_on_as_it_comes() {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let (tell, told) = mpsc::channel::<()>();
    let (noted, told) = (Arc::clone(&asked), Arc::new(Mutex::new(told)));
    let at = http(move |path, tcp| {
        noted.lock().unwrap().push(path.to_owned());
        if path != "/" {
            return whole(tcp, "Content-Type: image/png\r\n", &objects()[path]);
        }
        tcp.write_all(CHUNKED)?;
        chunk(tcp, b"<!doctype html><img src=/1.png><p>first half")?;
        told.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        chunk(tcp, b", second half<img src=/2.png>")?;
        tcp.write_all(b"0\r\n\r\n")
    });
    let pair = Pair::start(at, true);
    let mut tcp = connect(pair.near.at);
    write!(tcp, "GET / HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    head(&mut tcp);
    let mut came = String::new();
    while !came.contains("first half") {
        came.push(exactly(&mut tcp, 1)[0] as char);
    }
    until("what the first half embeds is fetched", || {
        asked.lock().unwrap().contains(&"/1.png".to_owned())
    });
    let mut other = connect(pair.near.at);
    assert_eq!(get(&mut other, at, "/1.png"), objects()["/1.png"]);
    tell.send(()).unwrap();
    while !came.ends_with("0\r\n\r\n") {
        came.push(exactly(&mut tcp, 1)[0] as char);
    }
    assert_eq!(get(&mut other, at, "/2.png"), objects()["/2.png"]);
    assert_eq!(pair.near.count("http_answered_early_total"), 2);
    assert_eq!(*asked.lock().unwrap(), ["/", "/1.png", "/2.png"]);
}

/// A page truncated by its server must not look complete.
#[test]
fn a_page_that_breaks_off_has_no_end() {
    let at = http(|_, tcp| {
        tcp.write_all(CHUNKED)?;
        chunk(tcp, b"<!doctype html><p>first half")?;
        Err(std::io::ErrorKind::Other.into())
    });
    let pair = Pair::start(at, true);
    let mut tcp = connect(pair.near.at);
    write!(tcp, "GET / HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    let (came, _) = read_all(&mut tcp);
    let came = String::from_utf8_lossy(&came);
    assert!(came.contains("chunked") && !came.contains("\r\n0\r\n"), "{came}");
}

/// A client that has enough of a page for now waits for its objects: neither holds up the other.
#[test]
fn a_page_that_is_not_read_holds_up_no_object() {
    for leg in LEGS {
        let at = http(|path, tcp| match path {
            "/" => {
                // More than all buffers on the path hold.
                let page =
                    [&b"<!doctype html><img src=/5.png>"[..], &vec![b' '; 64 << 20]].concat();
                whole(tcp, &format!("{HTML}Content-Encoding: identity\r\n"), &page)
            }
            path => whole(tcp, "Content-Type: image/png\r\n", &objects()[path]),
        });
        let pair = Pair::start_with(at, true, leg);
        let (mut page, mut other) = (connect(pair.near.at), connect(pair.near.at));
        write!(page, "GET / HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
        let head = head(&mut page);
        exactly(&mut page, 100);
        assert_eq!(get(&mut other, at, "/5.png"), objects()["/5.png"]);
        assert_eq!(pair.near.count("http_answered_early_total"), 1);
        assert!(head.contains(&(31 + (64 << 20)).to_string()), "{head}");
        exactly(&mut page, 31 + (64 << 20) - 100);
    }
}
