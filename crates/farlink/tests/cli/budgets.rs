//! Budgets: `--assert`, files of them, and their reports.

use crate::common::Desk;

/// A page of two objects, as a HAR.
fn desk() -> Desk {
    let desk = Desk::new();
    let entry = |path: &str, kind: &str, bytes: u64| {
        serde_json::json!({
            "startedDateTime": "2026-01-01T00:00:00Z", "time": 50,
            "request": {"method": "GET", "url": format!("https://a.test{path}"), "headers": []},
            "response": {
                "status": 200, "headers": [{"name": "content-type", "value": kind}], "bodySize": bytes,
                "content": {"mimeType": kind, "size": bytes},
            },
            "timings": {"wait": 20, "receive": 30},
        })
    };
    let entries = [entry("/", "text/html", 20_000), entry("/a.png", "image/png", 90_000)];
    desk.put("page.har", serde_json::json!({"log": {"entries": entries}}).to_string());
    desk
}

const LOAD: &str = "load page.har~as-recorded --protocol h1,h2 -n 3";

fn load(desk: &Desk, more: &[&str]) -> crate::common::Ran {
    desk.run(&LOAD.split_whitespace().chain(more.iter().copied()).collect::<Vec<_>>())
}

fn judgements(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("budget ")).collect()
}

#[test]
fn kept_budgets_are_told_and_broken_ones_fail() {
    let desk = desk();
    let kept = ["--assert", "plt.p90 < 60s", "--assert", "failed <= 1%"];
    let ran = load(&desk, &[&["--network", "3g"][..], &kept].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told = judgements(&ran.out);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told.iter().all(|line| line.starts_with("budget kept")), "{told:?}");

    // Of each arm and network, unless one is named.
    let ran = load(&desk, &["--network", "3g", "--network", "4g", "--assert", "bytes < 1KB"]);
    assert_eq!((ran.code, judgements(&ran.out).len()), (1, 4), "{}", ran.out);
    assert!(judgements(&ran.out)[0].contains(", not < 1 KB"), "{}", ran.out);
    let ran =
        load(&desk, &["--network", "3g", "--network", "4g", "--assert", "h2.plt.max < 1ms on 4g"]);
    let told = judgements(&ran.out);
    assert_eq!((ran.code, told.len()), (1, 1));
    assert!(told[0].starts_with("budget broken  h2 4g: "), "{told:?}");

    // Arms beside each other: one of two opposite budgets holds.
    let opposite = ["--assert", "h1 < h2 * 1.0", "--assert", "h2 <= h1"];
    let ran = load(&desk, &[&["--network", "3g"][..], &opposite].concat());
    let kept = judgements(&ran.out).iter().filter(|line| line.contains("kept")).count();
    assert_eq!((ran.code, kept), (1, 1), "{}", ran.out);
}

#[test]
fn budgets_come_from_files_and_go_to_reports() {
    let desk = desk();
    desk.put("budgets.toml", "# Mobile\nassert = [\n  \"plt < 1ms\",\n  \"h1 <= 60s\",\n]\n");
    let reported = ["--assert-file", "budgets.toml", "--junit", "out.xml", "--github", "--json"];
    let ran = load(&desk, &reported);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(crate::common::json_lines(&ran.out).len(), 6, "data alone on standard output");
    assert_eq!(ran.err.matches("budget broken").count(), 2, "{}", ran.err);
    assert_eq!(ran.err.matches("::error title=farlink budget::").count(), 2, "{}", ran.err);
    let xml = desk.read("out.xml");
    assert!(xml.contains("tests=\"3\" failures=\"2\""), "{xml}");
    assert!(xml.contains("name=\"h1: h1 &lt;= 60s\""), "{xml}");
}

#[test]
fn a_run_is_judged_by_its_store() {
    let desk = desk();
    desk.put(
        "grid.toml",
        "format = 1\nname = \"grid\"\nrepetitions = 2\n[page]\nname = \"page.har~as-recorded\"\n[network]\nbase = [\"3g\", \"4g\"]\n\
         [stack]\nprotocol = [\"h1\", \"h2\"]\n",
    );
    let run = |budget: &str| desk.run(&["run", "grid.toml", "--assert", budget]);
    let ran = run("plt < 60s");
    assert_eq!((ran.code, judgements(&ran.out).len()), (0, 4), "{}{}", ran.out, ran.err);
    // The loads are not repeated.
    let ran = run("h2.plt < 1ms on 3g");
    assert_eq!((ran.code, judgements(&ran.out).len()), (1, 1), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("already in the store"), "{}", ran.err);
}

#[test]
fn budgets_that_mean_nothing_are_refused_before_any_load() {
    let desk = desk();
    let refused = |more: &[&str], parts: &[&str]| {
        let ran = load(&desk, more);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        parts.iter().for_each(|part| assert!(ran.err.contains(part), "{part}: {}", ran.err));
    };
    refused(&["--assert", "plt < 3"], &["plt < 3", "unit"]);
    refused(&["--assert", "h4 < 3s"], &["no arm is `h4`", "arms are h1, h2"]);
    refused(&["--assert", "plt < 3s on 5g"], &["nothing is loaded on 5g"]);
    refused(&["--assert", "lcp < 3s"], &["needs a browser that paints", "--client chromium"]);
    refused(&["--junit", "out.xml"], &["--junit reports budgets, and there are none"]);
    refused(&["--assert", "plt < 3s", "--junit", "no/out.xml"], &["no such directory: no"]);
    desk.put("bad.toml", "assert = [\n  \"plt < 3s\",\n  \"plt\",\n]\n");
    refused(&["--assert-file", "bad.toml"], &["bad.toml:3: `plt`: no <"]);
    desk.put("bad.toml", "asert = []\n");
    refused(&["--assert-file", "bad.toml"], &["bad.toml:1", "unknown field"]);
    assert_eq!(desk.names(), ["bad.toml", "page.har"]);
}
