//! The view and the measurements of programs inside.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::process::Command;

use super::{desk, inside, is_installed};
use crate::NETWORK;
use crate::common::Ran;

/// Attempts per measurement: a busy machine spoils one, not all.
const ATTEMPTS: usize = 5;

/// Repeats a measurement that farlink itself calls invalid, or that the machine's load spoilt.
#[track_caller]
fn measured<T: std::fmt::Debug>(
    measure: impl Fn() -> Ran,
    read: impl Fn(&str) -> T,
    good: impl Fn(&T) -> bool,
) {
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let ran = measure();
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let found = read(&ran.out);
        if good(&found) {
            return;
        }
        seen.push((found, ran.err));
    }
    panic!("{seen:?}");
}

#[test]
fn exit_codes_are_the_commands() {
    let Some(desk) = desk() else { return };
    assert_eq!(inside(&desk, &[], "exit 7").code, 7);
    assert_eq!(inside(&desk, &[], "kill -9 $$").code, 128 + 9);
    let ran = inside(&desk, &[], "echo out; echo err >&2");
    assert_eq!(ran.out, "out\n");
    assert!(ran.err.contains("err\n") && ran.err.contains("farlink: carried "), "{}", ran.err);
}

#[test]
fn a_program_sees_its_user_and_the_emulated_network() {
    let Some(desk) = desk() else { return };
    desk.put("mine.txt", "mine");
    let out = inside(&desk, &[], "cat mine.txt; id -u; ls -n new 2>&1 | head -c 0; touch new; \
         stat -c %u new; echo $FARLINK_NETWORK; grep server.farlink /etc/hosts | head -n 1; grep -c : /proc/net/dev").ok();
    let lines: Vec<&str> = out.lines().collect();
    let user = String::from_utf8(Command::new("id").arg("-u").output().unwrap().stdout).unwrap();
    let user = user.trim();
    assert_eq!(lines, [&format!("mine{user}"), user, NETWORK, "10.0.0.2 server.farlink", "2"]);
    assert!(desk.path("new").exists(), "files are the user's own");
}

#[test]
fn ping_measures_the_round_trip() {
    let Some(desk) = desk() else { return };
    if !is_installed("ping") {
        return;
    }
    let least = |out: &str| -> f64 {
        let times = out.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "));
        times.and_then(|times| times.split('/').next()?.parse().ok()).expect(out)
    };
    for name in ["server.farlink", "server6.farlink"] {
        let ping = format!("ping -c 5 -i 0.2 {name}");
        measured(|| inside(&desk, &[], &ping), least, |least| (40.0..41.0).contains(least));
    }
}

#[test]
fn networks_lie_one_behind_the_other() {
    let Some(desk) = desk() else { return };
    if !is_installed("ping") {
        return;
    }
    let far = ["--network", "rtt=30ms,down=100mbit,up=100mbit", "--log", "log.json"];
    let ran = inside(&desk, &far, "ping -c 3 -i 0.2 server.farlink");
    assert!(ran.ok().contains("time=7"), "40 + 30 ms");
    let log: serde_json::Value = serde_json::from_str(&desk.read("log.json")).unwrap();
    let names: Vec<_> = log["links"].as_array().unwrap().iter().map(|link| &link["name"]).collect();
    assert_eq!(names, ["up", "down", "hop/1/up", "hop/1/down"]);
    assert!(log["links"][2]["delivered_packets"].as_u64() >= Some(3));
}

#[test]
fn iperf_measures_the_rate() {
    let Some(desk) = desk() else { return };
    if !is_installed("iperf3") {
        return;
    }
    let rate = |out: &str| -> f64 {
        let report: serde_json::Value = serde_json::from_str(out).expect(out);
        report["end"]["sum_received"]["bits_per_second"].as_f64().expect(out)
    };
    // Payload: 1448 of 1500 bytes, and the time until the window has opened.
    measured(
        || inside(&desk, &["--server", "iperf3 -s"], "iperf3 -c server.farlink -R -t 3 -O 1 -J"),
        rate,
        |rate| (9.3e6..9.7e6).contains(rate),
    );
}

#[test]
fn losses_are_in_the_log_one_by_one() {
    let Some(desk) = desk() else { return };
    if !is_installed("ping") {
        return;
    }
    let network = "rtt=4ms,down=10mbit,up=10mbit,up.loss=30%";
    let log = |seed: &str| {
        let arguments = ["shell", "--network", network, "--seed", seed, "--log", "log.json"];
        let command = ["--", "ping", "-q", "-c", "60", "-i", "0.005", "server.farlink"];
        let ran = desk.run(&[&arguments[..], &command].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let log: serde_json::Value = serde_json::from_str(&desk.read("log.json")).unwrap();
        let drops = log["drops"].as_array().unwrap().len() as u64;
        assert_eq!(log["links"][0]["lost_packets"], drops);
        assert_eq!(log["links"][0]["delivered_packets"], 60 - drops);
        assert!(log["drops"].as_array().unwrap().iter().all(|drop| drop["cause"] == "loss"));
        drops
    };
    assert!((6..=33).contains(&log("1")), "30 % of 60, at five standard deviations");
    assert_eq!(log("1"), log("1"), "the same seed, the same losses");
}

#[test]
fn the_hosts_loopback_is_reachable_where_asked_for() {
    let Some(desk) = desk() else { return };
    if !is_installed("curl") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let len = stream.read(&mut request).unwrap();
        assert!(request[..len].starts_with(b"GET /x HTTP/1.1\r\nHost: server.farlink:81\r\n"));
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nfrom the host").unwrap();
        // A half-close marks the end.
        stream.shutdown(Shutdown::Write).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    });
    let open = format!("{port}=81");
    let curl = "curl -sS -w ' %{time_connect}' http://server.farlink:81/x";
    let out = inside(&desk, &["--host-loopback", &open], curl).ok();
    server.join().unwrap();
    let connect: f64 = out.strip_prefix("from the host ").expect(&out).parse().unwrap();
    assert!(connect >= 0.040, "through the links: {connect}");
    let refused = inside(&desk, &[], &format!("curl -sS http://server.farlink:{port}/"));
    assert_eq!(refused.code, 7, "not where nobody asked for it");
}

/// Answers every request with a page that writes the browser's measurements into itself.
fn serve_timings(listener: TcpListener) {
    const PAGE: &str = "<p id=p></p><script>const [n] = performance.getEntriesByType('navigation');\
        p.textContent = `answer ${n.responseStart - n.requestStart} ms`</script>";
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // A preconnection of the browser sends nothing.
            std::thread::spawn(move || {
                if stream.read(&mut [0; 4096]).is_ok_and(|len| len > 0) {
                    let head = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n";
                    let _ = stream.write_all(format!("{head}{PAGE}").as_bytes());
                }
            });
        }
    });
}

#[test]
fn chromium_measures_the_round_trip() {
    let Some(desk) = desk() else { return };
    if !is_installed("chromium") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = format!("{}=80", listener.local_addr().unwrap().port());
    serve_timings(listener);
    // Chromium's own sandbox works inside, but Chromium refuses to run as root with it.
    let chromium = "test $(id -u) = 0 && no=--no-sandbox; chromium $no --headless=new --disable-gpu \
        --user-data-dir=profile --dump-dom http://server.farlink/ 2>errors || { cat errors; exit 1; }";
    let answer = |out: &str| -> f64 {
        let rest = out.split("<p id=\"p\">answer ").nth(1).expect(out);
        rest.split(" ms").next().and_then(|number| number.parse().ok()).expect(out)
    };
    measured(
        || inside(&desk, &["--host-loopback", &open], chromium),
        answer,
        |answer| (40.0..50.0).contains(answer),
    );
}

#[test]
fn servers_that_do_not_come_up_are_told() {
    let Some(desk) = desk() else { return };
    // The loopback's port listens from the beginning, and does not indicate the server's readiness.
    let open = ["--host-loopback", "9", "--server", "sleep 0.3; exit 5"];
    inside(&desk, &open, "echo started").refused(&["exit status: 5"]);
    let ran = inside(&desk, &["--server", "exit 4"], "echo started");
    ran.refused(&["the server command exited before it listened: exit status: 4"]);
}
