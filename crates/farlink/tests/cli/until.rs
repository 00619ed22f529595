//! Repetition until medians are certain: experiments with `until`, and `load --until`.

use std::process::Stdio;

use crate::common::{Desk, digest, journeys, refuses, send_signal};

const EXPERIMENT: &str = r#"format = 1
until = "6%"
[page]
name = "synthetic:10x10KB"
[network]
base = ["4g,loss=1%", "3g,loss=1%"]
[stack]
protocol = ["h2", "h3"]
"#;

/// The digest of a run and its number of repetitions.
fn ran(desk: &Desk) -> (String, u64) {
    let store = desk.sqlite("farlink.sqlite");
    let repetitions =
        store.query_row("SELECT repetitions FROM run", [], |row| row.get::<_, i64>(0));
    (digest(&store, 1).expect("the run is complete"), repetitions.unwrap() as u64)
}

#[test]
fn a_run_ends_when_its_medians_are_certain() {
    let desk = Desk::new();
    desk.put("e.toml", EXPERIMENT);
    let first = desk.farlink("run e.toml -j 2");
    let (_, repetitions) = ran(&desk);
    assert!((21..2_000).contains(&repetitions), "{repetitions}");
    let said = format!("{repetitions} repetitions: intervals of median load times are at most ");
    assert!(first.out.contains(&said), "{}", first.out);
    assert_eq!(journeys(&desk.path("farlink.sqlite")), 4 * repetitions);
    let again = desk.farlink("run e.toml");
    assert!(again.err.contains("already in the store"), "{}", again.err);
    assert!(again.out.contains(&said), "{}", again.out);
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_end() {
    let whole = Desk::new();
    whole.put("e.toml", EXPERIMENT);
    whole.farlink("run e.toml").ok();
    let desk = Desk::new();
    desk.put("e.toml", EXPERIMENT);
    let mut command = desk.command(&["run", "e.toml", "-j", "1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // After the first look, which is at 80 journeys.
    while journeys(&desk.path("farlink.sqlite")) < 90 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was stopped");
        std::thread::yield_now();
    }
    send_signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    desk.farlink("run e.toml").ok();
    assert_eq!(ran(&desk), ran(&whole));
}

#[test]
fn loads_are_repeated_until_the_interval_is_narrow() {
    let desk = Desk::new();
    let options = "load synthetic:10x10KB --network 4g,loss=1% --protocol h2 --seed 5";
    let loads = desk.farlink(&format!("{options} --until 6% --json")).json();
    assert!(loads.len() > 20, "{}", loads.len());
    // They are those of a fixed number of loads.
    let fixed = desk.farlink(&format!("{options} -n {} --json", loads.len())).json();
    let times = |loads: &[serde_json::Value]| -> Vec<f64> {
        loads.iter().map(|load| load["plt_ms"].as_f64().unwrap()).collect()
    };
    assert_eq!(times(&loads), times(&fixed));
    let text = desk.farlink(&format!("{options} --until 6%")).ok();
    assert!(text.contains(&format!("{} an arm", loads.len())), "{text}");
    assert!(text.contains("(6 % asked)"), "{text}");
}

#[test]
fn copies_need_no_more_than_the_first_look() {
    let loads = Desk::new()
        .farlink("load synthetic:2x10KB --network 4g --protocol h2 --no-noise --until 1% --json")
        .json();
    assert_eq!(loads.len(), 20);
}

#[test]
fn widths_that_are_none_are_refused() {
    let expected = "a width relative to the median";
    refuses("load bth2013 --network 3g --until 5", &["'5' for '--until", expected]);
    refuses("load bth2013 --network 3g --until 5% -n 3", &["cannot be used with"]);
    let desk = Desk::new();
    desk.put("e.toml", EXPERIMENT.replace("6%", "0%"));
    let refused = desk.farlink("run e.toml");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("e.toml:2") && refused.err.contains(expected), "{}", refused.err);
    desk.put("e.toml", EXPERIMENT.replace("until = \"6%\"", "most_repetitions = 50"));
    let refused = desk.farlink("run e.toml");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("until = \"5%\" beside it"), "{}", refused.err);
    desk.put("e.toml", format!("most_repetitions = 5\n{EXPERIMENT}"));
    let refused = desk.farlink("run e.toml");
    assert_eq!(refused.code, 2, "{}", refused.err);
    let expected = "at least the 20 repetitions before the first look";
    assert!(refused.err.contains(expected), "{}", refused.err);
}
