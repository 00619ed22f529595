//! Measures what the store lacks: the simulation first, from which the duration of the rest is estimated.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use store::runner::{self, RunOutcome};
use store::{RunFacts, RunId, RunState, Store};
use testbed::worlds::Worlds;
use validate::{MeasuredWorld, PartPlan, Suite, estimate, gather_first};

use crate::args::Validate;
use crate::commands::run::{now, progress_bar};
use crate::commands::{cores, interrupt, refused, shell, stores};
use crate::failure::CliError;
use crate::show::units::counted;

/// Inputs of a measurement.
pub struct Measurement<'a> {
    /// The command line.
    pub args: &'a Validate,
    /// The suite.
    pub suite: &'a Suite,
    /// The worlds that load pages.
    pub worlds: &'a Worlds,
}

impl Measurement<'_> {
    /// Measures everything that `store` does not hold.
    pub fn run(&self, store: &mut Store) -> Result<RunOutcome, CliError> {
        let plans = self.suite.plans();
        self.check(&plans)?;
        let cancel = interrupt::flag()?;
        let (simulated, real_time): (Vec<_>, Vec<_>) =
            plans.iter().partition(|plan| plan.way == MeasuredWorld::Sim);
        let mut ended = self.all(&simulated, store, &cancel)?;
        if ended == RunOutcome::Complete {
            self.tell_estimate(store)?;
            ended = self.all(&real_time, store, &cancel)?;
        }
        if ended == RunOutcome::Complete {
            let library = self.worlds.library();
            let cells = gather_first(store, self.suite, library).map_err(stores::failed)?;
            let more = self.suite.more_plans(&cells);
            ended = self.all(&more.iter().collect::<Vec<_>>(), store, &cancel)?;
        }
        Ok(ended)
    }

    /// Rejects, before anything is measured, whatever this machine cannot do.
    fn check(&self, plans: &[PartPlan]) -> Result<(), CliError> {
        for cell in plans.iter().flat_map(|plan| plan.plan.cells()) {
            self.worlds.prepare(cell).map_err(refused)?;
        }
        Ok(())
    }

    fn all(
        &self,
        plans: &[&PartPlan],
        store: &mut Store,
        cancel: &AtomicBool,
    ) -> Result<RunOutcome, CliError> {
        for plan in plans {
            let Some(run) = self.begin(plan, store)? else { continue };
            let ended = self.execute(plan, store, run, cancel)?;
            if ended != RunOutcome::Complete {
                return Ok(ended);
            }
        }
        Ok(RunOutcome::Complete)
    }

    /// The run of a plan that is still to do; `None` if it is complete.
    fn begin(&self, plan: &PartPlan, store: &mut Store) -> Result<Option<RunId>, CliError> {
        let facts = self.facts(plan.way);
        let known = store.run_of_plan(&plan.plan.digest()).map_err(stores::failed)?;
        match known.filter(|_| !self.args.again) {
            Some(known) if known.state == RunState::Complete => Ok(None),
            Some(known) => {
                store.resume_run(known.id, &facts).map_err(stores::failed)?;
                Ok(Some(known.id))
            }
            None => store.begin_run(&plan.plan, &facts).map(Some).map_err(stores::failed),
        }
    }

    fn execute(
        &self,
        plan: &PartPlan,
        store: &mut Store,
        run: RunId,
        cancel: &AtomicBool,
    ) -> Result<RunOutcome, CliError> {
        let total = plan.plan.journey_count();
        anstream::eprintln!("{}: {}", plan.plan.name(), counted(total as usize, "load"));
        let bar = progress_bar(total);
        let mut failed = 0;
        let mut progress = |progress: runner::Progress| {
            failed = progress.failed;
            bar.set_position(progress.done);
        };
        let workers = self.at_once(plan.way);
        let ended =
            runner::run(store, run, &plan.plan, self.worlds, workers, cancel, &mut progress);
        bar.finish_and_clear();
        let ended = ended.map_err(stores::failed)?;
        store.finish_run(run, &now()).map_err(stores::failed)?;
        if failed > 0 {
            anstream::eprintln!("{failed} failed; see the report, or repeat them with --again");
        }
        Ok(ended)
    }

    /// Number of concurrent loads.
    fn at_once(&self, way: MeasuredWorld) -> usize {
        let suites = self.suite.side_by_side as usize;
        match way {
            MeasuredWorld::Sim => cores(),
            MeasuredWorld::Emu | MeasuredWorld::Coalesced | MeasuredWorld::Calibrated => {
                self.args.jobs.map_or(suites, NonZeroUsize::get)
            }
            // Browsers disturb each other most, by their own work.
            MeasuredWorld::Chromium => 1,
        }
    }

    fn tell_estimate(&self, store: &Store) -> Result<(), CliError> {
        let side_by_side = self.at_once(MeasuredWorld::Emu);
        let estimate = estimate(store, self.suite, self.worlds.library(), side_by_side)
            .map_err(stores::failed)?;
        anstream::eprintln!(
            "{} in real time, about {} min ({side_by_side} in parallel; browsers one at a time)",
            counted(estimate.loads as usize, "load"),
            estimate.wall.as_secs().div_ceil(60),
        );
        Ok(())
    }

    fn facts(&self, way: MeasuredWorld) -> RunFacts {
        RunFacts {
            experiment: Some(self.suite.text.clone()),
            command: shell::this_command(),
            machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            workers: self.at_once(way) as u32,
            started_at: now(),
        }
    }
}
