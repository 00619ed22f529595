//! Pages over recorded rates: links that stall, and files that are edited.

use crate::common::{Desk, experiment};

/// Settings of a network whose downlink follows `trace.txt`.
const NETWORK: &str = "rtt=40ms,up=5mbit,down.trace=trace.txt";

/// The failure of every load of `page` over that network.
#[track_caller]
fn fails(trace: &str, network: &str, page: &str) -> String {
    let desk = Desk::new();
    desk.put("trace.txt", trace);
    let ran = desk.run(&["load", page, "-n", "2", "--network", network]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(!ran.err.contains("panicked") && !ran.out.contains("invariant"), "{}", ran.err);
    assert!(ran.out.contains("failed: h1: ") && ran.out.contains("failed: h2: "), "{}", ran.out);
    ran.out
}

#[test]
fn a_link_that_never_moves_fails_the_visit_by_name() {
    let out = fails("0 0\n1 0\n", NETWORK, "synthetic:3x10KB");
    assert!(out.contains("the link `down` stood still: trace.txt has no rate above zero"), "{out}");
}

#[test]
fn a_recording_that_ends_fails_the_visit_by_name() {
    let instants: Vec<String> = (1..=4000).map(|ms| ms.to_string()).collect();
    let out = fails(&instants.join("\n"), &format!("{NETWORK} once"), "synthetic:100x100KB");
    assert!(out.contains("had not loaded after 600 s"), "{out}");
    let why = "the link `down` stood still from 4 s on: trace.txt ended there and is not repeated";
    assert!(out.contains(why), "{out}");
}

/// The same network in a file, which names the recording.
const FILE: &str = "rtt = \"40ms\"\nup = \"5mbit\"\n\n[down]\ntrace = \"trace.txt\"\n";

/// An experiment over that network.
fn experiment_over_trace() -> String {
    let (start, end) = ("base = \"cable\"\nrtt = [\"20ms\", \"100ms\"]\n", "loss = \"1%\"\n");
    experiment(1).replace(&format!("{start}{end}"), "base = \"walk.toml\"\n")
}

#[test]
fn a_run_over_a_link_that_never_moves_ends() {
    let desk = Desk::new();
    desk.put("trace.txt", "0 0\n1 0\n");
    desk.put("e.toml", experiment_over_trace());
    desk.put("walk.toml", FILE);
    let ran = desk.farlink("run e.toml");
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

/// Every cell's network in the latest run.
fn digests(desk: &Desk) -> Vec<String> {
    let store = desk.sqlite("farlink.sqlite");
    let mut query =
        store.prepare("SELECT scenario FROM journey ORDER BY run_id, position").unwrap();
    let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn an_edited_recording_is_another_cell() {
    let desk = Desk::new();
    desk.put("e.toml", experiment_over_trace());
    desk.put("walk.toml", FILE);
    desk.put("trace.txt", "0 3\n1 4\n");
    desk.farlink("run e.toml").ok();
    let first = digests(&desk);
    desk.put("trace.txt", "0 3\n1 5\n");
    desk.farlink("run e.toml").ok();
    let both = digests(&desk);
    assert!(both.len() > first.len() && !both[first.len()..].contains(&first[0]));
}
