//! Labels of the instants of a critical path.

use record::{ConnectionRecord, PathCause, Period, VisitRecord, waited_behind};

use super::chain::ChainLink;
use super::nanos;
use crate::ServiceCurve;
use crate::costs::Costs;

/// A stretch of the critical path with one cause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) object: u32,
    pub(super) cause: PathCause,
    pub(super) from_ns: u64,
    pub(super) until_ns: u64,
    /// The part that is not known to be required by physics.
    pub(super) excess_ns: u64,
}

impl Span {
    /// True if it is a wait for a response at the bottleneck.
    pub(super) fn is_of_response(&self) -> bool {
        use PathCause::{HeadOfLine, Loss, Queue, Window};
        matches!(self.cause, HeadOfLine | Loss | Queue | Window)
    }
}

/// Spans of a visit's critical path, in chronological order.
pub(super) struct Spans<'a> {
    record: &'a VisitRecord,
    /// Time that each object waited behind others on its connection.
    behind: Vec<u64>,
    pub(super) all: Vec<Span>,
}

impl<'a> Spans<'a> {
    pub(super) fn new(record: &'a VisitRecord) -> Spans<'a> {
        Spans { record, behind: waited_behind(&record.objects), all: Vec::new() }
    }

    /// Appends the spans of one object: from its discovery to the end of the compute that follows its arrival, which takes at
    /// least `least_compute_ns`.
    pub(super) fn add_link<C: ServiceCurve>(
        &mut self,
        costs: &Costs<'_, C>,
        link: &ChainLink<'_>,
        least_compute_ns: u64,
    ) {
        let first = self.all.len();
        let asked = self.add_request(link);
        let object = link.record.object;
        let end = link.arrived_ns;
        let requested = (asked + nanos(costs.request_delay(link.index))).min(end);
        let served = end.saturating_sub(nanos(costs.down_delay(link.index))).max(requested);
        self.push(object, PathCause::RoundTrip, asked, requested);
        self.add_response(link, requested, served);
        self.push(object, PathCause::RoundTrip, served, end);
        self.cover_losses(first, link);
        let record = self.record;
        self.cover(first, &record.activity.radio, PathCause::Radio, |_| true);
        let transfer = nanos(costs.path.curve.least_time(costs.work(link.index, 0, link.bytes)));
        self.take_transfer(first, transfer, requested, served);
        self.push(object, PathCause::Compute, end, link.computed_ns);
        if let Some(compute) = self.all.last_mut() {
            compute.excess_ns = compute.excess_ns.saturating_sub(least_compute_ns);
        }
    }

    fn push(&mut self, object: u32, cause: PathCause, from_ns: u64, until_ns: u64) {
        let is_physics = cause == PathCause::RoundTrip;
        let excess_ns = if is_physics { 0 } else { until_ns.saturating_sub(from_ns) };
        let until_ns = until_ns.max(from_ns);
        self.all.push(Span { object, cause, from_ns, until_ns, excess_ns });
    }

    /// The waits before the request was handed over; returns the time of that.
    fn add_request(&mut self, link: &ChainLink<'_>) -> u64 {
        let (object, phases) = (link.record.object, link.record.phases);
        let mut at = link.wanted_ns;
        let discovered = link.record.discovered_at_ns;
        // Only of the chain's first object can this be later: the client needs time to begin.
        self.push(object, PathCause::Compute, at, discovered.min(link.arrived_ns));
        at = at.max(discovered).min(link.arrived_ns);
        let until = |at: u64, ns: u64| (at + ns).min(link.arrived_ns);
        let blocked = until(at, phases.blocked_ns);
        self.add_blocked(link, at, blocked);
        let dns = until(blocked, phases.dns_ns);
        self.push(object, PathCause::Dns, blocked, dns);
        let secured = until(dns, phases.connect_ns + phases.tls_ns);
        self.push(object, PathCause::Handshake, dns, secured);
        let sent = until(secured, phases.send_ns);
        self.push(object, PathCause::Sending, secured, sent);
        sent
    }

    /// Time before the object had a connection: its connection's handshake, or the wait for a free one.
    fn add_blocked(&mut self, link: &ChainLink<'_>, from: u64, until: u64) {
        let connection = link.record.connection;
        let connection = connection.and_then(|at| self.record.connections.get(at as usize));
        let handshake = connection.and_then(handshake);
        let object = link.record.object;
        for (from, until, inside) in cut(handshake.as_slice(), from, until) {
            let cause = if inside { PathCause::Handshake } else { PathCause::Connection };
            self.push(object, cause, from, until);
        }
    }

    /// The response at the bottleneck: a busy link, responses in front, or else the sender's window.
    fn add_response(&mut self, link: &ChainLink<'_>, from: u64, until: u64) {
        let object = link.record.object;
        let at = self.record.objects.iter().position(|other| other.object == object);
        let mut behind = at.map_or(0, |at| self.behind[at]);
        for (from, until, is_busy) in cut(&self.record.activity.busy, from, until) {
            if is_busy {
                self.push(object, PathCause::Queue, from, until);
                continue;
            }
            // Time behind others is known as a sum: it comes first.
            let in_front = (from + behind).min(until);
            behind -= in_front - from;
            self.push(object, PathCause::HeadOfLine, from, in_front);
            self.push(object, PathCause::Window, in_front, until);
        }
    }

    /// Relabels the parts of handshake and response since `first` during which a loss on the object's connection was repaired.
    fn cover_losses(&mut self, first: usize, link: &ChainLink<'_>) {
        let own = |(connection, period): &(Option<u32>, Period)| {
            let is_own = connection.is_none() || *connection == link.record.connection;
            is_own.then_some(*period)
        };
        let losses = Period::merged(self.record.activity.losses.iter().filter_map(own).collect());
        let can_be = |span: &Span| span.cause == PathCause::Handshake || span.is_of_response();
        self.cover(first, &losses, PathCause::Loss, can_be);
    }

    /// Gives the parts of the spans since `first` that lie in `periods` the cause `cause`, if they can have it.
    fn cover(
        &mut self,
        first: usize,
        periods: &[Period],
        cause: PathCause,
        can_be: impl Fn(&Span) -> bool,
    ) {
        if periods.is_empty() {
            return;
        }
        for span in self.all.split_off(first) {
            for (from_ns, until_ns, is_in) in cut(periods, span.from_ns, span.until_ns) {
                let cause = if is_in && can_be(&span) { cause } else { span.cause };
                self.push(span.object, cause, from_ns, until_ns);
            }
        }
    }

    /// Takes the object's own transmission out of the excess of its response: where the link was the limit, then anywhere.
    fn take_transfer(&mut self, first: usize, transfer_ns: u64, from: u64, until: u64) {
        let mut left = transfer_ns;
        let at_link = |span: &Span| span.cause == PathCause::Queue;
        for is_wanted in [at_link, |_: &Span| true] {
            for span in self.all[first..].iter_mut().filter(|span| is_wanted(span)) {
                if span.from_ns >= from && span.until_ns <= until {
                    let taken = left.min(span.excess_ns);
                    span.excess_ns -= taken;
                    left -= taken;
                }
            }
        }
    }

    /// Takes the radio's first wait, which the floor has, too, out of the excess.
    pub(super) fn take_radio(&mut self, wait_ns: u64) {
        let mut left = wait_ns;
        for span in self.all.iter_mut().filter(|span| span.cause == PathCause::Radio) {
            let taken = left.min(span.excess_ns);
            span.excess_ns -= taken;
            left -= taken;
        }
    }
}

/// The handshakes of a connection.
fn handshake(connection: &ConnectionRecord) -> Option<Period> {
    let from_ns = connection.opened_at_ns;
    let until_ns = connection.secured_at_ns.or(connection.connected_at_ns)?;
    (from_ns < until_ns).then_some(Period { from_ns, until_ns })
}

/// The time from `from` to `until` cut at the ends of `periods`, and whether each part is inside one.
fn cut(periods: &[Period], from: u64, until: u64) -> Vec<(u64, u64, bool)> {
    let mut parts = Vec::new();
    let mut at = from;
    let first = periods.partition_point(|period| period.until_ns <= from);
    for period in &periods[first..] {
        if period.from_ns >= until {
            break;
        }
        let begins = period.from_ns.max(at);
        if begins > at {
            parts.push((at, begins, false));
        }
        at = period.until_ns.min(until);
        parts.push((begins, at, true));
    }
    if at < until {
        parts.push((at, until, false));
    }
    parts
}

/// Time between `from` and `until` inside the periods.
pub(super) fn overlap(periods: &[Period], from: u64, until: u64) -> u64 {
    cut(periods, from, until).iter().filter(|part| part.2).map(|part| part.1 - part.0).sum()
}
