//! `farlink run`, `report` and `runs`: an experiment from its file to an HTML page.

use crate::common::{Desk, digest, experiment};

/// Runs the experiment on a separate desk and returns the digest of the store.
fn digest_of(arguments: &str) -> String {
    let desk = Desk::new();
    desk.put("e.toml", experiment(3));
    desk.farlink(&format!("run e.toml {arguments}")).ok();
    digest(&desk.sqlite("farlink.sqlite"), 1).expect("the run is complete")
}

#[test]
fn every_process_and_any_number_of_workers_store_the_same() {
    let first = digest_of("-j 1");
    assert_eq!(first.len(), 64);
    assert_eq!(first, digest_of("-j 1"));
    assert_eq!(first, digest_of("-j 2"));
    assert_eq!(first, digest_of("-j 2 --set order=random --set name=else"));
    assert_ne!(first, digest_of("-j 2 --set seed=2"), "so that this test can fail");
}

#[test]
fn a_run_ends_in_a_report_that_opens_anywhere() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(2));
    let ran = desk.farlink("run e.toml --store s.sqlite");
    let last = ran.out.lines().last().unwrap_or_default();
    assert_eq!((ran.code, last), (0, "farlink report 1 --store s.sqlite -o report.html"));
    // The answer under each of both conditions, as `load` prints it.
    assert!(ran.out.contains("rtt=20ms") && ran.out.contains("rtt=100ms"), "{}", ran.out);
    assert_eq!(ran.out.matches("median PLT").count(), 2, "{}", ran.out);
    assert!(ran.out.starts_with("Load time: "), "over both conditions: {}", ran.out);
    assert!(ran.err.contains("run 1 complete: 8 journeys, digest "), "{}", ran.err);

    let command: Vec<&str> = last.split_whitespace().skip(1).collect();
    let ran = desk.run(&[&command[..], &["--har", "hars"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    desk.farlink("export --store s.sqlite --csv v.csv").ok();
    let report = desk.read("report.html");
    assert!(report.starts_with("<!doctype html>") || report.starts_with("<!DOCTYPE html>"));
    assert!(report.contains("farlink run e.toml --store s.sqlite"), "how to run it again");
    assert!(!report.contains("src=\"http"), "nothing is loaded from anywhere");
    let csv = desk.read("v.csv");
    assert_eq!(csv.lines().count(), 1 + 8);
    let hars = std::fs::read_dir(desk.path("hars")).unwrap().count();
    assert_eq!(hars, 8);
    let har = desk.read("hars/run1-journey0-visit0.har");
    let har: serde_json::Value = serde_json::from_str(&har).unwrap();
    assert_eq!(har["log"]["entries"].as_array().unwrap().len(), 13);
    assert_eq!(desk.names(), ["e.toml", "hars", "report.html", "s.sqlite", "v.csv"]);
}

#[test]
fn what_is_measured_is_not_measured_again_unless_asked() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(1));
    desk.farlink("run e.toml").ok();
    let finished = |desk: &Desk| -> String {
        let row = "SELECT finished_at FROM run WHERE id = 1";
        desk.sqlite("farlink.sqlite").query_row(row, [], |row| row.get(0)).unwrap()
    };
    let before = finished(&desk);
    let ran = desk.farlink("run e.toml");
    assert_eq!((ran.code, ran.out.lines().last()), (0, Some("farlink report 1 -o report.html")));
    assert!(ran.err.contains("as run 1 (--again repeats it)"), "{}", ran.err);
    assert_eq!(finished(&desk), before);

    let ran = desk.farlink("run e.toml --again");
    assert_eq!((ran.code, ran.out.lines().last()), (0, Some("farlink report 2 -o report.html")));
    let store = desk.sqlite("farlink.sqlite");
    assert_eq!(digest(&store, 1), digest(&store, 2));
}

#[test]
fn a_key_is_set_from_the_command_line_and_kept() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(1));
    let arguments =
        ["run", "e.toml", "--set", "network.rtt=600ms", "--set", "stack.protocol=[\"h2\"]"];
    desk.run(&arguments).ok();
    let store = desk.sqlite("farlink.sqlite");
    let (journeys, text, command): (u64, String, String) = store
        .query_row("SELECT journeys, experiment, command FROM run", [], |row| {
            Ok((row.get::<_, i64>(0)? as u64, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(journeys, 1);
    assert!(text.contains("rtt = \"600ms\""), "{text}");
    assert_eq!(
        command,
        "farlink run e.toml --set network.rtt=600ms --set 'stack.protocol=[\"h2\"]'"
    );
}

#[test]
fn runs_are_listed_with_their_digests() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(1));
    desk.farlink("run e.toml --store s.sqlite").ok();
    let whole = digest(&desk.sqlite("s.sqlite"), 1).unwrap();
    let out = desk.farlink("runs --store s.sqlite").ok();
    let text: Vec<&str> = out.lines().collect();
    assert_eq!(
        text[0].split_whitespace().collect::<Vec<_>>().join(" "),
        "run name state journeys reps seed started digest"
    );
    let cells: Vec<&str> = text[1].split_whitespace().collect();
    assert_eq!(cells[..6], ["1", "test", "complete", "4/4", "1", "1"]);
    assert_eq!(cells[7], &whole[..16]);
    assert_eq!(text.len(), 2);
}

#[test]
fn two_runs_into_one_store_do_not_meet() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(1));
    desk.farlink("run e.toml").ok();
    // A process that runs into a store holds this lock until it ends.
    let held = std::fs::File::open(desk.path("farlink.sqlite")).unwrap();
    held.lock().unwrap();
    let ran = desk.farlink("run e.toml --again");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("another farlink process is using farlink.sqlite"), "{}", ran.err);
    // Closing is not enough: a process that another test is starting may have the file as well for a moment.
    held.unlock().unwrap();
    desk.farlink("run e.toml --again").ok();
}

#[test]
fn a_har_is_no_experiment() {
    let desk = Desk::new();
    desk.put("shop.har", r#"{"log": {"entries": []}}"#);
    let parts = &["shop.har is a HAR, not an experiment", "farlink load shop.har"];
    desk.farlink("run shop.har").refused(parts);
}

#[test]
fn combinations_that_cannot_be_are_left_out_and_told() {
    let desk = Desk::new();
    let text = experiment(1).replacen("format = 1", "format = 1\nroute = [\"direct\", \"pep\"]", 1);
    desk.put("e.toml", text.replace("[\"h1\", \"h2\"]", "[\"h2\", \"h3\"]"));
    let out = desk.farlink("run e.toml").ok();
    assert!(
        out.contains(
            "2 combinations are left out (the first: rtt 20ms, route pep, protocol h3): a PEP"
        ),
        "{out}"
    );
    desk.farlink("report -o report.html").ok();
    assert!(desk.read("report.html").contains("2 combinations are left out"));
}

/// A store that keeps visits alone has no requests and connections to count, but their numbers.
#[test]
fn tables_of_visits_alone_are_those_of_everything() {
    let desk = Desk::new();
    desk.put("e.toml", experiment(2));
    let tables = |keep: &str| {
        desk.farlink(&format!("run e.toml --store {keep}.sqlite --set keep={keep}")).out
    };
    let visits = tables("visits");
    assert!(visits.contains("retrans"), "{visits}");
    assert_eq!(visits.replace("visits.sqlite", "all.sqlite"), tables("all"));
}
