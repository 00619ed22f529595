//! Critical path of a visit, and the split of its excess over the floor by cause.
//!
//! [`chain`] follows the visit back from the load event: the object that ended last, its waits, the object whose arrival revealed it,
//! and so on to navigation start. [`spans`] labels each instant of that chain with what was waited for. Here the part
//! that physics requires is taken out: of each object on the chain its propagation, think time, transmission at the full rate and
//! compute, as the floor counts them, and then time until exactly the floor is taken out: first where the link was the limit,
//! then where it was busy anyway, since it was carrying bytes of the page, and then everywhere in proportion. What is left
//! sums to page load time minus floor, exactly.

mod chain;
mod spans;

use std::time::Duration;

use page::Page;
use record::{CriticalPath, PathCause, PathStep, Period, VisitRecord};

use self::chain::{ChainLink, chain, last_of_load, last_of_render};
use self::spans::{Span, Spans};
use crate::costs::Costs;
use crate::{PageLoad, Path, ServiceCurve};

/// Floor of a visit, as its critical path needs it.
#[derive(Clone, Copy, Debug)]
pub struct FloorOfVisit {
    /// The floor of a client that discovers the page.
    pub floor: Duration,
    /// Part of it during which nothing leaves the client, as its radio sleeps.
    pub radio_wait: Duration,
}

/// The critical path to the load event of a visit, whose page and path are those of its floor; `None` if it did not load.
pub fn critical_path(
    load: &PageLoad<'_>,
    path: &Path<impl ServiceCurve>,
    record: &VisitRecord,
    floor: FloorOfVisit,
) -> Option<CriticalPath> {
    let plt_ns = record.plt_ns()?;
    let loaded_ns = record.started_at_ns + plt_ns;
    let last = last_of_load(load.page, record, loaded_ns)?;
    let links = chain(load.page, record, loaded_ns, last);
    let spans = labelled(load, path, record, &links, floor.radio_wait);
    let mut steps = Steps { spans: spans.all, busy: &record.activity.busy };
    let other = steps.reduce_to(plt_ns, nanos(floor.floor));
    let path = CriticalPath { steps: steps.finish(record.started_at_ns, plt_ns, other) };
    debug_assert_eq!(
        path.total_excess_ns(),
        plt_ns as i64 - nanos(floor.floor) as i64,
        "causes sum to the excess"
    );
    Some(path)
}

/// The critical path to the first render of a visit: as painted by a browser, else when everything that blocks it has been processed. It has
/// no floor of its own: excess is what the objects on the path did not need for themselves.
pub fn render_path(
    load: &PageLoad<'_>,
    path: &Path<impl ServiceCurve>,
    record: &VisitRecord,
    radio_wait: Duration,
) -> Option<CriticalPath> {
    let render_ns = record.first_render_ns()?;
    let rendered_ns = record.started_at_ns + render_ns;
    let last = last_of_render(load.page, record, rendered_ns)?;
    let links = chain(load.page, record, rendered_ns, last);
    let spans = labelled(load, path, record, &links, radio_wait);
    let steps = Steps { spans: spans.all, busy: &record.activity.busy };
    Some(CriticalPath { steps: steps.finish(record.started_at_ns, render_ns, 0) })
}

/// The instants of a chain with their causes.
fn labelled<'a>(
    load: &PageLoad<'_>,
    path: &Path<impl ServiceCurve>,
    record: &'a VisitRecord,
    links: &[ChainLink<'_>],
    radio_wait: Duration,
) -> Spans<'a> {
    let costs = Costs { load, path };
    let mut spans = Spans::new(record);
    for (at, link) in links.iter().enumerate() {
        let next = links.get(at + 1).map(|link| link.index);
        spans.add_link(&costs, link, least_compute(load, link.index, next));
    }
    spans.take_radio(nanos(radio_wait));
    spans
}

/// The client's least compute between the arrival of an object and the discovery of the next, or the load event.
fn least_compute(load: &PageLoad<'_>, index: usize, next: Option<usize>) -> u64 {
    let as_given = crate::Compute::AsGiven;
    let Some(next) = next else { return nanos(load.own_work(index, as_given)) };
    let edges = load.page.objects[next].waits_for.iter();
    let edge = edges.filter(|edge| edge.object.0 as usize == index);
    nanos(edge.map(|edge| load.edge_work(edge, as_given)).max().unwrap_or_default())
}

/// Spans whose excess is being reduced.
struct Steps<'a> {
    spans: Vec<Span>,
    busy: &'a [Period],
}

impl Steps<'_> {
    /// Reduces the excess of the spans to `plt_ns - floor_ns`; returns what cannot be reached so.
    fn reduce_to(&mut self, plt_ns: u64, floor_ns: u64) -> i64 {
        let wanted = plt_ns as i64 - floor_ns as i64;
        let mut surplus = self.excess() as i64 - wanted;
        if surplus <= 0 {
            return -surplus;
        }
        let at_link = |span: &Span| if span.cause == PathCause::Queue { span.excess_ns } else { 0 };
        surplus -= self.reduce(surplus, at_link);
        let busy = self.busy;
        surplus -= self.reduce(surplus, |span| match span.cause {
            PathCause::Compute => 0,
            _ => span.excess_ns.min(spans::overlap(busy, span.from_ns, span.until_ns)),
        });
        surplus -= self.reduce(surplus, |span| span.excess_ns);
        -surplus
    }

    fn excess(&self) -> u64 {
        self.spans.iter().map(|span| span.excess_ns).sum()
    }

    /// Takes up to `surplus` from the spans, each in proportion to its share of what may be taken; returns the amount taken.
    fn reduce(&mut self, surplus: i64, may_take: impl Fn(&Span) -> u64) -> i64 {
        let shares: Vec<u64> = self.spans.iter().map(may_take).collect();
        let total: u64 = shares.iter().sum();
        let amount = total.min(u64::try_from(surplus).unwrap_or(0));
        let (mut before, mut taken) = (0u128, 0u64);
        for (span, share) in self.spans.iter_mut().zip(shares) {
            before += u128::from(share);
            let until = (u128::from(amount) * before / u128::from(total.max(1))) as u64;
            span.excess_ns -= until - taken;
            taken = until;
        }
        amount as i64
    }

    /// The steps: adjacent spans of one object and cause are one, and so are those of a response that alternate. The rest that cannot be explained is a step of its own.
    fn finish(self, started_ns: u64, plt_ns: u64, other: i64) -> Vec<PathStep> {
        let mut steps: Vec<PathStep> = Vec::with_capacity(self.spans.len());
        let spans = sorted_responses(&self.spans);
        for span in spans.iter().filter(|span| span.until_ns > span.from_ns) {
            let Span { object, cause, excess_ns, .. } = *span;
            match steps.last_mut() {
                Some(last) if (last.object, last.cause) == (object, cause) => {
                    last.until_ns = span.until_ns - started_ns;
                    last.excess_ns += excess_ns as i64;
                }
                _ => steps.push(PathStep {
                    object,
                    cause,
                    from_ns: span.from_ns - started_ns,
                    until_ns: span.until_ns - started_ns,
                    excess_ns: excess_ns as i64,
                }),
            }
        }
        if other != 0 {
            let object = steps.last().map_or(0, |last| last.object);
            let (from_ns, until_ns) = (plt_ns, plt_ns);
            let cause = PathCause::Other;
            steps.push(PathStep { object, cause, from_ns, until_ns, excess_ns: other });
        }
        steps
    }
}

/// The spans with those of each response sorted by cause, in the order of their first appearance: a link that is busy with every other
/// packet would make hundreds of steps. Each response keeps its beginning and end, and each cause its length.
fn sorted_responses(spans: &[Span]) -> Vec<Span> {
    let mut sorted = Vec::with_capacity(spans.len());
    for run in spans.chunk_by(|one, next| {
        one.object == next.object && one.is_of_response() && next.is_of_response()
    }) {
        let mut at = run[0].from_ns;
        let mut causes: Vec<PathCause> = Vec::new();
        for span in run {
            if !causes.contains(&span.cause) {
                causes.push(span.cause);
            }
        }
        for cause in causes {
            let its = || run.iter().filter(|span| span.cause == cause);
            let (from_ns, length) =
                (at, its().map(|span| span.until_ns - span.from_ns).sum::<u64>());
            at += length;
            let excess_ns = its().map(|span| span.excess_ns).sum();
            sorted.push(Span { object: run[0].object, cause, from_ns, until_ns: at, excess_ns });
        }
    }
    sorted
}

/// Prefix of an object that reveals another, in bytes.
fn revealing_bytes(page: &Page, leader: usize, next: usize) -> u64 {
    let edges = page.objects[next].waits_for.iter();
    let edges = edges.filter(|edge| edge.object.0 as usize == leader);
    edges.map(|edge| crate::load::prefix_bytes(edge, &page.objects[leader])).max().unwrap_or(0)
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
