//! Executes a plan that is small enough to be held in memory, without a store.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::runner::execute_guarded;
use scenario::Plan;
use scenario::{Execute, JourneyPlan, JourneyResult};

/// The results of every journey of `plan`, in the plan's order, computed on `workers` threads; fewer if `cancel` was set.
pub fn collect(
    plan: &Plan,
    execute: &dyn Execute,
    workers: usize,
    cancel: &AtomicBool,
) -> Vec<(JourneyPlan, JourneyResult)> {
    let order = plan.execution_order();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(order.len()));
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, order.len()) {
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
