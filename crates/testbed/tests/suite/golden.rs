//! Determinism: a trace hash per protocol, and the same rows for any number of workers. If a hash changes, the
//! commit says why.

use crate::common;

use std::sync::atomic::AtomicBool;

use common::{bare, check_floor, visit};
use farlink_testbed::simulate::Simulator;
use scenario::{NetworkSpec, Protocol, Scenario, Tls};
use scenario::{Order, Plan};
use store::runner::{self, RunOutcome};
use store::{RunFacts, Store};

const LOSSY: &str = "rtt=80ms,down=8mbit,up=2mbit,loss=1%,queue=50pkt";

fn digest(protocol: Protocol, tls: Tls) -> String {
    let visit =
        visit(&Simulator::default(), bare("synthetic:40x12KB@3hosts", LOSSY, protocol, tls), 7);
    format!("{:016x}", visit.record.trace_digest.unwrap())
}

#[test]
fn traces_have_not_changed() {
    let got: Vec<String> = [Protocol::H1, Protocol::H2, Protocol::Spdy]
        .into_iter()
        .flat_map(|protocol| [Tls::None, Tls::Tls12, Tls::Tls13].map(|tls| (protocol, tls)))
        .map(|(protocol, tls)| format!("{protocol} {tls} {}", digest(protocol, tls)))
        .collect();
    let golden: Vec<&str> = include_str!("../golden.txt").lines().collect();
    assert_eq!(got, golden, "a trace changed: if it should, put the new ones into golden.txt");
}

fn plan() -> Plan {
    let cells = [Protocol::H1, Protocol::H2].map(|protocol| {
        let mut scenario =
            Scenario::new("synthetic:20x8KB@2hosts", NetworkSpec::parse(LOSSY).unwrap());
        scenario.stack.protocol = protocol;
        scenario
    });
    Plan::new("golden", 3, 6, Order::Random, cells.to_vec())
}

fn store_digest(workers: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(&folder.path().join("store.sqlite")).unwrap();
    let plan = plan();
    let facts = RunFacts {
        experiment: None,
        command: format!("with {workers} workers"),
        machine: "test".to_owned(),
        workers: workers as u32,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
    };
    let run = store.begin_run(&plan, &facts).unwrap();
    let cancel = AtomicBool::new(false);
    let simulator = Simulator::default();
    let ended =
        runner::run(&mut store, run, &plan, &simulator, workers, &cancel, &mut |_| {}).unwrap();
    assert_eq!(ended, RunOutcome::Complete);
    let visits = store.visits(run).unwrap();
    assert_eq!(visits.len(), 12);
    assert!(visits.iter().all(|visit| visit.plt_ns.is_some()), "{visits:?}");
    store.digest(run).unwrap()
}

#[test]
fn rows_do_not_depend_on_the_number_of_workers() {
    let one = store_digest(1);
    assert_eq!(one, store_digest(2));
    assert_eq!(one, store_digest(1));
}

#[test]
fn noise_spread_what_is_otherwise_the_same() {
    let simulator = Simulator::default();
    let mut plt = Vec::new();
    for seed in [1, 2, 3] {
        let clean = "rtt=80ms,down=8mbit,up=2mbit";
        let still =
            visit(&simulator, bare("synthetic:20x8KB", clean, Protocol::H2, Tls::Tls13), seed);
        let mut scenario = bare("synthetic:20x8KB", clean, Protocol::H2, Tls::Tls13);
        scenario.noise = scenario::Noise::On;
        let varied = visit(&simulator, scenario, seed);
        check_floor(&varied);
        plt.push((still.record.plt_ns().unwrap(), varied.record.plt_ns().unwrap()));
    }
    assert!(plt.iter().all(|(still, _)| *still == plt[0].0), "{plt:?}");
    assert!(plt[0].1 != plt[1].1 && plt[1].1 != plt[2].1, "{plt:?}");
}
