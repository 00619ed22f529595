//! `farlink record --no-browser`: a proxy that keeps what passes through it.

use std::io::Write;

use crate::common::{Desk, Ran, send_signal};
use crate::origin::Origin;
use crate::others::{OVER_TLS, certificate, is_there};
use crate::running::{Running, connect, try_raw, until};

/// Runs a script of sh as the client.
fn record(desk: &Desk, options: &str, script: &str) -> Ran {
    let record = format!("record --no-browser {options} --");
    let arguments: Vec<&str> = record.split_whitespace().chain(["sh", "-c", script]).collect();
    desk.run(&arguments)
}

fn listed(desk: &Desk, file: &str) -> Vec<Vec<String>> {
    let listed = desk.farlink(&format!("archive ls {file}")).ok();
    let rows = listed.lines().filter(|line| line.contains("http://") || line.contains("https://"));
    let words = |row: &str| row.split_whitespace().map(str::to_owned).collect();
    rows.map(words).collect()
}

#[test]
fn a_command_is_led_through_the_proxy_and_its_exchanges_kept() {
    if !is_there("curl") {
        return;
    }
    let (desk, origin) = (Desk::new(), Origin::start());
    let url = |path| origin.url(path);
    let script = format!(
        "curl -sS -H 'Cookie: id=secret' {} && curl -sS -d abc {} -o /dev/null; curl -sS {} || :
         curl -sS {} -o /dev/null; exit 3",
        url("/chunked"),
        url("/echo?token=1"),
        url("/dies"),
        url("/big"),
    );
    let ran = record(&desk, "-o one.wacz", &script);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("the command ended with exit code 3"), "{}", ran.err);
    assert!(ran.err.contains("recorded 4 requests of 1 page"), "{}", ran.err);
    let told = format!("1 failed, the first: {}", url("/dies"));
    assert!(ran.err.contains(&told), "{}", ran.err);
    assert!(ran.out.starts_with("abcdef"), "{}", ran.out);
    assert_eq!(desk.names(), ["one.wacz"], "nothing else is left");
    let rows = listed(&desk, "one.wacz");
    let ends: Vec<&str> = rows.iter().map(|row| row.last().unwrap().as_str()).collect();
    let urls = [url("/chunked"), url("/echo?token=1"), url("/dies"), url("/big")];
    assert_eq!(ends, urls.iter().map(String::as_str).collect::<Vec<_>>());
    let cat = |path| desk.farlink(&format!("archive cat one.wacz {}", url(path))).ok();
    assert_eq!(cat("/chunked"), "abcdef");
    assert_eq!(cat("/big").len(), 5_000_000);
    let echo = cat("/echo?token=1");
    assert!(echo.contains("3 bytes") && !echo.to_lowercase().contains("via:"), "{echo}");
    desk.farlink("archive import one.wacz -o one.har --keep-credentials").ok();
    let har = desk.read("one.har");
    assert!(har.contains("\"xxxxxxxxx\"") && !har.contains("secret"), "redacted");
    assert!(har.contains("\"text\": \"abc\""), "the request's body");
}

#[test]
fn tunnels_end_in_the_proxy_and_the_command_trusts_it() {
    if !is_there("curl") {
        return;
    }
    let behind = Origin::start();
    let reverse = format!("[[reverse]]\norigins = [\"http://{}\"]\n", behind.address);
    let origin = Running::start_on(&reverse, OVER_TLS, certificate);
    let url = format!("https://localhost:{}/object/7", origin.address.port());
    let desk = Desk::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../tls/assets/rsa-root.pem");
    desk.put("root.pem", std::fs::read(root).unwrap());
    let script = format!("curl -sS -o body -w '%{{http_version}}' {url}");
    let ran = record(&desk, "--trust root.pem -o one.warc.gz", &script);
    assert_eq!((ran.code, ran.out.as_str()), (0, "2"), "{}", ran.err);
    let row = listed(&desk, "one.warc.gz").remove(0);
    assert!(row.contains(&"h2".to_owned()) && row.contains(&url), "{row:?}");
    let body = desk.farlink(&format!("archive cat one.warc.gz {url}")).ok();
    assert_eq!(body, desk.read("body"));
    let ran = record(&desk, "-o two.wacz", &format!("curl -sS {url} -o /dev/null"));
    assert!(ran.err.contains("certificate"), "{}", ran.err);
    assert!(ran.err.contains("hint: for certificates of your own, --trust FILE"), "{}", ran.err);
}

/// A recorder without a command.
fn running() -> Running {
    let desk = Desk::new();
    desk.put("proxy.toml", "");
    let options = "record --no-browser --listen 127.0.0.1:0 --ca ca -o site.wacz";
    let command = desk.command(&options.split_whitespace().collect::<Vec<_>>());
    Running::begin(desk, command)
}

#[test]
fn a_recorder_that_is_killed_leaves_what_had_ended() {
    let origin = Origin::start();
    let mut recorder = running();
    for path in ["/object/1", "/object/2"] {
        assert!(recorder.get(&origin.url(path)).starts_with("HTTP/1.1 200"));
    }
    // The third is under way.
    let mut client = connect(recorder.address);
    let slow = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", origin.url("/stalls"));
    client.write_all(slow.as_bytes()).unwrap();
    until("two are written", || {
        recorder.desk.farlink("archive ls site.warc.gz").out.matches("/object/").count() == 2
    });
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    let desk = &recorder.desk;
    assert_eq!(listed(desk, "site.warc.gz").len(), 2);
    // What is left is not written over.
    let again = desk.farlink("record --no-browser -o site.wacz -- true");
    let said = again.refused(&["site.warc.gz already exists", "killed"]);
    assert!(said.contains("hint:"), "{said}");
    desk.farlink("archive import site.warc.gz -o site.wacz").ok();
    assert_eq!(listed(desk, "site.wacz").len(), 2);
}

#[test]
fn ctrl_c_packs_the_recording() {
    let origin = Origin::start();
    let mut recorder = running();
    assert!(recorder.get(&origin.url("/object/1")).starts_with("HTTP/1.1 200"));
    send_signal(&recorder.child, "INT");
    assert_eq!(recorder.child.wait().unwrap().code(), Some(0), "{}", recorder.said());
    assert!(try_raw(recorder.address, "").is_err(), "it is gone");
    assert_eq!(recorder.desk.names(), ["ca", "proxy.toml", "site.wacz"]);
    assert_eq!(listed(&recorder.desk, "site.wacz").len(), 1);
}

#[test]
fn recordings_that_cannot_be_are_refused() {
    let refused = |arguments: &str, parts: &[&str]| crate::common::refuses(arguments, parts);
    refused("record --no-browser -o a.har -- true", &["--output a.har", "WACZ"]);
    refused("record --no-browser -o no/a.wacz -- true", &["no such directory: no"]);
    refused("record --no-browser --listen 0.0.0.0:0 -o a.wacz -- true", &["serve anybody"]);
    refused("record --no-browser -o a.wacz -- true", &["nothing passed through the proxy"]);
    refused("record --no-browser -o a.wacz -- no-such-command", &["cannot run no-such-command"]);
    refused("record --no-browser --trust no.pem -o a.wacz -- true", &["--trust no.pem"]);
}

#[test]
fn a_full_disk_ends_the_recording_with_what_it_has() {
    if !is_there("curl") {
        return;
    }
    let (desk, origin) = (Desk::new(), Origin::start());
    // The file may grow to 100 blocks of 1,024 bytes.
    let script = format!(
        "ulimit -f 100; exec \"$0\" record --no-browser -o one.wacz -- sh -c '
            curl -sS {} -o /dev/null; curl -sS {} -o /dev/null'",
        origin.url("/object/1"),
        origin.url("/large-cached"),
    );
    let mut command = std::process::Command::new("bash");
    command.arg("-c").arg(script).arg(crate::common::program()).current_dir(desk.path(""));
    let ran = Ran::new(&command.output().unwrap());
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("cannot go on recording to one.warc.gz"), "{}", ran.err);
    assert_eq!(listed(&desk, "one.warc.gz").len(), 1);
}
