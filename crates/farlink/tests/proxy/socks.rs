//! SOCKS as an entrance to the proxy: curl's, and raw messages.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use crate::common::Desk;
use crate::origin::Origin;
use crate::others::{is_there, run};
use crate::running::{Running, TEST_RULES, connect, until};

const LISTEN: &str = "[[listen]]\naddress = \"127.0.0.1:0\"\nsocks = true\n";

const GREETING: &[u8] = &[5, 1, 0];

fn start(config: &str) -> Running {
    Running::start_on(config, LISTEN, |_| {})
}

/// Sends `words` and returns everything received.
fn say(proxy: &Running, words: &[u8]) -> Vec<u8> {
    let mut stream = connect(proxy.address);
    stream.write_all(words).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).unwrap();
    heard
}

/// The greeting, and a request for a connection to the host of this name.
fn to(host: &str, port: u16) -> Vec<u8> {
    let length = u8::try_from(host.len()).unwrap();
    [GREETING, &[5, 1, 0, 3, length], host.as_bytes(), &port.to_be_bytes()].concat()
}

/// The reply code of the proxy.
fn code(proxy: &Running, words: &[u8]) -> u8 {
    let heard = say(proxy, words);
    assert_eq!(heard[..3], [5, 0, 5], "{heard:?}");
    assert_eq!(heard.len(), 12, "{heard:?}");
    heard[3]
}

#[test]
fn curl_comes_by_names_and_by_addresses() {
    if !is_there("curl") {
        return;
    }
    let origin = Origin::start();
    let proxy = start(&format!("[log]\n[admin]\naddress = \"127.0.0.1:0\"\n{TEST_RULES}"));
    let place = proxy.address.to_string();
    let by_name = format!("http://localhost:{}/big", origin.address.port());
    for (way, url) in [
        ("--socks5", origin.url("/big")),
        ("--socks5-hostname", by_name.clone()),
        ("--socks4", origin.url("/big")),
        ("--socks4a", by_name),
    ] {
        let output = ["-sS", "--max-time", "20", "-o", "/dev/null", "-w", "%{size_download}"];
        let said = run("curl", &[&output[..], &[way, &place, &url]].concat());
        assert_eq!(said, "5000000", "{way}");
    }
    assert_eq!(origin.connections(), 4);
    // HTTP is still spoken there.
    assert!(proxy.get(&origin.url("/echo")).ends_with("0 bytes"));
    let tunnels = "farlink_requests_total{outcome=\"tunnelled\"}";
    until("four tunnels are counted", || proxy.metric(tunnels) == 4);
    for (protocol, requests) in [("socks5", 2), ("socks4", 2), ("h1", 1)] {
        let name = format!("farlink_requests_by_protocol_total{{protocol=\"{protocol}\"}}");
        assert_eq!(proxy.metric(&name), requests, "{protocol}");
    }
    assert!(proxy.metric("farlink_sent_bytes_total") > 20_000_000);
}

#[test]
fn the_rules_of_tunnels_hold() {
    let origin = Origin::start();
    let port = origin.address.port();
    // Ports other than 443, and special-purpose addresses.
    let strict = start("");
    assert_eq!(code(&strict, &to("example.com", 25)), 2);
    assert_eq!(code(&strict, &to("example.com", 80)), 2);
    let inner = start("[forward]\ntunnel_ports = [\"1-65535\"]\nnever_hosts = [\".bad.test\"]\n");
    assert_eq!(code(&inner, &to("127.0.0.1", port)), 2);
    assert_eq!(code(&inner, &to("localhost", port)), 2);
    assert_eq!(code(&inner, &to("2130706433", port)), 2);
    assert_eq!(code(&inner, &to("x.bad.test", 443)), 2);
    let by_address = [GREETING, &[5, 1, 0, 1, 169, 254, 169, 254, 0, 80]].concat();
    assert_eq!(code(&inner, &by_address), 2);
    let mapped = [&[0; 10][..], &[0xff, 0xff, 127, 0, 0, 1], &port.to_be_bytes()].concat();
    assert_eq!(code(&inner, &[GREETING, &[5, 1, 0, 4], &mapped].concat()), 2);
    assert_eq!(say(&inner, &[4, 1, 0, 80, 127, 0, 0, 1, 0])[..2], [0, 91]);
    assert_eq!(origin.connections(), 0);
    // Clients of other networks.
    let others = start(&format!("{TEST_RULES}[clients]\nnetworks = [\"10.0.0.0/8\"]\n"));
    assert_eq!(code(&others, &to("localhost", port)), 2);
    assert_eq!(origin.connections(), 0);
}

#[test]
fn failures_have_their_codes() {
    let proxy = start(TEST_RULES);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(code(&proxy, &to("127.0.0.1", nobody.port())), 5);
    assert_eq!(code(&proxy, &to("nothing.invalid", 8080)), 4);
    for (command, name) in [(2, "BIND"), (3, "UDP ASSOCIATE"), (9, "none")] {
        let words = [GREETING, &[5, command, 0, 1, 127, 0, 0, 1, 4, 0]].concat();
        assert_eq!(code(&proxy, &words), 7, "{name}");
    }
    assert_eq!(code(&proxy, &[GREETING, &[5, 1, 0, 2, 1, 2]].concat()), 8);
    // GSSAPI alone.
    assert_eq!(say(&proxy, &[5, 1, 1]), [5, 0xff]);
    // A port without the setting speaks HTTP.
    let http = Running::start(TEST_RULES);
    assert!(say(&http, &[GREETING, b"\r\n\r\n"].concat()).starts_with(b"HTTP/1.1 400"));
}

#[test]
fn users_are_asked_for_their_passwords() {
    let desk = Desk::new();
    let mut hash = desk.command(&["proxy", "--hash-password", "anna"]);
    let mut child = hash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"secret\n").unwrap();
    let mut line = String::new();
    child.stdout.take().unwrap().read_to_string(&mut line).unwrap();
    assert!(child.wait().unwrap().success());
    let origin = Origin::start();
    let listen = format!("{LISTEN}[clients]\nusers = \"users\"\n[log]\nfile = \"log\"\n");
    let proxy = Running::start_on(TEST_RULES, &listen, |desk| desk.put("users", &line));
    let request = &to("127.0.0.1", origin.address.port())[GREETING.len()..];
    let by = |name: &str, password: &str| {
        let user = [name, password].map(|word| [&[word.len() as u8], word.as_bytes()].concat());
        let get = b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        say(&proxy, &[&[5, 2, 0, 2, 1][..], &user.concat(), request, get].concat())
    };
    assert_eq!(say(&proxy, &[GREETING, request].concat()), [5, 0xff], "no password is offered");
    assert_eq!(say(&proxy, &[4, 1, 0, 80, 127, 0, 0, 1, 0])[..2], [0, 91], "SOCKS4 has none");
    assert_eq!(by("anna", "wrong"), [5, 2, 1, 1]);
    assert_eq!(by("anna:secret", ""), [5, 2, 1, 1]);
    assert_eq!(origin.connections(), 0);
    let heard = by("anna", "secret");
    assert_eq!(heard[..6], [5, 2, 1, 0, 5, 0], "{heard:?}");
    assert!(String::from_utf8_lossy(&heard).contains("0 bytes"), "{heard:?}");
    if is_there("curl") {
        let url = origin.url("/echo");
        let curl = |user: &str| {
            let proxy = format!("socks5h://{user}@{}", proxy.address);
            let arguments = ["-sS", "--max-time", "20", "-x", &proxy, &url];
            Command::new("curl").args(arguments).output().unwrap()
        };
        assert!(String::from_utf8_lossy(&curl("anna:secret").stdout).ends_with("0 bytes"));
        assert!(!curl("anna:guess").status.success());
    }
    let log = || proxy.desk.read("log");
    until("the tunnel is logged", || log().contains("\"outcome\":\"tunnelled\""));
    let refused = log().lines().filter(|line| line.contains("\"status\":407")).count();
    assert!(refused >= 1 && log().contains("\"user\":\"anna\""), "{}", log());
    assert!(log().contains("\"protocol\":\"socks5\""), "{}", log());
}
