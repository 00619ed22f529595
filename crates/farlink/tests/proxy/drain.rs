//! The end under load: whoever has been let in is answered.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::origin::object;
use crate::running::{connect, forward, until};

#[test]
fn a_body_that_is_on_its_way_comes_to_its_end() {
    let (mut proxy, origin) = forward("");
    let mut streams: Vec<TcpStream> = (0..4).map(|_| connect(proxy.address)).collect();
    for stream in &mut streams {
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", origin.url("/big"));
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 1_000]).unwrap();
    }
    proxy.signal("-TERM");
    for mut stream in streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest.len() > 4_999_000, "{}", rest.len());
    }
    assert!(proxy.child.wait().unwrap().success());
}

/// As many clients at once, each with a new connection for each request.
const CLIENTS: usize = 300;

/// Asks for `url` by a connection of its own; nothing if that cannot be had.
fn ask(address: SocketAddr, url: &str) -> Option<std::io::Result<Vec<u8>>> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(20)).ok()?;
    let request = format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut answer = Vec::new();
    let asked = stream.write_all(request.as_bytes());
    Some(asked.and_then(|()| stream.read_to_end(&mut answer)).map(|_| answer))
}

#[test]
fn under_load_whoever_gets_a_connection_gets_an_answer() {
    let (mut proxy, origin) = forward("[cache]\nmemory = \"8MiB\"\n");
    let (address, url, body) = (proxy.address, origin.url("/object/7"), object(7));
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (url, body, answered) = (url.clone(), body.clone(), Arc::clone(&answered));
            thread::spawn(move || {
                while let Some(answer) = ask(address, &url) {
                    let answer = answer.expect("who has a connection gets an answer");
                    let text = String::from_utf8_lossy(&answer);
                    assert!(
                        answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(&body),
                        "{text}"
                    );
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    until("they are at it", || answered.load(Ordering::Relaxed) > 4 * CLIENTS);
    proxy.signal("-TERM");
    let failed = clients.into_iter().filter_map(|client| client.join().err()).count();
    assert_eq!(failed, 0, "of {} answers", answered.load(Ordering::Relaxed));
    assert!(proxy.child.wait().unwrap().success());
}
