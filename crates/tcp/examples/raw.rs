//! Cost of the endpoint: 100 MB through two connections joined directly, CPU time per segment.
//!
//! `cargo run --release -p farlink-tcp --example raw`

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use farlink_tcp::{Config, Connection};
use units::Time;

const TOTAL: usize = 100_000_000;

/// Moves `TOTAL` bytes with a round trip of 2 ms; returns the segments of both ends.
fn transfer(zero_copy: bool) -> u64 {
    let config = Arc::new(Config::default());
    let mut now = Time::ZERO;
    let mut client = Connection::connect(config.clone(), now);
    let syn = client.poll(now).expect("a SYN comes first");
    let mut server = Connection::accept(config, now, &syn);
    let chunk = Bytes::from(vec![7; 64 * 1024]);
    let (mut written, mut read) = (0, 0);
    let mut buf = vec![0; 64 * 1024];
    let mut in_flight = Vec::new();
    while read < TOTAL {
        loop {
            let want = chunk.len().min(TOTAL - written);
            let n = match zero_copy {
                true => server.write_bytes(now, chunk.slice(..want)),
                false => server.write(now, &chunk[..want]),
            };
            written += n;
            if n == 0 {
                break;
            }
        }
        in_flight.extend(std::iter::from_fn(|| server.poll(now)));
        now += Duration::from_millis(1);
        for segment in in_flight.drain(..) {
            client.handle(now, segment);
            while let Some(ack) = client.poll(now) {
                server.handle(now, ack);
            }
            loop {
                let n = match zero_copy {
                    true => client.read_bytes(now, usize::MAX).map_or(0, |slice| slice.len()),
                    false => client.read(now, &mut buf),
                };
                read += n;
                if n == 0 {
                    break;
                }
            }
        }
        now += Duration::from_millis(1);
        for connection in [&mut client, &mut server] {
            if connection.deadline().is_some_and(|at| at <= now) {
                connection.handle_timeout(now);
            }
        }
        while let Some(segment) = client.poll(now) {
            server.handle(now, segment);
        }
    }
    client.stats().segments_sent + server.stats().segments_sent
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures the machine's time")]
fn main() {
    for (name, zero_copy) in [("copied", false), ("zero-copy", true)] {
        let best = (0..5)
            .map(|_| {
                let start = Instant::now();
                let segments = transfer(zero_copy);
                (start.elapsed(), segments)
            })
            .min();
        let Some((took, segments)) = best else { continue };
        let each = took.as_nanos() as f64 / segments as f64;
        println!(
            "{name}: 100 MB in {took:.1?}, {segments} segments, {each:.0} ns a segment, best of 5"
        );
    }
}
