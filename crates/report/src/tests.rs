//! Reports of toy runs.

use std::sync::Arc;

use super::*;
use scenario::{Noise, Scenario};
use scenario::{Order, Plan};
use store::toy;
use testbed::tour::Observed;

fn report_of(plan: &Plan) -> String {
    let filled = toy::filled_store(plan);
    html(&filled.store, filled.run, &[], &unseen).unwrap()
}

/// Toys cannot be observed.
fn unseen(_: &Scenario, _: u64) -> Result<Arc<Observed>, String> {
    Err("a toy".to_owned())
}

/// The report without the libraries, which contain every word.
fn own_text(report: &str) -> &str {
    &report[..report.find("<script>").expect("the libraries are there")]
}

#[test]
fn it_answers_and_shows_what_was_run() {
    let report = report_of(&toy::plan(10));
    let text = own_text(&report);
    let first = "Load time: h2 is first under all 2 conditions, then h1, on average ";
    assert!(text.contains(first), "{first}");
    assert!(text.contains("First contentful paint: h2 is first under all 2 conditions"));
    for wanted in
        ["RTT 50 ms", "farlink run toy.toml", "toy network: no packets", "digest of the results"]
    {
        assert!(text.contains(wanted), "{wanted}");
    }
    assert_eq!(text.matches("<figure class=\"waterfall\">").count(), 2);
}

#[test]
fn it_needs_no_network() {
    let report = report_of(&toy::plan(2));
    let text = own_text(&report);
    for reference in ["src=", "href=", "@import", "url("] {
        assert!(!text.contains(reference), "{reference}");
    }
    assert!(text.contains("default-src 'none'"));
    assert_eq!(report.matches("</script>").count(), 4);
}

#[test]
fn what_cannot_be_seen_again_is_said() {
    let report = report_of(&toy::plan(2));
    let text = own_text(&report);
    assert_eq!(text.matches("the visit cannot be simulated again (a toy)").count(), 2);
    // Data from the store is there all the same.
    assert!(text.contains(" id=\"resent-0\""));
    assert!(text.contains(" id=\"stays-0\""));
    assert!(!text.contains(" id=\"windows-0\""));
}

#[test]
fn hostile_names_stay_text() {
    let cells = toy::cells(&["</script><script>alert(1)</script>"], &[50]);
    let report = report_of(&Plan::new("<b>&", 1, 1, Order::Blocked, cells));
    assert_eq!(report.matches("</script>").count(), 4);
    assert!(report.contains("<h1>&lt;b&gt;&amp;</h1>"));
    assert!(!report.contains("alert(1)</script>"));
}

#[test]
fn copies_say_that_they_have_no_spread() {
    let mut cells = toy::cells(&["synthetic:24x10KB"], &[50]);
    cells.iter_mut().for_each(|cell| cell.noise = Noise::Off);
    let report = report_of(&Plan::new("copies", 1, 5, Order::Blocked, cells));
    let text = own_text(&report);
    assert!(text.contains("(no spread: every repetition is the same)"));
    assert!(text.contains("<td class=\"n\">no spread</td>"));
}

#[test]
fn an_empty_run_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("s")).unwrap();
    let run = store.begin_run(&toy::plan(1), &toy::facts()).unwrap();
    assert!(matches!(html(&store, run, &[], &unseen), Err(ReportError::Empty { .. })));
}

/// Writes reports to look at, into the system's temporary directory:
/// `cargo test -p farlink-report write_reports_to_look_at -- --ignored --nocapture`.
#[test]
#[ignore = "writes files for people to look at"]
fn write_reports_to_look_at() {
    let small = Plan::new(
        "HTTP/1.1 against HTTP/2 over a long road",
        1,
        20,
        Order::Blocked,
        toy::cells(&["synthetic:24x10KB"], &[20, 50, 100, 200, 400]),
    );
    let single =
        Plan::new("One link", 1, 10, Order::Blocked, toy::cells(&["synthetic:24x10KB"], &[100]));
    let pages: Vec<String> =
        (1..=40).map(|n| format!("recorded-{}-objects-of-site-{n}", 10 * n)).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let large = toy::cells(&pages, &[20, 100, 200]);
    let large = Plan::new("Many pages", 1, 10, Order::Blocked, large);
    let dense = toy::cells(&["a page of 300 objects"], &[100]);
    let dense = Plan::new("A large page, once", 1, 1, Order::Blocked, dense);
    for (name, plan) in [("small", small), ("single", single), ("large", large), ("dense", dense)] {
        let path = std::env::temp_dir().join(format!("farlink-report-{name}.html"));
        std::fs::write(&path, report_of(&plan)).unwrap();
        println!("{}", path.display());
    }
}

#[test]
fn the_winner_of_each_condition_and_the_causes_are_shown() {
    let report = report_of(&toy::plan(3));
    let text = own_text(&report);
    assert!(text.contains("<table class=\"heat\">"));
    assert_eq!(text.matches("class=\"n heat-0\"").count(), 2, "one best a condition");
    assert!(text.contains("<h2>Why it took so long</h2>"));
    assert!(text.contains("FROM critical_step WHERE run_id = 1"));
    let parts = &report[report.find("\"load_times\"").unwrap()..];
    let parts: &str = &parts[..parts.find("\"phases\"").unwrap()];
    assert!(parts.contains("\"words\":\"handshakes\""), "{parts}");
}
