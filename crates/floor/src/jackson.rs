//! Jackson's preemptive schedule: of the jobs that are there, serve the one with the largest tail.
//!
//! For one machine, jobs with heads and tails, and preemption allowed, this minimises the latest
//! `completion + tail` (Carlier 1982, section 2). O(n log n).

use std::collections::BinaryHeap;
use std::time::Duration;

use units::Time;

use super::{ServiceCurve, Work};

/// Work for the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// It cannot start before.
    pub(super) head: Time,
    /// What is to be served.
    pub(super) work: Work,
    /// What must pass after its completion.
    pub(super) tail: Duration,
}

/// A job that may be served: ordered by its tail, so that the heap gives the largest.
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
