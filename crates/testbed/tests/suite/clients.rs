//! Several clients in one scenario.

use crate::common;

use common::{bare, check_floor, journey};
use farlink_testbed::simulate::Simulator;
use record::EventKind;
use scenario::{Clients, CrossTraffic, Protocol, Scenario, Spacing, Tls, View};
use scenario::{Execute, MeasuredVisit};

const PAGE: &str = "synthetic:20x10KB";
const CELL: &str = "rtt=150ms,down=1600kbit,up=768kbit,queue=100pkt";

fn scenario(network: &str, clients: Clients) -> Scenario {
    let mut scenario = bare(PAGE, network, Protocol::H2, Tls::Tls13);
    scenario.clients = clients;
    scenario
}

fn visits(scenario: Scenario) -> Vec<MeasuredVisit> {
    let result = Simulator::default().execute(&journey(scenario, 7));
    assert_eq!(result.failure, None);
    result.visits.iter().for_each(check_floor);
    result.visits
}

/// Page load times in milliseconds.
fn plts(scenario: Scenario) -> Vec<u64> {
    visits(scenario)
        .iter()
        .map(|visit| visit.record.plt_ns().expect("it loaded") / 1_000_000)
        .collect()
}

fn clients(count: u32) -> Clients {
    Clients { count, ..Clients::default() }
}

#[test]
fn each_client_has_visits_of_its_own() {
    let mut both = scenario(&format!("{CELL},radio=umts"), clients(3));
    both.client.view = View::Both;
    let visits = visits(both.clone());
    let told: Vec<_> =
        visits.iter().map(|visit| (visit.record.index, visit.record.view.as_str())).collect();
    let cold_and_warm =
        [(0, "cold"), (1, "warm"), (2, "cold"), (3, "warm"), (4, "cold"), (5, "warm")];
    assert_eq!(told, cold_and_warm);
    assert_eq!(both.who(4), (2, 0));
    let cold: Vec<&MeasuredVisit> = visits.iter().step_by(2).collect();
    for visit in &cold {
        let body: u64 = visit.record.objects.iter().map(|object| object.body_bytes).sum();
        let wire = visit.record.wire_bytes_down;
        assert!(wire > body && wire < body * 13 / 10, "its own packets alone: {wire} for {body}");
        assert!(visit.record.radio.as_ref().is_some_and(|radio| radio.energy_uj > 0));
    }
}

#[test]
fn clients_share_the_hop() {
    let alone = plts(scenario(CELL, clients(1)))[0];
    for scheduler in ["fifo", "round-robin", "proportional-fair"] {
        let network = format!("{CELL},scheduler={scheduler}");
        assert_eq!(
            plts(scenario(&network, clients(1))),
            [alone],
            "{scheduler}: alone it changes nothing"
        );
        let four = plts(scenario(&network, clients(4)));
        // 200 KB at 1.6 Mbit/s take a second; other clients can use the round trips.
        assert!(
            four.iter().all(|plt| *plt > alone && *plt < 4 * alone),
            "{scheduler}: {alone}, {four:?}"
        );
        assert_eq!(plts(scenario(&network, clients(4))), four, "{scheduler}: it repeats");
    }
}

#[test]
fn who_comes_later_shares_less() {
    let later = Clients { start_spacing: Spacing::Ns(60_000_000_000), ..clients(3) };
    let alone = plts(scenario(CELL, clients(1)))[0];
    assert_eq!(plts(scenario(CELL, later)), [alone; 3]);
}

#[test]
fn a_download_beside_is_felt_in_one_queue() {
    let beside = Clients {
        cross_traffic: CrossTraffic::Download,
        start_spacing: Spacing::Ns(10_000_000_000),
        ..Clients::default()
    };
    let alone = plts(scenario(CELL, clients(1)))[0];
    let of = |scheduler| plts(scenario(&format!("{CELL},scheduler={scheduler}"), beside))[0];
    let (fifo, turns) = (of("fifo"), of("round-robin"));
    assert!(turns < 2 * alone, "half of the rate at worst: {turns} ms, {alone} ms alone");
    assert!(fifo > turns, "{fifo} ms in one queue, {turns} ms by turns");
}

#[test]
fn handovers_are_told_and_felt() {
    let network = format!("{CELL},handover.every=1s,handover.length=100ms..200ms");
    let interrupted = visits(scenario(&network, clients(1))).remove(0).record;
    let handovers = interrupted.events.iter().filter(|event| event.kind == EventKind::Radio);
    assert!(
        handovers.clone().all(|event| event.detail.starts_with("handover, nothing passed for 1"))
    );
    let (count, plt) = (handovers.count(), interrupted.plt_ns().unwrap() / 1_000_000);
    let alone = plts(scenario(CELL, clients(1)))[0];
    assert!(count as u64 >= plt / 1000 && count > 1, "{count} in {plt} ms");
    assert!(plt > alone + 100, "{plt} ms, {alone} ms without");
    assert_eq!(interrupted.losses, 0);
    let lossy =
        visits(scenario(&format!("{network},handover.lossless=false"), clients(1))).remove(0);
    assert!(lossy.record.losses > 0);
}
