//! Maps an executor over a plan's journeys: workers compute, one writer stores.
//!
//! Each worker is a thread that runs one journey at a time, to its end. Results come to the calling thread, the
//! only one that writes. The stored rows depend on the plan only, never on the number of workers or the order of
//! completion; a stopped run resumes where it stopped.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::{RunId, Store, StoreError};
use scenario::grid::Skipped;
use scenario::{Execute, JourneyPlan, JourneyResult, Keep, Plan};

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Journeys stored, those of earlier attempts included.
    pub done: u64,
    /// Journeys planned.
    pub total: u64,
    /// Journeys of this attempt that failed or have a failed visit.
    pub failed: u64,
    /// The journey that was stored last in this attempt.
    pub last: Option<(&'a JourneyPlan, &'a JourneyResult)>,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every journey is stored.
    Complete,
    /// It was cancelled; journeys already begun were finished and stored.
    Interrupted {
        /// Journeys stored.
        done: u64,
        /// Journeys planned.
        total: u64,
    },
}

/// Executes the journeys of `plan` that `run` does not hold yet, on `workers` threads (at least one).
///
/// `cancel` may be set by any thread at any time: then no further journey begins. `progress` is called once before
/// the first journey and after each stored one.
pub fn run(
    store: &mut Store,
    run: RunId,
    plan: &Plan,
    execute: &dyn Execute,
    workers: usize,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<RunOutcome, StoreError> {
    let mut queue = plan.execution_order();
    let total = queue.len() as u64;
    let stored = store.stored_positions(run)?;
    queue.retain(|position| !stored.contains(position));
    let mut state = Tally { done: total - queue.len() as u64, total, failed: 0 };
    progress(state.progress(None));

    let work = WorkerState { plan, execute, queue: &queue, next: AtomicUsize::new(0), cancel };
    // A short queue: workers wait for a slow writer rather than fill the memory.
    let (sender, receiver) = sync_channel(2 * workers.max(1));
    thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            let (work, sender) = (&work, sender.clone());
            scope.spawn(move || work.run(&sender));
        }
        drop(sender);
        write(store, run, plan.keep(), receiver, &mut state, progress)
    })?;
    Ok(match state.done == state.total {
        true => RunOutcome::Complete,
        false => RunOutcome::Interrupted { done: state.done, total: state.total },
    })
}

/// Journeys counted.
struct Tally {
    done: u64,
    total: u64,
    failed: u64,
}

impl Tally {
    fn progress<'a>(&self, last: Option<(&'a JourneyPlan, &'a JourneyResult)>) -> Progress<'a> {
        let Tally { done, total, failed } = *self;
        Progress { done, total, failed, last }
    }
}

/// A journey with its result.
type FinishedJourney = (JourneyPlan, JourneyResult);

/// State shared by the workers.
struct WorkerState<'a> {
    plan: &'a Plan,
    execute: &'a dyn Execute,
    queue: &'a [u64],
    next: AtomicUsize,
    cancel: &'a AtomicBool,
}

impl WorkerState<'_> {
    /// Runs one worker: journeys until there are none, until cancelled, or until the receiver is gone.
    fn run(&self, results: &SyncSender<FinishedJourney>) {
        while !self.cancel.load(Ordering::Relaxed) {
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(position) = self.queue.get(turn) else { return };
            let journey = self.plan.journey(*position);
            let result = execute_guarded(self.execute, self.plan, &journey);
            if results.send((journey, result)).is_err() {
                return;
            }
        }
    }
}

/// Stores results until the workers are done. On an error the receiver is dropped, which stops them.
fn write(
    store: &mut Store,
    run: RunId,
    keep: Keep,
    results: Receiver<FinishedJourney>,
    state: &mut Tally,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), StoreError> {
    for (journey, result) in results {
        store.put_journey(run, keep, &journey, &result)?;
        state.done += 1;
        state.failed += u64::from(has_failed(&result));
        progress(state.progress(Some((&journey, &result))));
    }
    Ok(())
}

fn has_failed(result: &JourneyResult) -> bool {
    result.failure.is_some() || result.visits.iter().any(|v| v.record.plt_ns().is_none())
}

/// The journey's result, with the plan's omissions; a panic is a failed one, and the other journeys go on.
pub(crate) fn execute_guarded(
    execute: &dyn Execute,
    plan: &Plan,
    journey: &JourneyPlan,
) -> JourneyResult {
    let mut result = guarded(execute, journey);
    result.notes.extend(plan.skipped().iter().map(Skipped::sentence));
    result
}

fn guarded(execute: &dyn Execute, journey: &JourneyPlan) -> JourneyResult {
    // The journey owns all data that it touches, and a result that panicked is dropped whole.
    catch_unwind(AssertUnwindSafe(|| execute.execute(journey))).unwrap_or_else(|panic| {
        let failure = format!("farlink broke an invariant of its own: {}", panic_text(&*panic));
        JourneyResult { failure: Some(failure), ..JourneyResult::default() }
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::RunState;
    use crate::toy::{self, Toy, facts};
    use scenario::Order;

    struct RunnerBench {
        _directory: tempfile::TempDir,
        store: Store,
        run: RunId,
    }

    fn bench(plan: &Plan) -> RunnerBench {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::create(&directory.path().join("s")).unwrap();
        let run = store.begin_run(plan, &facts()).unwrap();
        RunnerBench { _directory: directory, store, run }
    }

    impl RunnerBench {
        fn go(&mut self, plan: &Plan, execute: &dyn Execute, workers: usize) -> RunOutcome {
            let idle = AtomicBool::new(false);
            run(&mut self.store, self.run, plan, execute, workers, &idle, &mut |_| {}).unwrap()
        }

        fn digest(&self) -> String {
            self.store.digest(self.run).unwrap()
        }
    }

    #[test]
    fn workers_and_order_leave_no_trace() {
        let cells = toy::cells(&["synthetic:24x10KB"], &[50, 200]);
        let plan = |order| Plan::new("toy", 1, 5, order, cells.clone());
        let digests = [(Order::Blocked, 1), (Order::Blocked, 2), (Order::Random, 3)].map(
            |(order, workers)| {
                let plan = plan(order);
                let mut bench = bench(&plan);
                assert_eq!(bench.go(&plan, &Toy, workers), RunOutcome::Complete);
                bench.digest()
            },
        );
        assert_eq!(digests[0], digests[1]);
        assert_eq!(digests[0], digests[2]);
    }

    #[test]
    fn a_cancelled_run_resumes_and_measures_nothing_twice() {
        let plan = toy::plan(5);
        let mut whole = bench(&plan);
        whole.go(&plan, &Toy, 1);

        let mut bench = bench(&plan);
        let cancel = AtomicBool::new(false);
        let executed = Mutex::new(Vec::new());
        let count = |journey: &JourneyPlan| {
            executed.lock().unwrap().push(journey.position);
            Toy.execute(journey)
        };
        let mut stop_at_seven = |progress: Progress| {
            cancel.store(progress.done >= 7, Ordering::Relaxed);
        };
        let RunnerBench { store, run: id, .. } = &mut bench;
        let ended = run(store, *id, &plan, &count, 2, &cancel, &mut stop_at_seven).unwrap();
        let done = match ended {
            RunOutcome::Interrupted { done, total: 20 } => done,
            other => panic!("{other:?}"),
        };
        assert!((7..20).contains(&done), "{done}");
        assert_eq!(store.stored_positions(*id).unwrap().len() as u64, done);
        assert_eq!(store.finish_run(*id, "then").unwrap(), RunState::Interrupted);

        store.resume_run(*id, &facts()).unwrap();
        assert_eq!(bench.go(&plan, &count, 2), RunOutcome::Complete);
        assert_eq!(bench.store.finish_run(bench.run, "now").unwrap(), RunState::Complete);
        let mut executed = executed.into_inner().unwrap();
        executed.sort_unstable();
        assert_eq!(executed, (0..20).collect::<Vec<u64>>());
        assert_eq!(bench.digest(), whole.digest());
    }

    #[test]
    fn a_panic_fails_its_journey_alone() {
        let plan = toy::plan(2);
        let mut bench = bench(&plan);
        let fragile = |journey: &JourneyPlan| {
            assert!(journey.position != 3, "the third one breaks");
            Toy.execute(journey)
        };
        assert_eq!(bench.go(&plan, &fragile, 2), RunOutcome::Complete);
        let journeys = bench.store.journeys(bench.run).unwrap();
        let failed: Vec<_> = journeys.iter().filter(|j| j.failure.is_some()).collect();
        assert_eq!(failed.len(), 1);
        let failure = failed[0].failure.as_deref().unwrap();
        assert_eq!(failure, "farlink broke an invariant of its own: the third one breaks");
    }

    #[test]
    fn a_store_that_fails_stops_the_workers() {
        let plan = toy::plan(50);
        let mut bench = bench(&plan);
        let twice = |journey: &JourneyPlan| {
            let mut result = Toy.execute(journey);
            if journey.position == 10 {
                result.visits.push(result.visits[0].clone());
            }
            result
        };
        let idle = AtomicBool::new(false);
        let RunnerBench { store, run: id, .. } = &mut bench;
        run(store, *id, &plan, &twice, 2, &idle, &mut |_| {}).unwrap_err();
        assert!(store.stored_positions(*id).unwrap().len() < 200);
    }
}
