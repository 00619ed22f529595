//! Account of the links' activity, as a line for people and as JSON.

use std::time::Duration;

use emu::{Drop, LinkReport, Snapshot};
use net::{DropCause, LinkStats};
use serde_json::{Value, json};

use crate::args::Shell;
use crate::show::units::{bytes, counted};

/// Version of the JSON format.
const FORMAT: u32 = 1;

/// "carried 20 packets (1.2 KB) up and 30 (40 KB) down; dropped 3 (1 lost, 2 queue full); late by ...".
pub fn line(snapshot: &Snapshot) -> String {
    let delivered = |direction: Direction| -> String {
        let Some(last) = last(&snapshot.links, direction) else { return "nothing".to_owned() };
        let packets = counted(last.stats.delivered_packets as usize, "packet");
        format!("{packets} ({})", bytes(last.stats.delivered_bytes as f64))
    };
    format!(
        "carried {} up and {} down; dropped {}; {}",
        delivered(Direction::Up),
        delivered(Direction::Down),
        dropped(&snapshot.links),
        snapshot.punctuality
    )
}

/// A direction over all links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the server.
    Up,
    /// To the client.
    Down,
}

impl Direction {
    /// Returns true if a link of this name, as a topology gives it, has this direction.
    pub fn has(self, name: &str) -> bool {
        name.ends_with(match self {
            Direction::Up => "up",
            Direction::Down => "down",
        })
    }
}

/// The last link that packets cross: the farthest up, the nearest down.
pub fn last(links: &[LinkReport], direction: Direction) -> Option<&LinkReport> {
    let mut these = links.iter().filter(|link| direction.has(&link.name));
    match direction {
        Direction::Up => these.next_back(),
        Direction::Down => these.next(),
    }
}

/// "none", or "3 (1 lost, 2 queue full)".
fn dropped(links: &[LinkReport]) -> String {
    let sum =
        |count: fn(&LinkStats) -> u64| -> u64 { links.iter().map(|link| count(&link.stats)).sum() };
    let counts = [
        (sum(|stats| stats.lost_packets), "lost"),
        (sum(|stats| stats.queue_full_packets), "queue full"),
        (sum(|stats| stats.managed_packets), "by queue management"),
        (sum(|stats| stats.too_big_packets), "too big"),
    ];
    let total: u64 = counts.iter().map(|(count, _)| count).sum();
    let parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    if parts.is_empty() { "none".to_owned() } else { format!("{total} ({})", parts.join(", ")) }
}

/// The complete account, with every remembered drop.
pub fn json(args: &Shell, snapshot: &Snapshot, drops: &emu::DropLog) -> Value {
    let invalid = snapshot.check().err();
    json!({
        "format": FORMAT,
        "farlink": env!("CARGO_PKG_VERSION"),
        "networks": args.network,
        "seed": args.seed,
        "duration_ns": (snapshot.at - units::Time::ZERO).as_nanos() as u64,
        "valid": invalid.is_none(),
        "invalid_because": invalid.map(|invalid| invalid.to_string()),
        "lateness_p50_ns": nanos(snapshot.punctuality.p50),
        "lateness_p99_ns": nanos(snapshot.punctuality.p99),
        "lateness_max_ns": nanos(snapshot.punctuality.max),
        "overrun_packets": snapshot.overruns,
        "refused_packets": snapshot.refused,
        "real_time_priority": snapshot.realtime,
        "wire": snapshot.wire.to_string(),
        "links": snapshot.links.iter().map(link).collect::<Vec<_>>(),
        "dropped_packets": drops.total(),
        "drops_left_out": drops.forgotten(),
        "drops": drops.iter().map(|drop| drop_json(drop, &snapshot.links)).collect::<Vec<_>>(),
    })
}

fn link(link: &LinkReport) -> Value {
    let stats = &link.stats;
    json!({
        "name": link.name,
        "rate": link.config.rate.to_string(),
        "delay_ns": nanos(link.config.delay),
        "loss": link.config.loss.to_string(),
        "queue": link.config.queue.to_string(),
        "offered_packets": stats.offered_packets,
        "offered_bytes": stats.offered_bytes,
        "duplicated_packets": stats.duplicated_packets,
        "delivered_packets": stats.delivered_packets,
        "delivered_bytes": stats.delivered_bytes,
        "lost_packets": stats.lost_packets,
        "queue_full_packets": stats.queue_full_packets,
        "managed_packets": stats.managed_packets,
        "too_big_packets": stats.too_big_packets,
        "marked_packets": stats.marked_packets,
        "inside_packets": link.inside,
        "max_queue_packets": stats.max_queue_packets,
    })
}

fn drop_json(drop: &Drop, links: &[LinkReport]) -> Value {
    json!({
        "at_ns": (drop.at - units::Time::ZERO).as_nanos() as u64,
        "link": links.get(drop.link).map(|link| &link.name),
        "wire_bytes": drop.wire_bytes,
        "cause": cause(drop.cause),
    })
}

fn cause(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Loss => "loss",
        DropCause::QueueFull => "queue-full",
        DropCause::Managed => "managed",
        DropCause::TooBig => "too-big",
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
