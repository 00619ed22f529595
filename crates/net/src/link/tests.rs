//! Tests of links, one packet at a time.

use std::time::Duration;

use chance::Source;
use units::{BitsPerSec, Time};

use super::*;
use crate::{
    Channels, Codel, Direction, Handover, Jitter, JitterShape, LossModel, Management, Pie,
    ProportionalFair, QueueLimit, Rate, Reorder, Scheduler, Trace, TraceOptions,
};

mod dummynet;
mod managed;
mod netem;
mod plain;
mod properties;
mod shared;
mod traces;
mod variation;

const MS: u64 = 1_000_000;

fn config() -> LinkConfig {
    LinkConfig::new(BitsPerSec::mbit(12), Duration::from_millis(10), QueueLimit::Packets(2))
}

fn link(config: LinkConfig) -> Link<u32> {
    Link::new(config, &Source::new(1, 0), "test")
}

/// Offers a packet of `bytes`.
fn offer(link: &mut Link<u32>, now: Time, bytes: u32, body: u32) -> Verdict {
    link.handle(now, Packet::new(bytes), body)
}

/// A delivered packet that was not marked.
fn arrived<P>(wire_bytes: u32, body: P) -> Option<Delivered<P>> {
    Some(Delivered { wire_bytes, congestion_experienced: false, body })
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// All packets with their arrival times.
fn drain(link: &mut Link<u32>) -> Vec<(Time, u32, u32)> {
    let mut arrivals = Vec::new();
    while let Some(when) = link.deadline() {
        while let Some(packet) = link.poll(when) {
            arrivals.push((when, packet.wire_bytes, packet.body));
        }
    }
    arrivals
}

/// A recorded rate.
fn traced(text: &str, once: bool) -> Rate {
    let options = TraceOptions { unit: None, once };
    let trace = Trace::from_bytes("t", text.as_bytes(), Direction::Down, options);
    Rate::Trace(trace.expect("a trace").into())
}
