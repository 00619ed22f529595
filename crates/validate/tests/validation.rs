//! A whole validation, with a second simulator in place of the emulator: other seeds, and every page load
//! slower by a known factor.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use farlink_validate::report::{Facts, html};
use farlink_validate::{
    Figure, Gauge, MeasuredWorld, Suite, TargetOutcome, estimate, gather, judge,
};
use record::VisitOutcome as Loaded;
use scenario::experiment::Source;
use scenario::{Execute, JourneyPlan, JourneyResult};
use scenario::{Scenario, World};
use std::sync::Arc;
use store::runner;
use store::{RunFacts, Store};
use testbed::simulate::Simulator;
use testbed::tour::Library;

const SUITE: &str = r#"
format = 1
name = "stand-in"
seed = 3

[needs]
cells = 2
emu_lossless = 6
sim_lossy = 40
emu_lossy = 20
chromium = 2

[targets]
ratio_median = "3%"
ratio_sign = "95%"
lossless_median = "3%"
lossy_median = "6%"

[better_than_lantern]
lossless_median = 3

[[part]]
name = "lossless"
sim_loads = 8
emu_loads = 6
[part.page]
name = "synthetic:12x10KB"
[part.network]
down = "5mbit"
up = "1mbit"
rtt = ["40ms", "200ms"]
[part.stack]
protocol = ["h1", "h2"]

[[part]]
name = "lossy"
sim_loads = 40
emu_loads = 20
[part.page]
name = "synthetic:12x10KB"
[part.network]
down = "5mbit"
up = "1mbit"
rtt = "80ms"
loss = "2%"
[part.stack]
protocol = ["h1", "h2"]
"#;

/// The simulator, posing as an emulator that takes `factor` times as long.
struct StandIn<'a> {
    simulator: &'a Simulator,
    factor: f64,
}

impl Execute for StandIn<'_> {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        let scenario = Scenario { world: World::Sim, ..(*journey.scenario).clone() };
        let seed = journey.seed ^ 0x5555;
        let plan = JourneyPlan { scenario: scenario.into(), seed, ..journey.clone() };
        let mut result = self.simulator.execute(&plan);
        for visit in &mut result.visits {
            if let Loaded::Loaded { plt_ns } = &mut visit.record.outcome {
                *plt_ns = (*plt_ns as f64 * self.factor) as u64;
            }
        }
        result
    }
}

fn facts() -> RunFacts {
    RunFacts {
        experiment: None,
        command: "farlink validate".to_owned(),
        machine: "a test".to_owned(),
        workers: 2,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
    }
}

/// Measures everything that the store does not hold.
fn measure(store: &mut Store, suite: &Suite, simulator: &Simulator, factor: f64) {
    let stand_in = StandIn { simulator, factor };
    for part in suite.plans() {
        let execute: &dyn Execute =
            if part.way == MeasuredWorld::Sim { simulator } else { &stand_in };
        let run = store.begin_run(&part.plan, &facts()).unwrap();
        let idle = AtomicBool::new(false);
        runner::run(store, run, &part.plan, execute, 2, &idle, &mut |_| {}).unwrap();
        store.finish_run(run, "2026-01-01T00:00:01Z").unwrap();
    }
}

fn suite(library: &Library) -> Suite {
    Suite::read(&Source::new("stand-in.toml", SUITE), &[], library).unwrap()
}

fn store(directory: &Path) -> Store {
    Store::create(&directory.join("store")).unwrap()
}

#[test]
fn a_stand_in_that_is_the_same_passes_and_makes_a_report() {
    let directory = tempfile::tempdir().unwrap();
    let (mut store, library) = (store(directory.path()), Arc::new(Library::default()));
    let (suite, simulator) = (suite(&library), Simulator::new(Arc::clone(&library)));

    let before = estimate(&store, &suite, &library, 4).unwrap();
    assert_eq!(before.loads, 4 * 6 + 2 * 20);
    assert!(before.wall.as_secs_f64() > 16.0, "{before:?}");
    measure(&mut store, &suite, &simulator, 1.0);
    assert_eq!(estimate(&store, &suite, &library, 4).unwrap().loads, 0);

    let cells = gather(&store, &suite, &library).unwrap().0;
    let judgement = judge(&suite, &cells);
    for verdict in &judgement.verdicts {
        assert_eq!(verdict.outcome, TargetOutcome::Met, "{verdict:?}");
    }
    assert_eq!((judgement.subjects.len(), judgement.pairs.len()), (6, 3));

    let document = html(&suite, &cells, &judgement, &Facts::default());
    assert!(document.contains("5 targets met, 0 missed."), "the answer");
    assert!(document.contains("synthetic:12x10KB, rtt=80ms,down=5mbit,up=1mbit,loss=0.02"));
    assert!(!document.contains("src=\"http"), "nothing is loaded from anywhere");
}

#[test]
fn a_stand_in_that_is_slower_is_found_out() {
    let directory = tempfile::tempdir().unwrap();
    let (mut store, library) = (store(directory.path()), Arc::new(Library::default()));
    let (suite, simulator) = (suite(&library), Simulator::new(Arc::clone(&library)));
    measure(&mut store, &suite, &simulator, 1.25);
    let judgement = judge(&suite, &gather(&store, &suite, &library).unwrap().0);
    let verdict = |figure| {
        let gauge = Gauge::Figure(figure);
        judgement.verdicts.iter().find(|v| v.target.gauge == gauge).unwrap()
    };
    // All are slower by the same factor: times are off by a fifth, ratios are right.
    let lossless = verdict(Figure::LosslessMedian);
    assert_eq!(lossless.outcome, TargetOutcome::Missed);
    assert!((0.17..0.23).contains(&lossless.value.unwrap()), "{lossless:?}");
    assert_eq!(verdict(Figure::LossyMedian).outcome, TargetOutcome::Missed);
    assert_eq!(verdict(Figure::RatioMedian).outcome, TargetOutcome::Met);
    let bias = judgement.biases.iter().find(|b| b.value == "h2").unwrap();
    assert!((-0.25..-0.19).contains(&bias.median), "log(1 / 1.25) is -0.22, not {}", bias.median);
}
