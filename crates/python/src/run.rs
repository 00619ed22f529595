//! A plan carried out: journeys on threads of their own, while the calling thread listens for Ctrl-C and tells progress.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::{Duration, SystemTime};

use pyo3::prelude::*;
use scenario::Plan;
use statistics::{Sample, next_look, relative_width};
use store::runner::{self, RunOutcome};
use store::{RunFacts, RunId, RunState, Store, StoreError};
use testbed::worlds::Worlds;

use crate::failure::Failure;
use crate::results::Run;
use crate::stores::{Mark, Place, check_file};

/// Time between two looks for Ctrl-C, and between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// A plan to carry out.
pub struct Task {
    /// The plan.
    pub plan: Plan,
    /// Text of its experiment file, if there is one.
    pub text: Option<String>,
    /// Its worlds.
    pub worlds: Arc<Worlds>,
    /// Concurrent journeys.
    pub workers: usize,
    /// True to run even if the store holds a complete run of the plan.
    pub again: bool,
}

/// State shared between the thread that calls and the one that writes.
#[derive(Default)]
struct Shared {
    cancel: AtomicBool,
    has_ended: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    failed: AtomicU64,
}

/// Announces the end of the writing thread, also if it panics.
struct Announcement<'a> {
    shared: &'a Shared,
    caller: Thread,
}

impl Drop for Announcement<'_> {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Release);
        self.caller.unpark();
    }
}

/// Runs what the store at `path`, or a new one in memory, does not hold yet.
pub fn run(
    py: Python<'_>,
    task: Task,
    path: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> Result<Run, Failure> {
    let (mut store, mark) = match &path {
        None => (Store::in_memory()?, None),
        Some(path) => {
            check_file(path)?;
            let store = Store::open_or_create(path)?;
            (store, Some(Mark::set(path)?))
        }
    };
    let shared = Shared::default();
    let id = watched(py, &shared, progress, || carry_out(&mut store, &task, &shared))?;
    let place = match path {
        None => Place::Memory(Mutex::new(store)),
        Some(path) => {
            drop(store);
            Place::File(path)
        }
    };
    drop(mark);
    Ok(Run::new(place, id, task.worlds))
}

/// Carries out `work` on another thread without Python's lock. An exception, Ctrl-C's or the callback's, cancels it; it is
/// raised once the journeys in progress are stored.
fn watched(
    py: Python<'_>,
    shared: &Shared,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce() -> Result<RunId, Failure> + Send,
) -> Result<RunId, Failure> {
    let caller = thread::current();
    thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let _announced = Announcement { shared, caller };
            work()
        });
        let mut told = None;
        let mut exception = None;
        while !shared.has_ended.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(TICK));
            let mut heed =
                || py.check_signals().and_then(|()| tell(py, shared, &progress, &mut told));
            if exception.is_none()
                && let Err(raised) = heed()
            {
                shared.cancel.store(true, Ordering::Relaxed);
                exception = Some(raised);
            }
        }
        let ended = py.detach(|| worker.join());
        let ended = ended.unwrap_or_else(|_| {
            Err(Failure::refused(
                "farlink broke an invariant of its own; what it printed says which",
            ))
        });
        match exception {
            Some(raised) => Err(Failure::Raised(raised)),
            None => ended,
        }
    })
}

/// Calls the callback if anything has changed since the last call.
fn tell(
    py: Python<'_>,
    shared: &Shared,
    progress: &Option<Py<PyAny>>,
    told: &mut Option<[u64; 3]>,
) -> PyResult<()> {
    let now = [&shared.done, &shared.total, &shared.failed].map(|it| it.load(Ordering::Relaxed));
    let Some(progress) = progress.as_ref().filter(|_| now[1] > 0 && *told != Some(now)) else {
        return Ok(());
    };
    *told = Some(now);
    progress.call1(py, (now[0], now[1], now[2])).map(drop)
}

/// Executes the part of the plan that the store does not hold, with more repetitions as its stop rule asks for.
fn carry_out(store: &mut Store, task: &Task, shared: &Shared) -> Result<RunId, Failure> {
    let Some(id) = begin(store, task)? else {
        let known = store.run_of_plan(&task.plan.digest())?;
        return known.map(|run| run.id).ok_or_else(|| Failure::refused("the run is gone"));
    };
    let mut plan = task.plan.clone().repeated(store.run(id)?.repetitions);
    let mut failed_before = 0;
    loop {
        shared.total.store(plan.own_journey_count(), Ordering::Relaxed);
        let mut failed = 0;
        let ended = runner::run(
            store,
            id,
            &plan,
            &*task.worlds,
            task.workers,
            &shared.cancel,
            &mut |progress| {
                failed = progress.failed;
                shared.done.store(progress.done, Ordering::Relaxed);
                shared.failed.store(failed_before + failed, Ordering::Relaxed);
            },
        )?;
        failed_before += failed;
        let Some(more) = extended(&plan, store, id)?.filter(|_| ended == RunOutcome::Complete)
        else {
            break;
        };
        plan = more;
        store.extend_run(id, &plan)?;
    }
    store.finish_run(id, &now())?;
    Ok(id)
}

/// Begins or resumes the run; `None` if it is complete.
fn begin(store: &mut Store, task: &Task) -> Result<Option<RunId>, StoreError> {
    let facts = RunFacts {
        experiment: task.text.clone(),
        command: "farlink for Python".to_owned(),
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        workers: task.workers as u32,
        started_at: now(),
    };
    match store.run_of_plan(&task.plan.digest())?.filter(|_| !task.again) {
        Some(known) if known.state == RunState::Complete => Ok(None),
        Some(known) => {
            store.resume_run(known.id, &facts)?;
            Ok(Some(known.id))
        }
        None => Ok(Some(store.begin_run(&task.plan, &facts)?)),
    }
}

/// The plan with more repetitions, if its stop rule asks for them.
fn extended(plan: &Plan, store: &Store, id: RunId) -> Result<Option<Plan>, StoreError> {
    let Some(rule) = plan.stop_rule().filter(|rule| plan.repetitions() < rule.most) else {
        return Ok(None);
    };
    let is_wide = widest(&store.load_times(id)?) > rule.width();
    Ok(is_wide.then(|| plan.clone().repeated(next_look(plan.repetitions()))))
}

/// The widest interval of a median, relative to the median; infinite for one of too few loads.
fn widest(times: &BTreeMap<(u32, u32), Vec<u64>>) -> f64 {
    let width = |loads: &Vec<u64>| {
        let sample = Sample::new(loads.iter().map(|ns| *ns as f64))?;
        Some(relative_width(&sample).unwrap_or(f64::INFINITY))
    };
    times.values().filter_map(width).fold(0.0, f64::max)
}

/// Copies all runs of the stores at `parts` into the one at `into`; returns the last run that was touched.
pub fn merge(into: &Path, parts: &[PathBuf]) -> Result<Option<RunId>, Failure> {
    check_file(into)?;
    let mut store = Store::open_or_create(into)?;
    let mark = Mark::set(into)?;
    let mut touched = BTreeSet::new();
    for path in parts {
        let part = Store::open(path)?;
        for run in part.runs()? {
            touched.insert(store.merge_run(&part, run.id)?.run);
        }
    }
    for run in &touched {
        store.finish_run(*run, &now())?;
    }
    drop(store);
    drop(mark);
    Ok(touched.into_iter().next_back())
}

/// Copies a run into the store at `into`.
pub fn copy(from: &Store, run: RunId, into: &Path) -> Result<RunId, Failure> {
    check_file(into)?;
    let mut store = Store::open_or_create(into)?;
    let mark = Mark::set(into)?;
    let merged = store.merge_run(from, run)?;
    store.finish_run(merged.run, &now())?;
    drop(store);
    drop(mark);
    Ok(merged.run)
}

/// Positions of the plan's journeys that the store at `path` holds; none if there is no store.
pub fn stored_positions(plan: &Plan, path: &Path) -> Result<BTreeSet<u64>, Failure> {
    if !path.exists() {
        return Ok(BTreeSet::new());
    }
    let store = Store::open(path)?;
    Ok(match store.run_of_plan(&plan.digest())? {
        Some(run) => store.stored_positions(run.id)?,
        None => BTreeSet::new(),
    })
}

/// The date and time, as RFC 3339 writes them.
#[expect(clippy::disallowed_methods, reason = "the date of a run, which no result depends on")]
pub fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let moment = jiff::Timestamp::from_second(since.as_secs() as i64);
    moment.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
