//! Tunnels that end in the proxy, by a given certificate authority; curl is the client that trusts it.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::Desk;
use crate::origin::Origin;
use crate::others::{OVER_TLS, certificate, is_there, run};
use crate::running::{Running, TEST_RULES, connect, until};

const IN_CLEAR: &str = "[[listen]]\naddress = \"127.0.0.1:0\"\n";

/// An origin over TLS, and a proxy that terminates the tunnels to `hosts`.
struct Scene {
    proxy: Running,
    origin: Running,
    _behind: Origin,
}

impl Scene {
    fn new(hosts: &str, more: &str) -> Scene {
        let behind = Origin::start();
        let reverse = format!("[[reverse]]\norigins = [\"http://{}\"]\n", behind.address);
        let origin = Running::start_on(&reverse, OVER_TLS, certificate);
        let intercept = format!(
            "[intercept]\nca = \"ca/ca.pem\"\nkey = \"ca/ca-key.pem\"\nhosts = [{hosts}]\n\
             [cache]\nmemory = \"8MiB\"\n[log]\nfile = \"log\"\n{more}{TEST_RULES}"
        );
        let proxy = Running::start_on(&intercept, IN_CLEAR, |desk| {
            desk.farlink("proxy --new-ca ca").ok();
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../tls/assets/rsa-root.pem");
            desk.put("root.pem", std::fs::read(root).unwrap());
        });
        Scene { proxy, origin, _behind: behind }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.origin.address.port())
    }

    /// Arguments for a curl that trusts the authority in this file.
    fn arguments(&self, authority: &str, more: &[&str]) -> Vec<String> {
        let proxy = format!("http://{}", self.proxy.address);
        let authority = self.proxy.desk.path(authority).display().to_string();
        let base = ["-sS", "--max-time", "20", "--noproxy", "", "--suppress-connect-headers"];
        let by = ["--proxy", &proxy, "--cacert", &authority];
        let all = [&base[..], &by, more].concat();
        all.into_iter().map(str::to_owned).collect()
    }

    #[track_caller]
    fn curl(&self, authority: &str, more: &[&str]) -> String {
        let arguments = self.arguments(authority, more);
        run("curl", &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

const TRUST: &str = "[upstream]\ntrust = \"root.pem\"\n";

#[test]
fn what_is_inside_goes_the_way_of_all_requests() {
    if !is_there("curl") {
        return;
    }
    let scene = Scene::new("\"localhost\"", TRUST);
    let curl = |more: &[&str]| scene.curl("ca/ca.pem", more);
    let cached = scene.url("/cached");
    let told = "%{http_version}";
    let first = curl(&["--http2", "-i", "-w", told, &cached]);
    assert!(first.starts_with("HTTP/2 200") && first.ends_with("\r\n\r\n12"), "{first}");
    let second = curl(&["--http1.1", "-i", "-w", told, &cached]);
    assert!(second.ends_with("\r\n\r\n11.1") && second.contains("farlink; hit"), "{second}");
    for version in ["--http1.1", "--http2"] {
        let size = ["-o", "/dev/null", "-w", "%{size_download}"];
        assert_eq!(curl(&[&[version][..], &size, &[&scene.url("/big")]].concat()), "5000000");
        let echo = scene.url("/echo");
        assert!(curl(&[version, "-d", "abc", &echo]).ends_with("3 bytes"), "{version}");
        let status = ["-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: other.test"];
        assert_eq!(curl(&[&[version][..], &status, &[&echo]].concat()), "421", "{version}");
    }
    let lines = || scene.proxy.desk.read("log");
    until("it is logged", || lines().matches("\"intercepted\"").count() == 8);
    let log = lines();
    assert!(log.contains(&format!("\"{cached}\"")), "{log}");
    assert!(log.contains("\"passed\"") && log.contains("\"hit\""), "{log}");
}

#[test]
fn other_tunnels_are_passed_through_unread() {
    if !is_there("curl") {
        return;
    }
    let scene = Scene::new("\".a.test\", \"b.test\"", TRUST);
    let url = scene.url("/echo");
    assert!(scene.curl("root.pem", &[&url]).starts_with("GET /echo"));
    let refused = Command::new("curl").args(scene.arguments("ca/ca.pem", &[&url])).output();
    // curl's CURLE_PEER_FAILED_VERIFICATION: it is the origin's own certificate.
    assert_eq!(refused.unwrap().status.code(), Some(60));
}

#[test]
fn an_origin_that_nobody_vouches_for_is_not_passed_on() {
    if !is_there("curl") {
        return;
    }
    let scene = Scene::new("\"localhost\"", "");
    let answer = scene.curl("ca/ca.pem", &["--http1.1", "-i", &scene.url("/")]);
    let status = answer.rsplit("HTTP/1.1 ").next().unwrap();
    assert!(status.starts_with("502") && status.contains("UnknownIssuer"), "{answer}");
}

#[test]
fn an_idle_tunnel_does_not_hold_the_end_up() {
    let mut scene = Scene::new("\"localhost\"", "");
    let mut client = connect(scene.proxy.address);
    client.write_all(b"CONNECT localhost:8443 HTTP/1.1\r\nHost: localhost:8443\r\n\r\n").unwrap();
    let mut granted = [0; 19];
    client.read_exact(&mut granted).unwrap();
    assert_eq!(&granted, b"HTTP/1.1 200 OK\r\n\r\n");
    scene.proxy.signal("TERM");
    assert_eq!(client.read(&mut granted).unwrap(), 0);
    drop(client);
    assert!(scene.proxy.child.wait().unwrap().success());
    assert!(!scene.proxy.said().contains("cut off"), "{}", scene.proxy.said());
}

#[test]
fn an_authority_is_made_for_its_owner_alone() {
    let desk = Desk::new();
    desk.farlink("proxy --new-ca made").ok();
    let mode = |name: &str| std::fs::metadata(desk.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("made/ca-key.pem") & 0o777, 0o600);
    let before = desk.read("made/ca.pem");
    desk.farlink("proxy --new-ca made").refused(&["ca.pem already exists", "another directory"]);
    assert_eq!(desk.read("made/ca.pem"), before);
}

#[test]
fn mistakes_are_refused_with_their_place_and_a_remedy() {
    let desk = Desk::new();
    desk.farlink("proxy --new-ca one").ok();
    desk.farlink("proxy --new-ca two").ok();
    certificate(&desk);
    let check = |ca: &str, key: &str, more: &str| {
        let text = format!("[intercept]\nca = \"{ca}\"\nkey = \"{key}\"\n{more}");
        desk.put("proxy.toml", text);
        desk.farlink("proxy --check proxy.toml")
    };
    let hosts = "hosts = [\".a.test\", \"b.test\"]\n";
    let told = check("one/ca.pem", "one/ca-key.pem", hosts).ok();
    assert!(told.contains("intercepts tunnels to .a.test, b.test\n"), "{told}");
    check("one/ca.pem", "two/ca-key.pem", hosts).refused(&[
        "proxy.toml:3:7",
        "the key is not that of",
        "--new-ca",
    ]);
    check("chain.pem", "key.pem", hosts).refused(&[
        "proxy.toml:2:6",
        "is not an authority's",
        "CA:TRUE",
        "--new-ca",
    ]);
    check("one/ca-key.pem", "one/ca-key.pem", hosts).refused(&[
        "proxy.toml:2:6",
        "no readable certificate",
        "PEM",
    ]);
    check("one/ca.pem", "one/ca.pem", hosts).refused(&["proxy.toml:3:7", "no private key"]);
    check("none.pem", "key.pem", hosts).refused(&["proxy.toml:2:6", "cannot be read"]);
    check("one/ca.pem", "one/ca-key.pem", "hosts = []\n").refused(&[
        "proxy.toml:4:9",
        "no host is named",
        "www.example.com",
    ]);
    check("one/ca.pem", "one/ca-key.pem", "hosts = [\"*.a.test\"]\n").refused(&[
        "proxy.toml:4:",
        "`*.a.test` is not a host",
        ".example.com",
    ]);
    check("one/ca.pem", "one/ca-key.pem", "").refused(&["missing field `hosts`"]);
    check(
        "one/ca.pem",
        "one/ca-key.pem",
        &format!("{hosts}[forward]\nenabled = false\n[[reverse]]\norigins = [\"http://a\"]\n"),
    )
    .refused(&["proxy.toml:2:6", "forward proxy", "forward.enabled"]);
}
