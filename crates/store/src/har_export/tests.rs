//! HARs of toy visits, and of one visit by hand.

use page::{
    After, Edge, HostId, Kind, Object, ObjectId, ObjectPriority, Page, PageHost, SizeEstimate,
};
use serde_json::Value;

use super::*;
use crate::toy::{self, Toy};
use scenario::{Execute, JourneyPlan};

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
    record.outcome = record::VisitOutcome::Failed { reason: "the server went away".into() };
    record.objects[3].error = Some("reset".into());
    let visit = HarVisit { record: &record, scenario: None, seed: 1, page: None };
    let log = &json(&har(&[visit]))["log"];
    assert_eq!(log["pages"][0]["pageTimings"]["onLoad"], -1.0);
    assert_eq!(log["pages"][0]["_failure"], "the server went away");
    assert_eq!(log["entries"][3]["response"]["_error"], "reset");
}

/// A document that redirects, and its target.
fn redirecting_page() -> Page {
    let object = |path: &str, kind, status, waits_for| Object {
        url: format!("https://toy.test/{path}"),
        host: HostId(0),
        path: format!("/{path}"),
        method: "GET".into(),
        kind,
        status,
        request_header_bytes: 180,
        request_fields: Vec::new(),
        request_body_bytes: 0,
        response_header_bytes: 240,
        body_bytes: 10_000,
        body_source: page::BodySource::Specified,
        coding: page::BodyCoding::Identity,
        header_provenance: page::Provenance::Measured,
        think: SizeEstimate::default(),
        waits_for,
        priority: ObjectPriority::Highest,
        blocks_load: true,
        blocks_render: false,
        cacheable: false,
    };
    let edge = Edge {
        object: ObjectId(0),
        after: After::Head,
        compute: SizeEstimate::default(),
        provenance: page::Provenance::Measured,
    };
    Page {
        name: "redirecting".into(),
        origin: "test".into(),
        hosts: vec![PageHost {
            name: "toy.test".into(),
            extra_rtt: SizeEstimate::default(),
            recorded_protocol: None,
            recorded_tls: true,
            ..PageHost::default()
        }],
        objects: vec![
            object("", Kind::Redirect, 302, vec![]),
            object("image-01.png?v=2&x", Kind::Document, 200, vec![edge]),
        ],
        skipped: vec![],
        cautions: vec![],
        recorded_network: None,
        recording: None,
    }
}

#[test]
fn the_page_knows_who_asked_and_where_a_redirect_leads() {
    let page = redirecting_page();
    let mut record = Toy.execute(&toy::plan(1).journey(0)).visits.remove(0).record;
    record.objects[0].status = 302;
    record.objects[1].url = page.objects[1].url.clone();
    let visit = HarVisit { record: &record, scenario: None, seed: 1, page: Some(&page) };
    let log = &json(&har(&[visit]))["log"];
    assert_eq!(log["pages"][0]["title"], "redirecting");
    assert_eq!(log["entries"][0]["response"]["redirectURL"], page.objects[1].url.as_str());
    let initiator = &log["entries"][1]["_initiator"];
    assert_eq!(initiator["url"], "https://toy.test/");
    assert_eq!(initiator["type"], "redirect");
    let query = &log["entries"][1]["request"]["queryString"];
    assert_eq!((&query[0]["value"], &query[1]["name"]), (&Value::from("2"), &Value::from("x")));
}

#[test]
fn a_stored_visit_gives_the_same_file() {
    let plan = toy::plan(1);
    let filled = toy::filled_store(&plan);
    let key = filled.store.visits(filled.run).unwrap()[2].key;
    let stored = of_stored(&filled.store, key).unwrap();
    assert_eq!(stored, toy_har(&plan.journey(key.journey)).to_json());
}
