//! A proxy at work: signals, logs, metrics, its own files.

use crate::origin::Origin;
use crate::running::{Running, TEST_RULES, connect, forward, raw, until};
use std::io::{Read, Write};

const ADMIN: &str = "[admin]\naddress = \"127.0.0.1:0\"\n";

fn ask(address: std::net::SocketAddr, path: &str) -> String {
    raw(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"))
}

#[test]
fn sigterm_lets_what_is_under_way_come_to_its_end() {
    let (mut proxy, origin) = forward(ADMIN);
    let mut stream = connect(proxy.address);
    write!(stream, "GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", origin.url("/slow"))
        .unwrap();
    until("the request is under way", || origin.requests() == 1);
    proxy.signal("TERM");
    let health = || ask(proxy.admin.unwrap(), "/health");
    until("its health tells of its end", || {
        let told = health();
        told.starts_with("HTTP/1.1 503") && told.ends_with("draining\n")
    });
    until("no new connections", || std::net::TcpStream::connect(proxy.address).is_err());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("abcdef"), "{answer}");
    assert!(proxy.child.wait().unwrap().success());
}

#[test]
fn sighup_reads_the_configuration_again() {
    let (proxy, origin) = forward("");
    assert!(proxy.get(&origin.url("/")).starts_with("HTTP/1.1 200"));
    let before = proxy.desk.read("proxy.toml");
    proxy.desk.put("proxy.toml", "nonsense");
    proxy.signal("HUP");
    until("the file is refused", || proxy.said().contains("keeping the current configuration"));
    assert!(
        proxy.get(&origin.url("/")).starts_with("HTTP/1.1 200"),
        "a file that is wrong changes nothing"
    );
    proxy.desk.put("proxy.toml", before.replace(TEST_RULES, ""));
    proxy.signal("HUP");
    // Each worker applies it when it can.
    until("the port is not allowed any more", || {
        let answers = [(); 6].map(|()| proxy.get(&origin.url("/")));
        answers.iter().all(|answer| answer.starts_with("HTTP/1.1 403"))
    });
}

#[test]
fn a_new_port_that_cannot_be_had_is_refused() {
    let (proxy, origin) = forward("");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let before = proxy.desk.read("proxy.toml");
    let with_port = format!("{before}[[listen]]\naddress = \"{address}\"\n");
    proxy.desk.put("proxy.toml", &with_port);
    proxy.signal("HUP");
    until("it is said", || proxy.said().contains("keeping the current configuration"));
    assert!(proxy.said().contains(&format!("cannot listen on {address}")), "{}", proxy.said());
    drop(taken);
    proxy.signal("HUP");
    until("it is listened on", || std::net::TcpStream::connect(address).is_ok());
    let request =
        format!("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", origin.url("/"));
    assert!(raw(address, &request).starts_with("HTTP/1.1 200"));
}

#[test]
fn metrics_and_the_log_tell_of_requests() {
    let (proxy, origin) = forward(&format!("{ADMIN}[log]\nfile = \"log\"\n"));
    proxy.get(&origin.url("/echo?a=b"));
    proxy.get(&origin.url("/dies"));
    proxy.get("http://127.0.0.1:1/");
    let written = || proxy.desk.read("log").lines().count();
    until("all is told", || {
        proxy.metric("farlink_first_byte_seconds_count") == 3 && written() == 3
    });
    let metrics = ask(proxy.admin.unwrap(), "/metrics");
    for line in [
        "farlink_requests_total{outcome=\"passed\"} 1",
        "farlink_requests_total{outcome=\"failed\"} 1",
        "farlink_requests_total{outcome=\"refused\"} 1",
        "farlink_responses_total{class=\"4xx\"} 1",
        "farlink_first_byte_seconds_count 3",
    ] {
        assert!(metrics.lines().any(|had| had == line), "{line}\n{metrics}");
    }
    assert!(ask(proxy.admin.unwrap(), "/health").ends_with("ok\n"));
    let log = proxy.desk.read("log");
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{log}");
    assert_eq!(lines[0]["url"], origin.url("/echo?a=b"));
    assert_eq!(
        (lines[0]["status"].as_u64(), lines[0]["outcome"].as_str()),
        (Some(200), Some("passed"))
    );
    let at = |name: &str| lines[0][name].as_f64().unwrap_or_else(|| panic!("{name}: {log}"));
    assert!(
        at("connected_ms") <= at("origin_first_ms")
            && at("origin_first_ms") <= at("client_last_ms")
    );
    assert_eq!(lines[1]["outcome"], "failed");
    assert_eq!(lines[2]["reason"], "http_request_denied");
    // The operator moves the file away.
    std::fs::rename(proxy.desk.path("log"), proxy.desk.path("old")).unwrap();
    proxy.signal("HUP");
    until("the log is opened anew", || proxy.desk.path("log").exists());
    proxy.get(&origin.url("/"));
    until("there is a line", || written() == 1);
}

#[test]
fn logs_have_the_formats_of_apache_and_squid() {
    let has = |format: &str, parts: &[&str]| {
        let (proxy, origin) = forward(&format!("[log]\nfile = \"log\"\nformat = \"{format}\"\n"));
        let fields =
            "Host: x\r\nReferer: http://r.test/\r\nUser-Agent: Test/1 (a b)\r\nConnection: close";
        proxy.raw(&format!("GET {} HTTP/1.1\r\n{fields}\r\n\r\n", origin.url("/text")));
        until("there is a line", || proxy.desk.read("log").ends_with('\n'));
        let line = proxy.desk.read("log");
        parts.iter().for_each(|part| assert!(line.contains(part), "{part}: {line}"));
    };
    has("combined", &["127.0.0.1 - - [", "HTTP/1.1\" 200 ", "\"http://r.test/\" \"Test/1 (a b)\""]);
    has("squid", &[" 127.0.0.1 TCP_MISS/200 ", " GET http://", " - HIER_DIRECT/127.0.0.1 text/"]);
}

#[test]
fn a_load_balancer_tells_its_client() {
    let listen = "[[listen]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = [\"127.0.0.0/8\"]\n";
    let proxy = Running::start_on(&format!("{TEST_RULES}[log]\nfile = \"log\"\n"), listen, |_| {});
    let origin = Origin::start();
    let request =
        format!("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", origin.url("/"));
    let told = format!("PROXY TCP4 192.0.2.7 203.0.113.1 56324 443\r\n{request}");
    assert!(proxy.raw(&told).starts_with("HTTP/1.1 200"));
    assert_eq!(proxy.raw(&request), "", "without the header nothing is answered");
    until("there is a line", || proxy.desk.read("log").ends_with('\n'));
    let log = proxy.desk.read("log");
    assert!(log.contains("\"client\":\"192.0.2.7:56324\""), "{log}");
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[test]
fn paths_choose_the_origin() {
    let (api, rest) = (Origin::start(), Origin::start());
    let reverse = format!(
        "[[reverse]]\npaths = [\"/echo\"]\norigins = [\"http://{}\"]\n[[reverse]]\norigins = [\"http://{}\"]\n",
        api.address, rest.address
    );
    let proxy = Running::start(&reverse);
    let ask = |path: &str| ask(proxy.address, path);
    assert!(ask("/echo?x").starts_with("HTTP/1.1 200") && ask("/").starts_with("HTTP/1.1 200"));
    assert_eq!((api.requests(), rest.requests()), (1, 1));
}

#[test]
fn rules_deny_requests_and_change_fields() {
    let origin = Origin::start();
    let site = format!(
        "[[reverse]]\norigins = [\"http://{}\"]\n[cache]\nmemory = \"8MiB\"\n",
        origin.address
    );
    let denied = "[[rule]]\naction = \"deny\"\npaths = [\"/text\"]\nclients = [\"127.0.0.0/8\"]\n";
    let fields = "[[header]]\npaths = [\"/echo\"]\nrequest = { set = { \"X-Asked\" = \"1\" }, remove = [\"X-Private\"] }\n\
                  response = { set = { \"Cache-Control\" = \"max-age=60\", \"X-Told\" = \"2\" } }\n";
    let proxy = Running::start(&format!("{site}{denied}{fields}"));
    let text = ask(proxy.address, "/text");
    assert!(text.starts_with("HTTP/1.1 403") && text.contains("a rule of this proxy"), "{text}");
    for evasion in ["//text", "/%74ext", "/x/../text"] {
        assert!(ask(proxy.address, evasion).starts_with("HTTP/1.1 403"), "{evasion}");
    }
    let echo = || {
        let head = "GET /echo HTTP/1.1\r\nHost: a.test\r\nX-Private: x\r\nConnection: close";
        proxy.raw(&format!("{head}\r\n\r\n"))
    };
    let (first, again) = (echo(), echo());
    assert!(first.contains("x-asked: 1") && !first.to_lowercase().contains("x-private"), "{first}");
    for answer in [&first, &again] {
        assert!(answer.contains("x-told: 2\r\n"), "{answer}");
    }
    assert!(again.contains("; hit"), "{again}");
    assert_eq!(origin.requests(), 1);
}

#[test]
fn browsers_find_their_configuration() {
    let proxy = Running::start("[pac]\nproxies = [\"PROXY p.test:8001-8020\"]\n");
    let answer = ask(proxy.address, "/proxy.pac");
    assert!(answer.contains("content-type: application/x-ns-proxy-autoconfig"), "{answer}");
    assert!(
        answer.contains("function FindProxyForURL") && answer.contains("\"PROXY p.test:8020\""),
        "{answer}"
    );
    let itself = Running::start("[pac]\n");
    let answer = raw(
        itself.address,
        "GET /proxy.pac HTTP/1.1\r\nHost: p.test:3128\r\nConnection: close\r\n\r\n",
    );
    assert!(answer.contains("\"PROXY p.test:3128\""), "{answer}");
}

#[test]
fn many_slow_clients_do_not_stop_others() {
    let origin = Origin::start();
    let proxy = Running::start(TEST_RULES);
    let idle: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = connect(proxy.address);
            stream.write_all(b"GET http://a.test/ HTTP/1.1\r\nX: ").unwrap();
            stream
        })
        .collect();
    assert!(proxy.get(&origin.url("/")).starts_with("HTTP/1.1 200"));
    drop(idle);
}
