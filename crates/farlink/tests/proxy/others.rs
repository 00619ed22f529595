//! Third-party clients: curl and nghttp, if installed.

use std::process::Command;

use crate::common::Desk;
use crate::origin::{Origin, text};
use crate::running::{Running, TEST_RULES, forward};

pub fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {program} is not installed");
    }
    found
}

#[track_caller]
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Listens over TLS with the test certificate.
pub const OVER_TLS: &str = "[[listen]]\naddress = \"127.0.0.1:0\"\ntls = { certificate = \"chain.pem\", key = \"key.pem\" }\n";

pub fn certificate(desk: &Desk) {
    let assets = concat!(env!("CARGO_MANIFEST_DIR"), "/../tls/assets");
    for (name, file) in [("chain.pem", "rsa-chain.pem"), ("key.pem", "rsa-key.pem")] {
        desk.put(name, std::fs::read(format!("{assets}/{file}")).unwrap());
    }
}

#[test]
fn curl_asks_over_clear_and_tls_proxies() {
    if !is_there("curl") {
        return;
    }
    let (clear, origin) = forward("");
    let secure = Running::start_on(TEST_RULES, OVER_TLS, certificate);
    for proxy in [format!("http://{}", clear.address), format!("https://{}", secure.address)] {
        let curl = |more: &[&str]| {
            let base = ["-sS", "--max-time", "20", "--proxy-insecure", "--proxy", &proxy];
            run("curl", &[&base[..], more].concat())
        };
        assert!(curl(&[&origin.url("/")]).starts_with("hello"));
        assert_eq!(
            curl(&["-o", "/dev/null", "-w", "%{size_download}", &origin.url("/big")]),
            "5000000"
        );
        assert!(curl(&["-d", "abc", &origin.url("/echo")]).ends_with("3 bytes"));
        assert!(
            curl(&["-H", "Transfer-Encoding: chunked", "-d", "abcd", &origin.url("/echo")])
                .ends_with("4 bytes")
        );
        // Through a tunnel.
        assert!(curl(&["-p", &origin.url("/echo")]).starts_with("GET /echo HTTP/1.1\r\n"));
        assert_eq!(
            curl(&["-I", "-o", "/dev/null", "-w", "%{http_code}", &origin.url("/big")]),
            "200"
        );
    }
}

#[test]
fn curl_decodes_what_the_proxy_compresses() {
    if !is_there("curl") {
        return;
    }
    let origin = Origin::start();
    let reverse =
        format!("[compression]\n[[reverse]]\norigins = [\"http://{}\"]\n", origin.address);
    let proxy = Running::start_on(&reverse, OVER_TLS, certificate);
    let url = format!("https://{}/text", proxy.address);
    for version in ["--http1.1", "--http2"] {
        for coding in ["gzip", "br", "zstd"] {
            let accept = format!("Accept-Encoding: {coding}");
            let curl = |more: &[&str]| {
                let base = ["-sSk", "--max-time", "20", version, "-H", &accept, &url];
                run("curl", &[&base[..], more].concat())
            };
            let sent =
                curl(&["-o", "/dev/null", "-w", "%{size_download} %header{content-encoding}"]);
            let (bytes, sent_coding) = sent.split_once(' ').unwrap();
            assert_eq!(sent_coding, coding);
            assert!(bytes.parse::<usize>().unwrap() * 3 < text().len(), "{coding}: {bytes}");
            let has = run("curl", &["--version"]);
            let name = if coding == "br" { "brotli" } else { coding };
            if name == "gzip" || has.contains(name) {
                assert_eq!(curl(&["--compressed"]), text(), "{version} {coding}");
            }
        }
    }
}

#[test]
fn nghttp_and_curl_ask_a_reverse_proxy_over_http2() {
    let origin = Origin::start();
    let reverse = format!("[[reverse]]\norigins = [\"http://{}\"]\n", origin.address);
    let proxy = Running::start_on(&reverse, OVER_TLS, certificate);
    let url = |path: &str| format!("https://{}{path}", proxy.address);
    if is_there("nghttp") {
        let said = run("nghttp", &["-nv", "--no-verify-peer", &url("/big"), &url("/echo")]);
        assert_eq!(said.matches(":status: 200").count(), 2, "{said}");
    }
    if is_there("curl") {
        let curl = |more: &[&str]| run("curl", &[&["-sSk", "--max-time", "20"], more].concat());
        assert_eq!(
            curl(&["-o", "/dev/null", "-w", "%{http_version} %{size_download}", &url("/big")]),
            "2 5000000"
        );
        assert!(curl(&["-d", "abc", &url("/echo")]).ends_with("3 bytes"));
        assert!(curl(&["--http1.1", &url("/echo")]).contains("x-forwarded-proto: https"));
    }
}

#[test]
fn origins_over_tls_must_be_who_they_are() {
    if !is_there("curl") {
        return;
    }
    // A farlink as origin over TLS, behind one that trusts its certificate and one that does not.
    let inner = Origin::start();
    let reverse = format!("[[reverse]]\norigins = [\"http://{}\"]\n", inner.address);
    let origin = Running::start_on(&reverse, OVER_TLS, certificate);
    let outer = |more: &str| {
        Running::start(&format!("[[reverse]]\norigins = [\"https://{}\"]\n{more}", origin.address))
    };
    let answer = outer("").raw("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 502") && answer.contains("error=tls_protocol_error"),
        "{answer}"
    );
}
