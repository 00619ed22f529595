//! Jackson's preemptive schedule: among released jobs, serve the one with the largest tail.
//!
//! For one machine, jobs with heads and tails, and preemption, this minimises the latest `completion + tail`
//! (Carlier 1982, section 2). O(n log n).

use std::collections::BinaryHeap;
use std::time::Duration;

use units::Time;

use super::{ServiceCurve, Work};

/// A job for the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Earliest start.
    pub(super) head: Time,
    /// Amount of service.
    pub(super) work: Work,
    /// Time that must pass after completion.
    pub(super) tail: Duration,
}

/// A released job, ordered by its tail so that the heap yields the largest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    tail: Duration,
    remaining: Work,
}

/// The earliest time by which all jobs can be completed and their tails have passed.
pub(super) fn makespan(mut jobs: Vec<Job>, curve: &impl ServiceCurve) -> Time {
    jobs.sort_by_key(|job| job.head);
    let mut arrivals = jobs.into_iter().peekable();
    let mut ready = BinaryHeap::new();
    let (mut now, mut end) = (Time::ZERO, Time::ZERO);
    loop {
        while let Some(job) = arrivals.next_if(|job| job.head <= now) {
            ready.push(Ready { tail: job.tail, remaining: job.work });
        }
        let next_arrival = arrivals.peek().map(|job| job.head);
        let Some(mut job) = ready.pop() else {
            match next_arrival {
                Some(head) => now = head,
                None => return end,
            }
            continue;
        };
        let completion = curve.finish(now, job.remaining);
        match next_arrival {
            Some(head) if head < completion => {
                let served = curve.served_by(head) - curve.served_by(now);
                job.remaining = job.remaining - served;
                ready.push(job);
                now = head;
            }
            _ => {
                end = end.max(completion + job.tail);
                now = completion;
            }
        }
    }
}
