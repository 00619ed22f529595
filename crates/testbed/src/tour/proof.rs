//! Records of the links of a visit's network: configured beside delivered.

use net::LinkStats;
use record::LinkRecord;
use units::BitsPerSec;
use world::report::{LinkReport, Report};

use super::nanos;

/// One record per link of the network, except for the extra distance of recorded origins. Counts are since
/// `before`; extremes are of the journey so far.
pub(super) fn links(before: &Report, after: &Report) -> Vec<LinkRecord> {
    let pairs = before.links.iter().zip(&after.links);
    let network = pairs.filter(|(_, after)| !after.name.starts_with("origin/"));
    network.map(|(before, after)| record(before, after)).collect()
}

fn record(before: &LinkReport, after: &LinkReport) -> LinkRecord {
    let (config, was, is) = (&after.config, &before.stats, &after.stats);
    let since = |count: fn(&LinkStats) -> u64| count(is) - count(was);
    let served_bytes = since(|stats| stats.served_bytes);
    let served_packets = since(|stats| stats.served_packets);
    let busy_ns = since(|stats| stats.busy.0);
    let unqueued_ns = nanos(is.unqueued.total()) - nanos(was.unqueued.total());
    LinkRecord {
        name: after.name.clone(),
        configured_bit_per_s: limit(config.rate.mean()),
        configured_delay_ns: nanos(config.delay),
        configured_loss_ppb: config.loss.mean().map(|mean| (mean * 1e9).round() as u64),
        offered_packets: since(|stats| stats.offered_packets),
        offered_bytes: since(|stats| stats.offered_bytes),
        duplicated_packets: since(|stats| stats.duplicated_packets),
        delivered_packets: since(|stats| stats.delivered_packets),
        delivered_bytes: since(|stats| stats.delivered_bytes),
        lost_packets: since(|stats| stats.lost_packets),
        queue_full_packets: since(|stats| stats.queue_full_packets),
        managed_packets: since(|stats| stats.managed_packets),
        too_big_packets: since(|stats| stats.too_big_packets),
        marked_packets: since(|stats| stats.marked_packets),
        reordered_packets: since(|stats| stats.reordered_packets),
        delivered_bit_per_s: rate(served_bytes, busy_ns),
        busy_ns,
        waited_ns: nanos(is.waited.total()) - nanos(was.waited.total()),
        least_unqueued_ns: nanos(is.unqueued.least()),
        mean_unqueued_ns: unqueued_ns.checked_div(served_packets).unwrap_or_default(),
        most_one_way_ns: nanos(is.one_way.most()),
        max_queue_packets: is.max_queue_packets,
        max_queue_bytes: is.max_queue_bytes,
    }
}

/// A rate; `None` if it is unlimited.
fn limit(rate: BitsPerSec) -> Option<u64> {
    (rate != BitsPerSec::UNLIMITED).then_some(rate.0)
}

fn rate(bytes: u64, busy_ns: u64) -> Option<u64> {
    let bits = u128::from(bytes) * 8_000_000_000;
    bits.checked_div(u128::from(busy_ns)).map(|rate| rate as u64)
}
