//! The critical path of each load: without gaps from navigation start to the load event, its excess that over the floor.

use crate::common::Desk;
use serde_json::Value;

/// Conditions that bring out each cause.
const CONDITIONS: [&str; 8] = [
    "bth2013 --network 3g --protocol h1,h1-pipelined,h2,spdy,h3,h3-matched",
    "bth2013 --network 3g,loss=2% --protocol h1,h2,h3",
    "bth2013 --network 3g,radio=umts --protocol h1,h2,h3",
    "synthetic:60x20KB --network geo --protocol h1,h2,h3",
    "synthetic:60x20KB --network geo,queue=20pkt --protocol h1,h2,h3",
    "bth2013 --network 4g --device nexus7 --protocol h2 --view both",
    "bth2013 --network 3g --protocol h2 --dns on",
    "bth2013 --network 3g --protocol h2 --clients 3",
];

fn loads(desk: &Desk, conditions: &str) -> Vec<Value> {
    desk.farlink(&format!("load {conditions} -n 2 --json")).json()
}

fn millis(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

/// The end of a path, whose steps have no gaps.
fn end_of_path(steps: &Value, conditions: &str) -> f64 {
    let mut at = 0.0;
    for step in steps.as_array().unwrap_or_else(|| panic!("{conditions}: no path")) {
        assert_eq!(millis(&step["from_ms"]), at, "{conditions}: {step}");
        at = millis(&step["until_ms"]);
    }
    at
}

#[test]
fn causes_sum_to_the_excess_and_steps_leave_no_gap() {
    let desk = Desk::new();
    for conditions in CONDITIONS {
        for load in loads(&desk, conditions) {
            let plt = millis(&load["plt_ms"]);
            let excess = load["excess_ms"].as_object().unwrap();
            let sum: f64 = excess.values().map(millis).sum();
            assert!((plt - millis(&load["floor_ms"]) - sum).abs() < 1e-5, "{conditions}: {load}");
            let is_positive =
                |(cause, ms): (&String, &Value)| cause == "other" || millis(ms) >= 0.0;
            assert!(excess.iter().all(is_positive), "{conditions}: {excess:?}");
            assert!(millis(&excess["other"]).abs() < 1e-5, "{conditions}: {excess:?}");
            assert_eq!(end_of_path(&load["critical_path"], conditions), plt, "{conditions}");
            let render = millis(&load["model_first_render_ms"]);
            let end = end_of_path(&load["render_path"], conditions);
            assert!((end - render).abs() < 1e-5, "{conditions}: {end} {render}");
        }
    }
}

fn excess(desk: &Desk, conditions: &str, cause: &str) -> f64 {
    millis(&loads(desk, conditions)[0]["excess_ms"][cause])
}

#[test]
fn causes_are_there_under_their_conditions_alone() {
    let desk = Desk::new();
    let with_and_without = [
        (
            "loss",
            "bth2013 --network 3g,loss=5% --protocol h2",
            "bth2013 --network 3g --protocol h2",
        ),
        (
            "dns",
            "bth2013 --network 3g --protocol h2 --dns on",
            "bth2013 --network 3g --protocol h2",
        ),
        (
            "connection",
            "synthetic:100x5KB --network geo --protocol h1",
            "synthetic:100x5KB --network geo --protocol h2",
        ),
        (
            "head-of-line",
            "synthetic:30x5KB --network 3g,down=unlimited --protocol h1-pipelined",
            "synthetic:30x5KB --network 3g,down=unlimited --protocol h2",
        ),
    ];
    for (cause, with, without) in with_and_without {
        let (with, without) = (excess(&desk, with, cause), excess(&desk, without, cause));
        assert!(with > 10.0 && without == 0.0, "{cause}: {with} {without}");
    }
    let resumed = excess(&desk, "bth2013 --network 3g --protocol h2 --tls none", "handshake");
    let full = excess(&desk, "bth2013 --network 3g --protocol h2", "handshake");
    assert!(resumed < 0.8 * full, "{resumed} {full}");
}

#[test]
fn the_critical_path_is_listed() {
    let desk = Desk::new();
    let out = desk.farlink("load bth2013 --network 3g --protocol h2 -n 2 --critical-path").ok();
    assert!(out.contains("mean load time"), "{out}");
    assert!(out.contains("* critical path"), "{out}");
    assert!(out.contains("a round trip and the server"), "{out}");
    assert!(out.contains("to its load:") && out.contains("to its first render:"), "{out}");
}
