//! Forwarded requests and responses.

use std::io::{Read, Write};

use crate::origin::Origin;
use crate::running::{Running, TEST_RULES, connect, forward};

#[test]
fn a_request_passes_without_what_is_of_the_connection() {
    let (proxy, origin) = forward("via = \"test\"");
    let url = origin.url("/echo");
    let answer = proxy.raw(&format!(
        "GET {url} HTTP/1.1\r\nHost: lie.test\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nProxy-Connection: x\r\n\
         TE: trailers\r\nAccept: */*\r\n\r\n"
    ));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(head.contains("\r\nvia: 1.1 test") && head.contains("\r\ndate: "), "{head}");
    let host = format!("host: {}", origin.address);
    let expected = ["GET /echo HTTP/1.1", host.as_str(), "accept: */*", "via: 1.1 test", ""];
    let passed: Vec<&str> = body.split("\r\n").take(5).collect();
    assert_eq!(passed, expected, "{body}");
}

#[test]
fn bodies_pass_both_ways_whatever_their_framing() {
    let (proxy, origin) = forward("");
    let answer = proxy.get(&origin.url("/big"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-length: 5000000"), "{head}");
    assert_eq!(body.len(), 5_000_000);
    assert!(body.bytes().all(|byte| byte == b'x'));
    let chunked = proxy.get(&origin.url("/chunked"));
    assert!(chunked.contains("transfer-encoding: chunked"), "{chunked}");
    assert!(
        chunked.ends_with("0\r\n\r\n") && chunked.contains("abc") && chunked.contains("def"),
        "{chunked}"
    );
    // An HTTP/1.0 client does not know chunked coding.
    let old = proxy.raw(&format!("GET {} HTTP/1.0\r\n\r\n", origin.url("/chunked")));
    assert!(old.ends_with("\r\n\r\nabcdef"), "{old}");
    let url = origin.url("/echo");
    let post = proxy.raw(&format!(
        "POST {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n{}",
        "y".repeat(100_000)
    ));
    assert!(post.contains("content-length: 100000") && post.ends_with("100000 bytes"), "{post}");
    let post = proxy.raw(&format!(
        "POST {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    ));
    assert!(post.contains("transfer-encoding: chunked") && post.ends_with("3 bytes"), "{post}");
    let head = proxy.raw(&format!(
        "HEAD {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        origin.url("/big")
    ));
    assert!(head.contains("content-length: 5000000") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn a_parent_leads_to_everything() {
    let (parent, origin) = forward("via = \"parent\"\n[cache]\nmemory = \"1MiB\"");
    let more = format!("via = \"child\"\n[upstream]\nparent = \"http://{}\"", parent.address);
    let child = Running::start(&format!("{more}\n{TEST_RULES}"));
    let answer = child.get(&origin.url("/echo"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("\r\nvia: 1.1 parent, 1.1 child"), "{head}");
    assert!(body.contains("\r\nvia: 1.1 child, 1.1 parent\r\n"), "{body}");
    assert_eq!(
        [&child, &parent].map(|proxy| proxy.get(&origin.url("/cached")).ends_with('2')),
        [true; 2]
    );
    assert_eq!(origin.requests(), 2, "the second was in the parent's cache");
    // Requests that this proxy refuses are not for its parent to allow.
    assert!(child.get("http://127.0.0.1:22/").starts_with("HTTP/1.1 403"));
    let place = origin.address;
    let tunnel = || {
        let asked =
            format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\nGET / HTTP/1.0\r\n\r\n");
        let mut stream = connect(child.address);
        stream.write_all(asked.as_bytes()).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    assert_eq!(tunnel(), "HTTP/1.1 200");
    drop(parent);
    assert!(child.get(&origin.url("/")).starts_with("HTTP/1.1 502"));
    assert_eq!(tunnel(), "HTTP/1.1 502");
}

#[test]
fn connections_to_origins_are_kept_and_pipelined_requests_answered_in_order() {
    let (proxy, origin) = forward("");
    let request = |end: &str| format!("GET {} HTTP/1.1\r\nHost: x\r\n{end}\r\n", origin.url("/"));
    let answer = proxy.raw(&(request("") + &request("") + &request("Connection: close\r\n")));
    let bodies: Vec<&str> = answer
        .split("\r\n")
        .filter_map(|line| line.find("hello").map(|at| &line[at..at + 7]))
        .collect();
    assert_eq!(bodies, ["hello 1", "hello 2", "hello 3"], "{answer}");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn a_request_whose_connection_died_idle_is_made_again() {
    let (proxy, origin) = forward("");
    for number in 1..=4 {
        let answer = proxy.get(&origin.url("/silent-close"));
        assert!(answer.ends_with(&format!("\r\n\r\n{number}")), "{answer}");
    }
}

#[test]
fn limits_hold_for_all_workers_together() {
    // There are two workers.
    let (proxy, origin) = forward("[upstream]\nconnections_per_origin = 3\n");
    std::thread::scope(|scope| {
        for number in 0..12 {
            let (proxy, origin) = (&proxy, &origin);
            scope.spawn(move || {
                let answer = proxy.get(&origin.url(&format!("/slow-cached?{number}")));
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            });
        }
    });
    assert!(origin.connections() <= 3, "{} connections", origin.connections());
}

#[test]
fn tunnels_carry_bytes() {
    let (proxy, origin) = forward("");
    let mut stream = connect(proxy.address);
    write!(stream, "CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\n", origin.address).unwrap();
    let mut head = [0; 4096];
    let read = stream.read(&mut head).unwrap();
    let head = String::from_utf8_lossy(&head[..read]).into_owned();
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    stream.write_all(b"GET /echo HTTP/1.1\r\nHost: inner\r\n\r\n").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("Host: inner\r\n") && !answer.contains("via"), "{answer}");
}

#[test]
fn a_reverse_proxy_keeps_the_host_and_tells_of_the_client() {
    let [a, b] = [Origin::start(), Origin::start()];
    let proxy = Running::start(&format!(
        "[[reverse]]\nhosts = [\"a.test\"]\norigins = [\"http://{}\"]\n[[reverse]]\nhosts = [\".b.test\"]\n\
         origins = [\"http://{}\"]\nhost = \"origin\"\ntell = \"forwarded\"\n",
        a.address, b.address
    ));
    let get = |host: &str| {
        proxy.raw(&format!("GET /echo HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: close\r\n\r\n"))
    };
    let answer = get("A.test");
    assert!(answer.contains("host: A.test\r\n"), "{answer}");
    assert!(
        answer.contains("x-forwarded-for: 127.0.0.1\r\n")
            && answer.contains("x-forwarded-proto: http\r\n"),
        "{answer}"
    );
    let answer = get("x.b.test");
    assert!(answer.contains(&format!("host: {}\r\n", b.address)), "{answer}");
    assert!(
        answer.contains("forwarded: for=127.0.0.1;host=\"x.b.test\";proto=http\r\n"),
        "{answer}"
    );
    assert!(get("c.test").starts_with("HTTP/1.1 421"));
    assert!(proxy.get("http://c.test/").starts_with("HTTP/1.1 421"));
}
