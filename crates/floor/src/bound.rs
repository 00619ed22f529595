//! Relaxation of a page to jobs with heads and tails, and the floor computed from them by Jackson's schedule.

use std::collections::BinaryHeap;
use std::time::Duration;

use page::Edge;
use units::Time;

use super::load::prefix_bytes;
use super::{Compute, Discovery, PageLoad, Path, ServiceCurve, Work};
use crate::costs::Costs;
use crate::load::ObjectNeeds;

/// The four floors of a page on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floors {
    /// The client discovers the graph; compute as given.
    pub graph: Duration,
    /// The client discovers the graph; no compute.
    pub graph_without_compute: Duration,
    /// Everything is known at the start; the client's compute as given.
    pub oracle: Duration,
    /// Everything is known at the start; no compute.
    pub oracle_without_compute: Duration,
}

impl Floors {
    /// The floors of a page load on `path`.
    pub fn of(load: &PageLoad<'_>, path: &Path<impl ServiceCurve>) -> Floors {
        let floor = |discovery, compute| floor(load, path, discovery, compute);
        let graph = floor(Discovery::ByClient, Compute::AsGiven);
        let oracle = floor(Discovery::Known, Compute::AsGiven);
        if !load.has_work() {
            return Floors {
                graph,
                graph_without_compute: graph,
                oracle,
                oracle_without_compute: oracle,
            };
        }
        Floors {
            graph,
            graph_without_compute: floor(Discovery::ByClient, Compute::None),
            oracle,
            oracle_without_compute: floor(Discovery::Known, Compute::None),
        }
    }
}

impl Floors {
    /// Floors of a client for which a machine nearer the hosts discovers the page: as if everything were known
    /// at the start.
    #[must_use]
    pub fn found_for_client(self) -> Floors {
        let Floors { oracle, oracle_without_compute, .. } = self;
        Floors { graph: oracle, graph_without_compute: oracle_without_compute, ..self }
    }

    /// The same floors if nothing leaves the client for `wait` at the start. Service during the wait is
    /// useless, so the path's curve must begin after it.
    #[must_use]
    pub fn after(self, wait: Duration) -> Floors {
        Floors {
            graph: self.graph + wait,
            graph_without_compute: self.graph_without_compute + wait,
            oracle: self.oracle + wait,
            oracle_without_compute: self.oracle_without_compute + wait,
        }
    }
}

/// The least time from the first request to the load event.
pub fn floor(
    load: &PageLoad<'_>,
    path: &Path<impl ServiceCurve>,
    discovery: Discovery,
    compute: Compute,
) -> Duration {
    let needs = ObjectNeeds::of(load, discovery, compute);
    let bound = Bound { costs: Costs { load, path }, discovery, compute, needs };
    makespan(bound.jobs(), &path.curve).since(Time::ZERO)
}

/// A page load on a path, to be converted to jobs.
struct Bound<'a, C> {
    costs: Costs<'a, C>,
    discovery: Discovery,
    compute: Compute,
    needs: ObjectNeeds,
}

impl<C: ServiceCurve> Bound<'_, C> {
    /// One job for each stretch between two cuts of each needed object.
    fn jobs(&self) -> Vec<Job> {
        let (heads, tails) = (self.heads(), self.tails());
        let mut jobs = Vec::new();
        for (index, head) in heads.into_iter().enumerate() {
            let mut begin = 0;
            for (cut, &tail) in self.needs.cuts(index).iter().zip(&tails[index]) {
                jobs.push(Job { head, work: self.costs.work(index, begin, cut.position), tail });
                begin = cut.position;
            }
        }
        jobs
    }

    /// For each object, the earliest time at which its first byte can be at the bottleneck: the bytes that
    /// reveal it are served at the full rate, as if alone.
    fn heads(&self) -> Vec<Time> {
        let objects = &self.costs.load.page.objects;
        let mut heads: Vec<Time> = Vec::with_capacity(objects.len());
        for (index, object) in objects.iter().enumerate() {
            let discovered = match self.discovery {
                Discovery::Known => None,
                Discovery::ByClient => {
                    object.waits_for.iter().map(|edge| self.seen(edge, &heads)).max()
                }
            };
            heads.push(discovered.unwrap_or(Time::ZERO) + self.costs.request_delay(index));
        }
        heads
    }

    /// Earliest time at which an edge's condition can be met and its compute be done.
    fn seen(&self, edge: &Edge, heads: &[Time]) -> Time {
        let leader = edge.object.0 as usize;
        let prefix = prefix_bytes(edge, &self.costs.load.page.objects[leader]);
        let served =
            self.costs.path.curve.finish(heads[leader], self.costs.work(leader, 0, prefix));
        served + self.costs.down_delay(leader) + self.costs.load.edge_work(edge, self.compute)
    }

    /// For each cut of each object, the least time from its service to the load event.
    fn tails(&self) -> Vec<Vec<Duration>> {
        let count = self.costs.load.page.objects.len();
        let mut tails = vec![Vec::new(); count];
        // From the time at which an object is wanted to the load event.
        let mut onward = vec![Duration::ZERO; count];
        for index in (0..count).rev().filter(|index| self.needs.is_needed(*index)) {
            tails[index] = self.tails_of(index, &onward);
            onward[index] = self.onward(index, &tails[index], &onward);
        }
        tails
    }

    /// Tails of one object's cuts, first to last: the longer of what the bytes up to the cut set off, and the
    /// bytes up to the next cut with their own tail.
    fn tails_of(&self, index: usize, onward: &[Duration]) -> Vec<Duration> {
        let cuts = self.needs.cuts(index);
        let mut tails = Vec::with_capacity(cuts.len());
        let mut next: Option<(u64, Duration)> = None;
        for cut in cuts.iter().rev() {
            let after_arrival = cut
                .followers
                .iter()
                .map(|&(follower, work)| work + onward[follower])
                .chain(cut.last_work)
                .max()
                .unwrap_or_default();
            let rest = next.map_or(Duration::ZERO, |(end, tail)| {
                self.costs.path.curve.least_time(self.costs.work(index, cut.position, end)) + tail
            });
            let tail = rest.max(self.costs.down_delay(index) + after_arrival);
            tails.push(tail);
            next = Some((cut.position, tail));
        }
        tails.reverse();
        tails
    }

    /// The least time from the discovery of an object to the load event. If the client knew the object all
    /// along, only compute is left.
    fn onward(&self, index: usize, tails: &[Duration], onward: &[Duration]) -> Duration {
        let cuts = self.needs.cuts(index);
        match self.discovery {
            Discovery::ByClient => {
                let first = cuts.first().map_or(0, |cut| cut.position);
                self.costs.request_delay(index)
                    + self.costs.path.curve.least_time(self.costs.work(index, 0, first))
                    + tails.first().copied().unwrap_or_default()
            }
            Discovery::Known => {
                let followers = cuts.iter().flat_map(|cut| &cut.followers);
                let work = followers.map(|&(follower, work)| work + onward[follower]);
                work.chain(cuts.iter().filter_map(|cut| cut.last_work)).max().unwrap_or_default()
            }
        }
    }
}

// Jackson's preemptive schedule: among released jobs, serve the one with the largest tail.
//
// For one machine, jobs with heads and tails, and preemption, this minimises the latest `completion + tail`
// (Carlier 1982, section 2). O(n log n).

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
struct ReleasedJob {
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
            ready.push(ReleasedJob { tail: job.tail, remaining: job.work });
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
