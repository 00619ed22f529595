//! Activity of the network during a visit, from which its critical path is derived.

use browser::Visited;
use net::DropCause;
use record::{NetworkActivity, Period};
use tls::Protocol;
use units::Time;
use world::report::{Drop, Endpoint, LinkReport, WorldReport};

use super::account::own_radio;
use super::{DOWN, UP, Visitor};

/// Activity from navigation start on. `drops` are the client's packets that were dropped.
pub(super) fn activity(
    visited: &Visited,
    drops: &[&Drop],
    report: &WorldReport,
    visitor: Visitor,
) -> NetworkActivity {
    let began = visited.started;
    let slowest = [DOWN, UP].into_iter().filter_map(|way| slowest(report, way));
    let busy: Vec<Period> = slowest
        .flat_map(|link| &link.busy_periods)
        .filter(|(_, until)| *until > began)
        .map(|(from, until)| period(*from, *until))
        .collect();
    NetworkActivity {
        busy: Period::merged(busy),
        losses: losses(visited, drops, report),
        radio: radio_waits(report, visitor, began),
    }
}

/// The link with the lowest rate in one direction. Links of further hops end with the direction's name.
fn slowest<'a>(report: &'a WorldReport, way: &str) -> Option<&'a LinkReport> {
    let links = report.links.iter().filter(|link| link.name.ends_with(way));
    links.min_by_key(|link| link.config.rate.mean())
}

/// Losses of the visit's connections. The kernel reports none: there each drop counts for all connections, for as long as
/// a packet that follows at once needs to show it.
fn losses(visited: &Visited, drops: &[&Drop], report: &WorldReport) -> Vec<(Option<u32>, Period)> {
    let began = visited.started;
    let mut losses = Vec::new();
    let mut are_known = true;
    for (index, used) in visited.connections.iter().enumerate() {
        let its =
            |end: &&Endpoint| Some(if end.active { end.local } else { end.peer }) == used.local;
        for end in report.endpoints.iter().filter(its) {
            let is_kernels = end.cookie.is_some() && used.arm.protocol != Protocol::H3;
            are_known &= !is_kernels;
            let repaired = end.retransmits.iter().map(|sent| (sent.first_at, sent.at));
            let periods = repaired.chain(end.losses.iter().copied());
            let periods = periods.filter(|(from, until)| *until > began && from < until);
            losses.extend(periods.map(|(from, until)| (Some(index as u32), period(from, until))));
        }
    }
    if !are_known {
        let rtts = report.endpoints.iter().filter_map(|end| end.stats.as_ref()?.min_rtt);
        let rtt = rtts.max().unwrap_or_default();
        let drops = drops.iter().filter(|drop| drop.at >= began && drop.cause != DropCause::TooBig);
        losses.extend(drops.map(|drop| (None, period(drop.at, drop.at + rtt))));
    }
    losses
}

/// Periods of promotion of the client's radio.
fn radio_waits(report: &WorldReport, visitor: Visitor, began: Time) -> Vec<Period> {
    let Some(radio) = own_radio(report, visitor) else { return Vec::new() };
    let ends = radio.transitions.iter().skip(1).map(|next| next.at);
    let ends = ends.chain([world::now()]);
    let waits = radio.transitions.iter().zip(ends).filter(|(change, _)| change.to.is_promotion());
    waits
        .filter(|(_, until)| *until > began)
        .map(|(change, until)| period(change.at, until))
        .collect()
}

fn period(from: Time, until: Time) -> Period {
    Period { from_ns: from.as_nanos(), until_ns: until.as_nanos() }
}
