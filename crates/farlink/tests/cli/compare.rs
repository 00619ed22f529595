//! `farlink compare`: pages before and after, and runs.

use crate::common::Desk;
use serde_json::{Value, json};

fn har(entries: &[(&str, u64)]) -> String {
    let entry = |(path, bytes): &(&str, u64)| {
        let kind = if path.ends_with('/') { "text/html" } else { "image/png" };
        json!({
            "startedDateTime": "2026-01-01T00:00:00Z", "time": 50,
            "request": {"method": "GET", "url": format!("https://a.test{path}"), "headers": []},
            "response": {
                "status": 200, "headers": [{"name": "content-type", "value": kind}], "bodySize": bytes,
                "content": {"mimeType": kind, "size": bytes},
            },
            "timings": {"wait": 20, "receive": 30},
        })
    };
    json!({"log": {"entries": entries.iter().map(entry).collect::<Vec<_>>()}}).to_string()
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("one.har", har(&[("/", 20_000), ("/a.png", 90_000), ("/b.png", 40_000)]));
    desk.put("two.har", har(&[("/", 20_000), ("/a.png", 300_000), ("/c.png", 40_000)]));
    desk
}

const PAGES: &str = "compare one.har~as-recorded two.har~as-recorded --network 3g";

#[test]
fn pages_are_compared_object_by_object_and_load_by_load() {
    let desk = desk();
    let ran = desk.farlink(&format!("{PAGES} --protocol h1,h2 -n 6"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let out = &ran.out;
    let first = out.lines().next().unwrap();
    assert!(
        first.starts_with("Load time: more after than before in 2 of 2 arms; at most +"),
        "{out}"
    );
    let row = |what: &str| {
        let found = out.lines().find(|line| line.starts_with(what));
        let row = found.unwrap_or_else(|| panic!("{what}: {out}"));
        row.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("resized"), "resized 90 KB 300 KB https://a.test/a.png");
    assert_eq!(row("added"), "added - 40 KB https://a.test/c.png");
    assert_eq!(row("removed"), "removed 40 KB - https://a.test/b.png");
    assert!(row("h1 ").ends_with(" more") && row("h2 ").ends_with(" more"), "{out}");
    assert!(!out.contains("setting changed"), "the pages were named: {out}");

    let report = desk.farlink(&format!("{PAGES} --protocol h2 -n 6 --report both.html"));
    assert_eq!(report.code, 0, "{}", report.err);
    let html = desk.read("both.html");
    assert!(html.contains("<div id=\"beside\">"), "waterfalls side by side");
    assert!(
        html.contains("https://a.test/b.png") && html.contains("https://a.test/c.png"),
        "of both"
    );
    let refused = desk.farlink("compare one.har one.har --network 3g -n 2 --report same.html");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("both sides have the same page and settings"), "{}", refused.err);
    assert!(!desk.names().contains(&"same.html".to_owned()));

    let same =
        desk.farlink("compare one.har~as-recorded one.har~as-recorded --network 3g -n 6").ok();
    assert!(same.contains("no certain difference in 2 arms"), "{same}");
    assert!(same.contains("The objects are the same.") && !same.contains(" more"), "{same}");
}

#[test]
fn rows_are_json_and_budgets_have_two_arms() {
    let desk = desk();
    let budgets = ["--assert", "after <= before * 1.05", "--assert", "after.bytes < 1MB on h2"];
    let options = format!("{PAGES} --protocol h1,h2 -n 6 --json");
    let arguments: Vec<&str> = options.split_whitespace().chain(budgets).collect();
    let ran = desk.run(&arguments);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let rows = crate::common::json_lines(&ran.out);
    let plt: Vec<&Value> = rows.iter().filter(|row| row["metric"] == "plt").collect();
    assert_eq!(plt.len(), 2);
    for row in plt {
        let number = |key: &str| row[key].as_f64().unwrap();
        let change = number("after") / number("before") - 1.0;
        assert!((number("change") - change).abs() < 1e-12, "{row}");
        let interval = row["interval"].as_array().unwrap();
        assert!(interval[0].as_f64().unwrap() <= change && change <= interval[1].as_f64().unwrap());
        assert_eq!((&row["paired"], &row["verdict"]), (&json!(true), &json!("more")));
    }
    let kept = ran.err.matches("budget kept    after h2: after.bytes < 1MB on h2").count();
    assert_eq!((kept, ran.err.matches("budget broken  after h").count()), (1, 2), "{}", ran.err);
}

#[test]
fn runs_are_compared_arm_by_arm() {
    let desk = desk();
    let grid = |name: &str, seed: u64, protocols: &str| {
        desk.put(
            &format!("{name}.toml"),
            format!(
                "format = 1\nname = \"{name}\"\nrepetitions = 6\nseed = {seed}\n[page]\nname = \"one.har~as-recorded\"\n\
                 [network]\nbase = \"3g\"\n[stack]\nprotocol = [{protocols}]\n"
            ),
        );
        desk.farlink(&format!("run {name}.toml")).ok();
    };
    grid("first", 1, "\"h1\", \"h2\"");
    grid("second", 77, "\"h2\", \"h3\"");
    let out = desk.farlink("compare farlink.sqlite#1 farlink.sqlite#2").ok();
    assert!(out.contains("note: only before: h1") && out.contains("note: only after: h3"), "{out}");
    assert!(out.contains("p = ") && out.contains("delta = "), "other seeds do not pair: {out}");
    let out = desk.farlink("compare farlink.sqlite#1 farlink.sqlite#1").ok();
    assert!(out.contains("no certain difference in 2 arms"), "{out}");

    desk.put("grid.toml", desk.read("first.toml").replace("\"first\"", "\"grid\""));
    desk.farlink("run grid.toml --set network.rtt=900ms").ok();
    let out = desk.farlink("compare farlink.sqlite#1 farlink.sqlite").ok();
    assert!(out.contains("setting changed: network"), "{out}");
    assert!(out.contains("Load time: more after than before in 2 of 2 arms"), "{out}");
}

#[test]
fn comparisons_that_mean_nothing_are_refused() {
    let desk = desk();
    let refused = |arguments: &str, parts: &[&str]| drop(desk.farlink(arguments).refused(parts));
    refused("compare one.har no.har", &["no.har"]);
    desk.put("grid.toml", "format = 1\nname = \"g\"\nrepetitions = 1\n[page]\nname = \"one.har~as-recorded\"\n[network]\nbase = \"3g\"\n");
    desk.farlink("run grid.toml").ok();
    refused("compare farlink.sqlite one.har", &["nothing in common"]);
    refused("compare farlink.sqlite#9 farlink.sqlite", &["contains no run 9"]);
    refused("compare farlink.sqlite#x farlink.sqlite", &["`x` is not the number of a run"]);
    refused(
        "compare farlink.sqlite farlink.sqlite --network 3g",
        &["compared as they were loaded"],
    );
}
