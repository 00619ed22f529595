//! Whole judgements of cells with hand-picked loads.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::cell::Measured;
use crate::suite::{Loads, MoreLoads, Part};
use crate::target::{ChromiumFigure, TargetOutcome};
use scenario::{NetworkSpec, Protocol, Scenario};

const NEEDS: Needs = Needs { cells: 2, emu_lossless: 3, sim_lossy: 4, emu_lossy: 4, chromium: 2 };

fn suite(targets: &[(Gauge, f64)]) -> Suite {
    let target = |(gauge, limit): &(Gauge, f64)| Target { gauge: *gauge, limit: *limit };
    Suite {
        name: "test".to_owned(),
        seed: 1,
        side_by_side: 1,
        calibrated: None,
        parts: Vec::new(),
        targets: targets.iter().map(target).collect(),
        needs: NEEDS,
        more_loads: None,
        text: String::new(),
    }
}

/// A cell with loads of these times in each way; the Lantern-like model predicts one second.
fn cell(network: &str, protocol: Protocol, loads: &[(MeasuredWorld, &[f64])]) -> Cell {
    let mut scenario = Scenario::new("a page", NetworkSpec::parse(network).unwrap());
    scenario.stack.protocol = protocol;
    let measured =
        |plts: &[f64]| Measured { plt: Sample::new(plts.iter().copied()), ..Measured::default() };
    Cell {
        lossy: network.contains("loss"),
        unlimited: network == "loopback",
        scenario: Arc::new(scenario),
        is_loaded_early: false,
        lantern_ms: 1000.0,
        measured: loads
            .iter()
            .map(|(way, plts)| (*way, measured(plts)))
            .collect::<BTreeMap<_, _>>(),
    }
}

fn both(network: &str, protocol: Protocol, sim: &[f64], emu: &[f64]) -> Cell {
    cell(network, protocol, &[(MeasuredWorld::Sim, sim), (MeasuredWorld::Emu, emu)])
}

fn row(judgement: &Judgement, figure: Figure) -> Row {
    *judgement.rows.iter().find(|row| row.figure == figure).unwrap()
}

fn close(value: Option<f64>, expected: f64) {
    let value = value.expect("a value");
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn cells_become_figures_and_verdicts() {
    let cells = [
        both("3g", Protocol::H1, &[2040.0], &[1990.0, 2000.0, 2010.0]),
        both("3g", Protocol::H2, &[990.0], &[1000.0, 1000.0, 1000.0]),
        both("4g", Protocol::H1, &[500.0], &[500.0, 500.0]), // too few loads
    ];
    let suite = suite(&[
        (Gauge::Figure(Figure::LosslessMedian), 0.02),
        (Gauge::Figure(Figure::RatioMedian), 0.01),
        (Gauge::BetterThanLantern(Figure::LosslessMedian), 3.0),
        (Gauge::Figure(Figure::LossyMedian), 0.06),
    ]);
    let judgement = judge(&suite, &cells);
    // Errors 2 % and 1 %; the Lantern-like model is 50 % off and right.
    let lossless = row(&judgement, Figure::LosslessMedian);
    assert_eq!(lossless.basis, 2);
    close(lossless.sim, 0.015);
    close(lossless.lantern, 0.25);
    // log(2.04 / 0.99) - log 2.
    let deviation = (2.04f64 / 0.99 / 2.0).ln();
    close(row(&judgement, Figure::RatioMedian).sim, deviation);
    close(row(&judgement, Figure::RatioMedian).lantern, 2f64.ln());
    let outcomes: Vec<TargetOutcome> = judgement.verdicts.iter().map(|v| v.outcome).collect();
    assert_eq!(
        outcomes,
        [TargetOutcome::Met, TargetOutcome::TooFew, TargetOutcome::Met, TargetOutcome::TooFew]
    );
    close(judgement.verdicts[2].value, 0.25 / 0.015);
    assert_eq!(judgement.verdicts[1].basis, 1);
    assert_eq!(judgement.subjects.iter().map(|s| s.cell).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn bias_has_a_sign_and_groups() {
    let slow = |network, protocol| both(network, protocol, &[1100.0], &[1000.0; 3]);
    let cells = [slow("3g", Protocol::H1), slow("4g", Protocol::H1), {
        both("3g", Protocol::H2, &[900.0], &[1000.0; 3])
    }];
    let biases = judge(&suite(&[]), &cells).biases;
    let of = |key, value: &str| biases.iter().find(|b| b.key == key && b.value == value).unwrap();
    assert_eq!(of("protocol", "h1").cells, 2);
    close(Some(of("protocol", "h1").median), 1.1f64.ln());
    close(Some(of("protocol", "h2").median), 0.9f64.ln());
    close(Some(of("network", "3g").median), (1.1f64.ln() + 0.9f64.ln()) / 2.0);
}

#[test]
fn a_perfect_model_of_a_lossy_cell_lies_within_chance() {
    // The same seven times in both worlds, some more often: medians equal, quartiles not quite.
    let emu = [1000.0, 1100.0, 1200.0, 1300.0, 1400.0, 1500.0, 1600.0, 2500.0];
    let sim = [1000.0, 1150.0, 1250.0, 1300.0, 1400.0, 1450.0, 1600.0, 2500.0];
    let judgement = judge(&suite(&[]), &[both("3g,loss=1%", Protocol::H1, &sim, &emu)]);
    let net = row(&judgement, Figure::LossyMedian);
    let gross = row(&judgement, Figure::LossyGrossMedian);
    assert!(gross.sim > Some(0.0));
    assert_eq!(net.sim, Some(0.0));
    assert!(net.emu > gross.sim, "chance alone makes {:?}", net.emu);
    // The Lantern-like model's second is 26 % short of the median; chance explains little of that.
    assert!(
        net.lantern > Some(0.1) && net.lantern < gross.lantern,
        "{:?} {:?}",
        net.lantern,
        gross.lantern
    );
}

#[test]
fn the_browser_counts_where_the_network_rules() {
    let browsed = |network, emu: &[f64], chromium: &[f64]| {
        cell(
            network,
            Protocol::H2,
            &[(MeasuredWorld::Emu, emu), (MeasuredWorld::Chromium, chromium)],
        )
    };
    let mut cells = [
        browsed("loopback", &[90.0; 3], &[100.0; 3]),
        browsed("3g", &[950.0; 3], &[1000.0; 3]),
        browsed("4g", &[300.0; 3], &[400.0; 3]),
        browsed("cable", &[880.0; 3], &[800.0; 3]),
    ];
    let judgement = judge(&suite(&[(Gauge::Chromium(ChromiumFigure::Median), 0.10)]), &cells);
    assert!(judgement.browser.iter().all(|cell| cell.way == MeasuredWorld::Emu));
    let counts: Vec<bool> = judgement.browser.iter().map(|b| b.counts).collect();
    assert_eq!(counts, [true, false, true]);
    assert_eq!(judgement.browser[1].browser_share(), Some(0.25));
    // 5 % too fast and 10 % too slow.
    close(judgement.verdicts[0].value, 0.075);
    assert_eq!(judgement.verdicts[0].outcome, TargetOutcome::Met);
    assert!(judgement.subjects.is_empty(), "nothing was simulated");
    cells[1].is_loaded_early = true;
    let counts = |judgement: Judgement| judgement.browser.iter().map(|b| b.counts).collect();
    let early: Vec<bool> = counts(judge(&suite(&[]), &cells));
    assert_eq!(early, [false, false, true], "a load event before its time does not count");
}

#[test]
fn what_a_page_replays_is_not_the_browsers_work() {
    let browsed = |network, device: &str, loads: &[(MeasuredWorld, &[f64])]| {
        let mut cell = cell(network, Protocol::H2, loads);
        let scenario = Arc::make_mut(&mut cell.scenario);
        scenario.client.device = device.to_owned();
        scenario.client.device_digest = device.ends_with(".toml").then(|| device.to_owned());
        cell
    };
    let (emu, chromium) = (MeasuredWorld::Emu, MeasuredWorld::Chromium);
    let mut cells = vec![
        browsed("loopback", "a.toml", &[(emu, &[450.0; 3]), (chromium, &[500.0; 3])]),
        browsed("3g", "a.toml", &[(emu, &[950.0; 3]), (chromium, &[1000.0; 3])]),
    ];
    let counts = |cells: &[Cell]| judge(&suite(&[]), cells).browser[0].counts;
    assert!(!counts(&cells), "half of the load is not the network's");
    cells.push(browsed("loopback", "zero", &[(emu, &[400.0; 3])]));
    assert!(counts(&cells), "of 1000 ms, 500 ms are the network's and 100 ms the browser's");
    cells[0] = browsed("loopback", "a.toml", &[(chromium, &[800.0; 3])]);
    assert!(!counts(&cells), "200 ms are the network's and 400 ms the browser's");
}

#[test]
fn a_calibrated_loader_stands_in_for_the_browser() {
    let loads: [(MeasuredWorld, &[f64]); 3] = [
        (MeasuredWorld::Emu, &[500.0; 3]),
        (MeasuredWorld::Calibrated, &[990.0; 3]),
        (MeasuredWorld::Chromium, &[1000.0; 3]),
    ];
    let none: [(MeasuredWorld, &[f64]); 1] = [(MeasuredWorld::Chromium, &[100.0; 3])];
    let cells = [cell("loopback", Protocol::H2, &none), cell("3g", Protocol::H2, &loads)];
    let judgement = judge(&suite(&[(Gauge::Chromium(ChromiumFigure::Median), 0.10)]), &cells);
    assert_eq!(judgement.browser[0].way, MeasuredWorld::Calibrated);
    close(Some(judgement.browser[0].deviation()), -0.01);
    assert!(judgement.browser[0].counts);
}

#[test]
fn coalesced_packets_stand_beside_single_ones() {
    let emulated = |network, single: &[f64], coalesced: &[f64]| {
        cell(
            network,
            Protocol::H2,
            &[(MeasuredWorld::Emu, single), (MeasuredWorld::Coalesced, coalesced)],
        )
    };
    let cells = [
        emulated("3g", &[1000.0; 3], &[1020.0; 3]),
        cell("4g", Protocol::H2, &[(MeasuredWorld::Emu, &[500.0])]),
        emulated("cable", &[100.0; 3], &[90.0; 3]),
    ];
    let judgement = judge(&suite(&[]), &cells);
    assert_eq!(judgement.coalesced.iter().map(|c| c.cell).collect::<Vec<_>>(), [0, 2]);
    let [median, p95] = coalesced_difference(&judgement.coalesced).unwrap();
    close(Some(median), 0.06);
    close(Some(p95), 0.02 + 0.95 * 0.08);
    assert_eq!(coalesced_difference(&[]), None);
}

#[test]
fn nothing_measured_is_no_verdict() {
    let judgement = judge(&suite(&[(Gauge::Figure(Figure::RatioSign), 0.95)]), &[]);
    assert_eq!(judgement.verdicts[0].outcome, TargetOutcome::TooFew);
    assert!(judgement.rows.iter().all(|row| row.sim.is_none() && row.emu.is_none()));
}

#[test]
fn no_error_at_all_is_better_than_any_toy() {
    let cells = [
        both("3g", Protocol::H1, &[2000.0], &[2000.0; 3]),
        both("3g", Protocol::H2, &[1500.0], &[1500.0; 3]),
    ];
    let judgement =
        judge(&suite(&[(Gauge::BetterThanLantern(Figure::LosslessMedian), 3.0)]), &cells);
    assert_eq!(judgement.verdicts[0].outcome, TargetOutcome::Met);
}

#[test]
fn cells_that_scatter_get_more_loads() {
    let steady = both("3g", Protocol::H1, &[990.0], &[1000.0, 1001.0, 1002.0, 1003.0]);
    let scattered = both("3g", Protocol::H2, &[990.0], &[1000.0, 1000.0, 2000.0, 2000.0]);
    let mut unfinished = scattered.clone();
    unfinished.measured.get_mut(&MeasuredWorld::Emu).unwrap().missing = 1;
    let loads = |sim, emu| Loads { sim, emu, coalesced: 0, chromium: 0 };
    let part = |name: &str, loads, cells: &[&Cell]| Part {
        name: name.to_owned(),
        loads,
        cells: cells.iter().map(|cell| Arc::clone(&cell.scenario)).collect(),
    };
    let mut suite = suite(&[]);
    suite.parts = vec![
        part("one", loads(5, 4), &[&steady]),
        part("two", loads(0, 4), &[&steady, &scattered, &unfinished]),
    ];
    let cells = [steady.clone(), steady, scattered, unfinished];
    assert!(suite.more_plans(&cells).is_empty(), "it asks for none");
    suite.more_loads = Some(MoreLoads { beyond: 0.02, loads: loads(60, 24) });
    let plans = suite.more_plans(&cells);
    // The second part is not simulated, so it is not simulated more often either.
    let shapes: Vec<_> = plans.iter().map(|p| (p.part, p.way, p.cells.clone())).collect();
    assert_eq!(shapes, [(1, MeasuredWorld::Emu, vec![1])]);
    assert_eq!(plans[0].plan.journey_count(), 24);
    let first = suite.plans().into_iter().find(|p| p.part == 1).unwrap();
    assert_ne!(plans[0].plan.seed(), first.plan.seed());
    suite.parts[1].loads.sim = 5;
    assert_eq!(suite.more_plans(&cells)[0].plan.journey_count(), 60);
}
