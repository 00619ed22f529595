//! Origins: threads that treat a connection as a test needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// This many bytes without a short period.
pub fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + i / 65_521) as u8).collect()
}

/// An origin that runs `with` for each connection. It lives as long as the tests.
pub fn origin(with: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            let with = with.clone();
            thread::spawn(move || with(tcp));
        }
    });
    at
}

/// An origin that answers each request for a path by `answer`, as long as that succeeds.
pub fn http(
    answer: impl Fn(&str, &mut TcpStream) -> std::io::Result<()> + Clone + Send + 'static,
) -> SocketAddr {
    origin(move |mut tcp| {
        while let Some((path, is_last)) = request(&mut tcp) {
            if answer(&path, &mut tcp).is_err() || is_last {
                return;
            }
        }
    })
}

/// The path of the next GET, and true if none is to follow.
fn request(tcp: &mut TcpStream) -> Option<(String, bool)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        tcp.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let is_last = head.to_ascii_lowercase().contains("connection: close");
    Some((head.split(' ').nth(1)?.to_owned(), is_last))
}

/// Sends a complete answer with its length.
pub fn whole(tcp: &mut TcpStream, fields: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n");
    tcp.write_all(head.as_bytes())?;
    tcp.write_all(body)
}

/// Sends a chunk of an answer; no last chunk.
pub fn chunk(tcp: &mut TcpStream, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    tcp.write_all(format!("{length:x}\r\n").as_bytes())?;
    tcp.write_all(body)?;
    tcp.write_all(b"\r\n")
}
