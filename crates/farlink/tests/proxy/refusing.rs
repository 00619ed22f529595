//! Refused requests, and the clients' error messages.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::common::Desk;
use crate::origin::Origin;
use crate::running::{Running, TEST_RULES, forward};

#[test]
fn what_must_not_be_reached_is_not() {
    let origin = Origin::start();
    let strict = Running::start("");
    let private = Running::start("[forward]\nports = [\"1-65535\"]");
    for (proxy, target, error) in [
        (&strict, origin.url("/"), "http_request_denied"),
        (&strict, "http://127.0.0.1/".to_owned(), "destination_ip_prohibited"),
        (&private, origin.url("/"), "destination_ip_prohibited"),
        (
            &private,
            format!("http://[::ffff:127.0.0.1]:{}/", origin.address.port()),
            "destination_ip_prohibited",
        ),
        (
            &private,
            format!("http://localhost:{}/", origin.address.port()),
            "destination_ip_prohibited",
        ),
        (
            &private,
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "destination_ip_prohibited",
        ),
        (&private, "http://10.0.0.1/".to_owned(), "destination_ip_prohibited"),
        (
            &private,
            format!("http://2130706433:{}/", origin.address.port()),
            "destination_ip_prohibited",
        ),
    ] {
        let answer = proxy.get(&target);
        assert!(answer.starts_with("HTTP/1.1 403"), "{target}: {answer}");
        assert!(answer.contains(&format!("error={error}")), "{target}: {answer}");
    }
    let tunnel = |target: &str| {
        strict.raw(&format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    };
    assert!(tunnel("example.com:22").starts_with("HTTP/1.1 403"));
    assert!(tunnel("127.0.0.1:443").starts_with("HTTP/1.1 403"));
    assert_eq!(origin.connections(), 0);
}

#[test]
fn ambiguous_requests_reach_no_origin() {
    let (proxy, origin) = forward("");
    let url = origin.url("/");
    for (request, status) in [
        (format!("GET {url} HTTP/1.1\r\n\r\n"), 400),
        (format!("GET {url} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400),
        (
            format!(
                "POST {url} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
            ),
            400,
        ),
        (
            format!(
                "POST {url} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
            400,
        ),
        (
            format!(
                "POST {url} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n"
            ),
            400,
        ),
        (format!("GET {url} HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n"), 400),
        (format!("GET {url} HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n"), 400),
        (format!("GET {url} HTTP/1.1\nHost: a\n\n"), 400),
        (format!("GET {url} HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n"), 400),
        ("GET http://u:p@127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
        ("GET ftp://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
        (format!("TRACE {url} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), 405),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".to_owned(), 404),
    ] {
        // Some refusals leave the connection open: this closes it.
        let answer =
            proxy.raw(&request.replace("Host: a\r\n\r\n", "Host: a\r\nConnection: close\r\n\r\n"));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) || answer.starts_with("HTTP/1.1 501"),
            "{request}: {answer}"
        );
    }
    assert_eq!(origin.requests(), 0);
}

#[test]
fn loops_are_seen() {
    let (proxy, origin) = forward("via = \"here\"");
    let url = origin.url("/");
    let answer = proxy.raw(&format!(
        "GET {url} HTTP/1.1\r\nHost: x\r\nVia: 1.1 here\r\nConnection: close\r\n\r\n"
    ));
    assert!(answer.starts_with("HTTP/1.1 508"), "{answer}");
    // A request through itself.
    let inner =
        format!("GET http://{}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", proxy.address);
    assert!(proxy.raw(&inner).starts_with("HTTP/1.1 404"));
}

#[test]
fn origins_that_fail_are_told_from_each_other() {
    let (proxy, origin) =
        forward("[upstream]\nfirst_byte_timeout = \"300ms\"\nidle_timeout = \"300ms\"\n");
    for (path, status, error) in [
        ("/garbage", 502, "http_protocol_error"),
        ("/two-lengths", 502, "http_protocol_error"),
        ("/stalls", 504, "http_response_timeout"),
    ] {
        let answer = proxy.get(&origin.url(path));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(answer.contains(&format!("error={error}")), "{path}: {answer}");
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let answer = proxy.get(&format!("http://{nobody}/"));
    assert!(
        answer.starts_with("HTTP/1.1 502") && answer.contains("connection_refused"),
        "{answer}"
    );
    let answer = proxy.get("http://nothing.invalid:8080/");
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("dns_error"), "{answer}");
}

#[test]
fn a_body_that_breaks_off_is_not_taken_for_a_whole_one() {
    let (proxy, origin) = forward("[upstream]\nidle_timeout = \"300ms\"\n");
    let answer = proxy.get(&origin.url("/dies"));
    assert!(answer.contains("content-length: 1000") && answer.ends_with("\r\n\r\nabc"), "{answer}");
    let answer = proxy.get(&origin.url("/dies-chunked"));
    assert!(answer.contains("abc") && !answer.contains("\r\n0\r\n"), "{answer}");
    let answer = proxy.get(&origin.url("/slow"));
    assert!(
        answer.contains("content-length: 6") && answer.ends_with("\r\n\r\nabc"),
        "it stalled: {answer}"
    );
}

#[test]
fn strangers_are_asked_for_a_password() {
    let desk = Desk::new();
    let mut hash = desk.command(&["proxy", "--hash-password", "anna"]);
    let mut child = hash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"secret\n").unwrap();
    let mut line = String::new();
    child.stdout.take().unwrap().read_to_string(&mut line).unwrap();
    assert!(child.wait().unwrap().success());
    let origin = Origin::start();
    let listen = "[[listen]]\naddress = \"127.0.0.1:0\"\n[clients]\nusers = \"users\"\n";
    let proxy = Running::start_on(TEST_RULES, listen, |desk| desk.put("users", &line));
    let with = |field: &str| {
        proxy.raw(&format!(
            "GET {} HTTP/1.1\r\nHost: x\r\n{field}Connection: close\r\n\r\n",
            origin.url("/echo")
        ))
    };
    let stranger = with("");
    assert!(
        stranger.starts_with("HTTP/1.1 407") && stranger.contains("proxy-authenticate: Basic"),
        "{stranger}"
    );
    // anna:wrong, anna:secret
    assert!(with("Proxy-Authorization: Basic YW5uYTp3cm9uZw==\r\n").starts_with("HTTP/1.1 407"));
    for _ in 0..2 {
        let known = with("Proxy-Authorization: Basic YW5uYTpzZWNyZXQ=\r\n");
        assert!(known.starts_with("HTTP/1.1 200") && !known.contains("uthorization"), "{known}");
    }
    assert_eq!(origin.requests(), 2);
}
