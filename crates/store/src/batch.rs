//! Executes a plan that is small enough to be held in memory, without a store.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::runner::execute_guarded;
use scenario::Plan;
use scenario::{Execute, JourneyPlan, JourneyResult};

/// Journeys with their results, in the plan's order.
pub type Results = Vec<(JourneyPlan, JourneyResult)>;

/// The results of every journey of `plan`, computed on `workers` threads; fewer if `cancel` was set.
pub fn collect(plan: &Plan, execute: &dyn Execute, workers: usize, cancel: &AtomicBool) -> Results {
    collect_rest(plan, Vec::new(), execute, workers, cancel)
}

/// The same with `results` of earlier repetitions, which are not computed again.
pub fn collect_rest(
    plan: &Plan,
    results: Results,
    execute: &dyn Execute,
    workers: usize,
    cancel: &AtomicBool,
) -> Results {
    let known: BTreeSet<u64> = results.iter().map(|(journey, _)| journey.position).collect();
    let mut order = plan.execution_order();
    order.retain(|position| !known.contains(position));
    let next = AtomicUsize::new(0);
    let results = Mutex::new(results);
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, order.len().max(1)) {
            scope.spawn(|| {
                while let Some(position) = order.get(next.fetch_add(1, Ordering::Relaxed))
                    && !cancel.load(Ordering::Relaxed)
                {
                    let journey = plan.journey(*position);
                    let result = execute_guarded(execute, plan, &journey);
                    let mut results = results.lock().unwrap_or_else(|p| p.into_inner());
                    results.push((journey, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(journey, _)| journey.position);
    results
}
