//! The mechanism that Erman et al. (2013) describe, and its picture in the report: a pause on 3G, a promotion
//! that the server takes for a loss, a window that does not recover.

extern crate testbed as farlink_testbed;

#[path = "../../testbed/tests/common/mod.rs"]
mod common;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{bare, journey, visit};
use farlink_report as report;
use record::{EventKind, RetransmitDetail, VisitRecord};
use scenario::Order;
use scenario::Plan;
use scenario::{Protocol, Scenario, Tls};
use store::runner;
use store::{RunFacts, RunId, Store};
use testbed::simulate::Simulator;
use testbed::tour::Observed;

const NETWORK: &str = "rtt=100ms,down=6mbit,up=1mbit,queue=500pkt,radio=umts";
const PAGE: &str = "synthetic:40x16KB+10s";

fn scenario(server: &str, page: &str, network: &str) -> Scenario {
    let mut scenario = bare(page, network, Protocol::H2, Tls::Tls13);
    scenario.transport.server = server.parse().unwrap();
    scenario.transport.client = "linux-3.0".parse().unwrap();
    scenario
}

/// Retransmissions of the server after the pause, which lasts ten seconds.
fn sent_again_late(record: &VisitRecord) -> Vec<RetransmitDetail<'_>> {
    let pause = record.started_at_ns + 10_000_000_000;
    let late = record.events.iter().filter(|event| event.at_ns > pause);
    let again = late.filter(|event| event.kind == EventKind::Retransmit);
    again.filter_map(|event| RetransmitDetail::read(&event.detail)).collect()
}

#[test]
fn a_pause_makes_the_server_time_out_for_nothing() {
    let simulator = Simulator::default();
    let slow = visit(&simulator, scenario("linux-3.0", PAGE, NETWORK), 1).record;
    let again = sent_again_late(&slow);
    assert!(!again.is_empty());
    assert!(again.iter().all(|sent| sent.sender == "server" && sent.needless), "{again:?}");
    assert!(again.iter().any(|sent| sent.cause == "timeout"), "{again:?}");
    assert_eq!((slow.losses, slow.queue_drops), (0, 0));

    let patient = scenario("linux-3.0,reset-rtt-after-idle=on", PAGE, NETWORK);
    let patient = visit(&simulator, patient, 1).record;
    assert_eq!(sent_again_late(&patient), []);
    let spared = slow.plt_ns().unwrap() - patient.plt_ns().unwrap();
    assert!(spared > 200_000_000, "{spared} ns");
}

struct Told {
    _directory: tempfile::TempDir,
    store: Store,
    run: RunId,
    simulator: Simulator,
}

/// A store with one load of each scenario.
fn run(scenarios: Vec<Scenario>) -> Told {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::create(&directory.path().join("store")).unwrap();
    let plan = Plan::new("mechanism", 1, 1, Order::Blocked, scenarios);
    let facts = RunFacts {
        experiment: None,
        command: "a test".to_owned(),
        machine: "test".to_owned(),
        workers: 1,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
    };
    let run = store.begin_run(&plan, &facts).unwrap();
    let simulator = Simulator::default();
    let cancel = AtomicBool::new(false);
    runner::run(&mut store, run, &plan, &simulator, 1, &cancel, &mut |_| {}).unwrap();
    Told { _directory: directory, store, run, simulator }
}

impl Told {
    /// The report that draws every visit.
    fn report(&self) -> String {
        let observe = |scenario: &_, seed| self.simulator.observe(scenario, seed).map(Arc::new);
        let visits = self.store.visits(self.run).unwrap();
        let keys: Vec<_> = visits.iter().map(|visit| visit.key).collect();
        report::html(&self.store, self.run, &keys, &observe).unwrap()
    }
}

/// The rows of one of the report's CSV files, without the column names.
fn rows(report: &str, id: &str) -> Vec<Vec<String>> {
    let Some((_, rest)) = report.split_once(&format!("id=\"{id}\" class=\"csv\">")) else {
        return Vec::new();
    };
    let text = rest.split_once("</pre>").unwrap().0;
    let row = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(row).collect()
}

#[test]
fn every_retransmission_has_its_mark() {
    let lossy = "rtt=80ms,down=4mbit,up=1mbit,queue=30pkt,loss=3%";
    let mut h1 = scenario("linux-6", "synthetic:30x20KB@2hosts", lossy);
    h1.stack.protocol = Protocol::H1;
    let h2 = scenario("linux-3.0", PAGE, NETWORK);
    let told = run(vec![h2, h1]);
    let report = told.report();
    for (index, visit) in told.store.visits(told.run).unwrap().iter().enumerate() {
        let record = told.store.record(visit.key).unwrap();
        let marks = rows(&report, &format!("resent-{index}"));
        assert_eq!(Some(marks.len() as u64), record.retransmits(), "{index}");
        assert!(marks.len() > 1);
        let windows = rows(&report, &format!("windows-{index}"));
        let drawn: std::collections::BTreeSet<&str> =
            windows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(drawn.len(), record.connections.len().min(4));
        let (begin, end) = (record.started_at_ns, record.events.last().unwrap().at_ns);
        let last = (end - begin) as f64 / 1e6 + 0.001;
        assert!(windows.iter().all(|row| row[0].parse::<f64>().unwrap() <= last));
    }
}

#[test]
fn the_radios_states_fill_the_visit_and_cost_what_it_spent() {
    let told = run(vec![scenario("linux-3.0", PAGE, NETWORK)]);
    let report = told.report();
    let visit = told.store.visits(told.run).unwrap().remove(0);
    let radio = told.store.radio(visit.key).unwrap().unwrap();
    let stays = rows(&report, "stays-0");
    let number = |text: &String| text.parse::<f64>().unwrap();
    assert!(stays.windows(2).all(|two| two[0][1] == two[1][0]), "one after the other: {stays:?}");
    for state in &radio.states {
        let its = stays.iter().filter(|stay| stay[2] == state.state);
        let ms: f64 = its.map(|stay| number(&stay[1]) - number(&stay[0])).sum();
        assert!((ms - state.span_ns as f64 / 1e6).abs() < 0.1, "{}: {ms}", state.state);
    }
    let joules = number(stays.last().unwrap().last().unwrap());
    assert!((joules - radio.energy_uj as f64 / 1e6).abs() < 0.01, "{joules}");
    let promotions = stays.iter().filter(|stay| stay[3] == "promotion");
    assert_eq!(promotions.count() as u32, radio.promotions);
    assert!(stays.iter().any(|stay| stay[2] == "FACH to DCH" && stay[4].ends_with("bytes down")));
}

#[test]
fn windows_of_another_visit_are_not_shown() {
    let told = run(vec![scenario("linux-3.0", PAGE, NETWORK)]);
    let asked = RefCell::new(0);
    let another = |_: &Scenario, seed: u64| -> Result<Arc<Observed>, String> {
        *asked.borrow_mut() += 1;
        let other = journey(scenario("linux-6", PAGE, NETWORK), seed);
        told.simulator.observe(&other.scenario, other.seed).map(Arc::new)
    };
    let report = report::html(&told.store, told.run, &[], &another).unwrap();
    assert_eq!(*asked.borrow(), 1);
    assert!(report.contains("gives a different result"));
    assert!(rows(&report, "windows-0").is_empty());
    assert!(!rows(&report, "resent-0").is_empty());
}

#[test]
fn a_report_does_not_grow_with_the_length_of_its_connections() {
    // 24,000 segments and as many acknowledgements.
    let told = run(vec![scenario("linux-6", "synthetic:1x30MB", "rtt=20ms,down=50mbit,up=10mbit")]);
    let report = told.report();
    let windows = rows(&report, "windows-0");
    assert!((100..=1200).contains(&windows.len()), "{}", windows.len());
}
