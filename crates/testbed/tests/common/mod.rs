//! Helpers for tests of whole loads. Not every test binary uses all of them.

#![allow(dead_code)]

use farlink_testbed::simulate::Simulator;
use record::EarlyMetrics;
use scenario::{Execute, JourneyPlan, MeasuredVisit, Order, Plan};
use scenario::{NetworkSpec, Noise, Protocol, Scenario, Tls};

/// A scenario with the noise model off and a client with zero compute time, so that only the network counts.
pub fn bare(page: &str, network: &str, protocol: Protocol, tls: Tls) -> Scenario {
    let mut scenario = Scenario::new(page, NetworkSpec::parse(network).unwrap());
    scenario.stack.protocol = protocol;
    scenario.stack.tls = tls;
    scenario.noise = Noise::Off;
    scenario.client.device = "zero".to_owned();
    scenario
}

/// The only journey of a scenario.
pub fn journey(scenario: Scenario, seed: u64) -> JourneyPlan {
    Plan::new("test", seed, 1, Order::Blocked, vec![scenario]).journey(0)
}

/// The only visit of a scenario; its floor was checked.
pub fn visit(simulator: &Simulator, scenario: Scenario, seed: u64) -> MeasuredVisit {
    let mut result = simulator.execute(&journey(scenario, seed));
    assert_eq!(result.failure, None);
    assert_eq!(result.visits.len(), 1);
    let visit = result.visits.remove(0);
    check_floor(&visit);
    visit
}

/// The first render lies between TTFB and load event.
pub fn check_render(visit: &MeasuredVisit) {
    let (Some(early), Some(plt)) = (EarlyMetrics::of(&visit.record), visit.record.plt_ns()) else {
        return;
    };
    let (ttfb, render) = (visit.record.ttfb_ns.unwrap(), early.first_render.as_nanos() as u64);
    assert!((ttfb..=plt).contains(&render), "TTFB {ttfb}, first render {render}, PLT {plt}");
}

/// No visit beats its floor.
pub fn check_floor(visit: &MeasuredVisit) {
    let (Some(floors), Some(plt)) = (visit.floors, visit.record.plt_ns()) else { return };
    assert!(floors.graph_ns <= plt, "floor {} > PLT {plt}", floors.graph_ns);
    assert!(floors.oracle_ns <= floors.graph_ns);
    assert!(floors.graph_without_compute_ns <= floors.graph_ns);
    assert!(floors.oracle_without_compute_ns <= floors.oracle_ns);
}
