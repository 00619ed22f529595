//! Whole transfers over simple paths: how near they come to the line rate.

mod common;

use std::time::Duration;

use common::World;
use farlink_tcp::Config;
use units::{BitsPerSec, Time};

/// A download of `bytes` at 10 Mbit/s: (seconds, retransmissions, timeouts).
fn download(bytes: usize, queue: usize, loss: f64, seed: u64) -> (f64, u64, u64) {
    let mut world = World::new(Config::default(), Config::default(), seed);
    world.both(|pipe| {
        pipe.rate = BitsPerSec::mbit(10);
        pipe.delay = Duration::from_millis(50);
        pipe.queue_packets = queue;
        pipe.loss = loss;
    });
    let end = world.fetch(300, bytes, Time::from_millis(300_000)).expect("it completes");
    let stats = world.server.as_ref().expect("a server").stats();
    (end.as_secs_f64(), stats.retransmitted_segments, stats.timeouts)
}

#[test]
fn table() {
    for (bytes, queue, loss) in [
        (1_000_000, 100, 0.0),
        (1_000_000, 20, 0.0),
        (10_000_000, 100, 0.0),
        (10_000_000, 20, 0.0),
        (1_000_000, 100, 0.01),
        (10_000_000, 100, 0.01),
        (1_000_000, 100, 0.05),
    ] {
        let (seconds, retransmits, timeouts) = download(bytes, queue, loss, 1);
        eprintln!(
            "{bytes} {queue} {loss}: {seconds:.3} s, {retransmits} again, {timeouts} timeouts"
        );
    }
}
