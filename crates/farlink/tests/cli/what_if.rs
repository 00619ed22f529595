//! `farlink what-if`: each answer is that of a load with the setting.

use crate::common::{Desk, median_ns};
use serde_json::Value;

const PAGE: &str = "bth2013";

fn answers(desk: &Desk) -> Vec<Value> {
    desk.farlink(&format!("what-if {PAGE} --network 3g -n 6 --json")).json()
}

#[test]
fn answers_equal_independent_loads() {
    let desk = Desk::new();
    let answers = answers(&desk);
    let of = |what: &str| {
        let found = answers.iter().find(|answer| answer["what_if"] == what);
        &found.unwrap_or_else(|| panic!("{what}: {answers:?}"))["load_time_ns"]
    };
    let same = |what: &str, page: &str, options: &str| {
        let (told, loaded) =
            (of(what)["after"].as_f64().unwrap(), median_ns(&desk, page, options, 6));
        assert!((told - loaded).abs() < 2.0, "{what}: {told} {loaded}");
    };
    let before = of("there were no TLS")["before"].as_f64().unwrap();
    let loaded = median_ns(&desk, PAGE, "--network 3g --protocol h2", 6);
    assert!((before - loaded).abs() < 2.0, "as it is: {before} {loaded}");
    same("bandwidth were infinite", PAGE, "--network 3g,down=unlimited,up=unlimited --protocol h2");
    same("there were no TLS", PAGE, "--network 3g --protocol h2 --tls none");
    same("the client were infinitely fast", PAGE, "--network 3g --protocol h2 --device zero");
    same("servers began with 40 segments", PAGE, "--network 3g --protocol h2 --initial-window 40");
    same("it were HTTP/1.1", PAGE, "--network 3g --protocol h1");
    same("everything came from one host", "bth2013~one-host", "--network 3g --protocol h2");
}

#[test]
fn the_greatest_gain_comes_first_and_the_inapplicable_is_told() {
    let desk = Desk::new();
    let out = desk.farlink(&format!("what-if {PAGE} --network 3g --protocol h1 -n 6")).ok();
    let changes: Vec<f64> = out
        .lines()
        .filter(|line| line.contains(" --") || line.contains(" PAGE~"))
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|word| *word == "%")?;
            words[at - 1].parse().ok()
        })
        .collect();
    assert!(changes.len() > 8, "{out}");
    assert!(changes.is_sorted(), "{changes:?}");
    assert!(changes[0] < -10.0, "{changes:?}");
    assert!(out.contains("not applicable: servers pushed what blocks rendering: "), "{out}");
    assert!(!out.contains("it were HTTP/1.1") && out.contains("it were HTTP/2"), "{out}");
}

#[test]
fn one_load_is_asked_about() {
    crate::common::refuses(
        "what-if bth2013 --network 3g --network 4g",
        &["--network: several values"],
    );
    crate::common::refuses("what-if bth2013 --protocol h1,h2", &["--protocol: several values"]);
    crate::common::refuses("what-if no.har", &["no.har"]);
    crate::common::refuses("what-if bth2013 --world emu", &["changes are simulated"]);
}
