//! HARs of toy visits, and of one visit by hand.

use serde_json::Value;

use super::*;
use crate::toy::{self, Toy};
use crate::{Execute, JourneyPlan};

fn toy_har(journey: &JourneyPlan) -> Har {
    let result = Toy.execute(journey);
    let visits: Vec<HarVisit<'_>> = result
        .visits
        .iter()
        .map(|visit| HarVisit {
            record: &visit.record,
            scenario: Some(&journey.scenario),
            seed: journey.seed,
            page: None,
        })
        .collect();
    har(&visits)
}

fn json(har: &Har) -> Value {
    serde_json::from_str(&har.to_json()).unwrap()
}

#[test]
fn times_are_the_specifications() {
    let journey = toy::plan(1).journey(0);
    let log = &json(&toy_har(&journey))["log"];
    assert_eq!(log["version"], "1.2");
    assert_eq!(log["creator"]["name"], "farlink");
    let document = &log["entries"][0];
    assert_eq!(document["startedDateTime"], "2026-01-01T00:00:00.000000Z");
    // One round trip of TCP and one of TLS 1.3, at 50 ms: connect includes ssl.
    assert_eq!(document["timings"]["connect"], 100.0);
    assert_eq!(document["timings"]["ssl"], 50.0);
    let reused = &log["entries"][7]["timings"];
    assert_eq!((&reused["connect"], &reused["ssl"]), (&Value::from(-1.0), &Value::from(-1.0)));
    for entry in log["entries"].as_array().unwrap() {
        let of = |name: &str| entry["timings"][name].as_f64().unwrap().max(0.0);
        let sum: f64 =
            ["blocked", "dns", "connect", "send", "wait", "receive"].map(of).iter().sum();
        assert!((sum - entry["time"].as_f64().unwrap()).abs() < 1e-6);
    }
}

#[test]
fn a_visit_that_failed_has_no_load_time_and_says_why() {
    let journey = toy::plan(1).journey(0);
    let mut record = Toy.execute(&journey).visits.remove(0).record;
    record.outcome = record::Outcome::Failed { reason: "the server went away".into() };
    record.objects[3].error = Some("reset".into());
    let visit = HarVisit { record: &record, scenario: None, seed: 1, page: None };
    let log = &json(&har(&[visit]))["log"];
    assert_eq!(log["pages"][0]["pageTimings"]["onLoad"], -1.0);
    assert_eq!(log["pages"][0]["_failure"], "the server went away");
    assert_eq!(log["entries"][3]["response"]["_error"], "reset");
}
