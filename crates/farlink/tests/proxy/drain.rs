//! The end under load: every accepted client is answered.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::Desk;
use crate::crowd::{Asked, Wanted};
use crate::origin::{Origin, object};
use crate::running::{ARGUMENTS, Running, TEST_RULES, connect, forward, until};
use crate::unfiltered::without_filters;

const CACHE: &str = "[cache]\nmemory = \"8MiB\"\n";

/// A proxy on a machine without socket filters.
fn unfiltered(config: &str) -> Running {
    let desk = Desk::new();
    let listen = "[[listen]]\naddress = \"127.0.0.1:0\"\n";
    desk.put("proxy.toml", format!("workers = 2\n{config}\n{TEST_RULES}\n{listen}"));
    let mut command = desk.command(ARGUMENTS);
    without_filters(&mut command);
    Running::begin(desk, command)
}

fn ends_with_bodies_whole(mut proxy: Running, origin: &Origin) {
    let mut streams: Vec<TcpStream> = (0..4).map(|_| connect(proxy.address)).collect();
    for stream in &mut streams {
        let request = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", origin.url("/big"));
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 1_000]).unwrap();
    }
    proxy.signal("TERM");
    for mut stream in streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest.len() > 4_999_000, "{}", rest.len());
    }
    assert!(proxy.child.wait().unwrap().success());
}

#[test]
fn a_body_that_is_on_its_way_comes_to_its_end() {
    let (proxy, origin) = forward("");
    ends_with_bodies_whole(proxy, &origin);
    ends_with_bodies_whole(unfiltered(""), &origin);
}

/// Number of concurrent clients, each with a new connection for each request.
const CLIENTS: usize = 300;

/// Ends the proxy under load, until no client gets a connection any more. Every answer must be complete; returns
/// the number of clients whose connection was closed before an answer came.
fn end_under_load(proxy: &mut Running, origin: &Origin) -> usize {
    let (address, url) = (proxy.address, origin.url("/object/7"));
    let wanted = Wanted { address, url, body: object(7) };
    let (answered, turned_away) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let client = |_| {
        let (wanted, answered, turned_away) =
            (wanted.clone(), Arc::clone(&answered), Arc::clone(&turned_away));
        thread::spawn(move || {
            loop {
                let count = match wanted.ask() {
                    Asked::Answered => &answered,
                    Asked::TurnedAway => &turned_away,
                    Asked::Refused => return,
                };
                count.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let clients: Vec<_> = (0..CLIENTS).map(client).collect();
    until("they are at it", || answered.load(Ordering::Relaxed) > 4 * CLIENTS);
    proxy.signal("TERM");
    let failed = clients.into_iter().filter_map(|client| client.join().err()).count();
    assert_eq!(failed, 0, "of {} answers", answered.load(Ordering::Relaxed));
    assert!(proxy.child.wait().unwrap().success());
    turned_away.load(Ordering::Relaxed)
}

#[test]
fn under_load_whoever_gets_a_connection_gets_an_answer() {
    let (mut proxy, origin) = forward(CACHE);
    assert_eq!(end_under_load(&mut proxy, &origin), 0);
    assert!(!proxy.said().contains("warning"), "{}", proxy.said());
}

#[test]
fn without_filters_the_port_closes_at_once_and_that_is_said() {
    let (mut proxy, origin) = (unfiltered(CACHE), Origin::start());
    let turned_away = end_under_load(&mut proxy, &origin);
    // Clients that arrive between the last look into the kernel's queue and the port's end; after it, none.
    assert!(turned_away <= CLIENTS, "{turned_away}");
    println!("{turned_away} of {CLIENTS} clients were turned away");
    until("it is said", || proxy.said().contains("was closed at once"));
}
