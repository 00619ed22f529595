//! Whatever the path does, both streams arrive whole, in order, and both ends close.

mod common;

use std::time::Duration;

use common::World;
use farlink_tcp::{Config, ReceiveBufferPolicy, SendBufferPolicy, State};
use proptest::prelude::*;
use units::{BitsPerSec, Time};

/// A byte of a stream that repeats only after a long time.
fn byte(direction: u8, at: usize) -> u8 {
    ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ direction
}

/// One direction of the exchange, as its two applications see it.
struct Stream {
    direction: u8,
    len: usize,
    written: usize,
    read: usize,
}

impl Stream {
    fn new(direction: u8, len: usize) -> Stream {
        Stream { direction, len, written: 0, read: 0 }
    }

    fn write(&mut self, end: &mut farlink_tcp::Connection, now: Time, chunk: usize) {
        while self.written < self.len {
            let upto = self.len.min(self.written + chunk);
            let data: Vec<u8> = (self.written..upto).map(|at| byte(self.direction, at)).collect();
            let n = if self.written.is_multiple_of(2) {
                end.write(now, &data)
            } else {
                end.write_bytes(now, data.into())
            };
            self.written += n;
            if n == 0 {
                return;
            }
        }
        end.close(now);
    }

    /// Takes at most so much; a slow application leaves the rest for later.
    fn read(&mut self, end: &mut farlink_tcp::Connection, now: Time, most: usize) {
        let mut buf = vec![0; most];
        let n = end.read(now, &mut buf);
        for (offset, got) in buf[..n].iter().enumerate() {
            let at = self.read + offset;
            assert_eq!(*got, byte(self.direction, at), "stream {} at {at}", self.direction);
        }
        self.read += n;
    }
}

/// A path and how it misbehaves.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    up_bytes: usize,
    down_bytes: usize,
    loss: f64,
    duplicate: f64,
    jitter_ms: u64,
    queue: usize,
    rate_kbit: u64,
    chunk: usize,
    read: usize,
    buffer: u64,
    nagle: bool,
    lowat: Option<u64>,
    timestamps: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let path = (0.0..0.3, 0.0..0.2, 0u64..120, 1usize..60, 200u64..20_000);
    let application = (1usize..40_000, 200usize..60_000, 2_000u64..200_000);
    let switches = (any::<bool>(), prop::option::of(3_000u64..50_000), any::<bool>());
    (any::<u64>(), 0usize..60_000, 0usize..200_000, path, application, switches).prop_map(
        |(seed, up_bytes, down_bytes, path, application, switches)| {
            let (loss, duplicate, jitter_ms, queue, rate_kbit) = path;
            let (chunk, read, buffer) = application;
            let (nagle, lowat, timestamps) = switches;
            Case {
                seed,
                up_bytes,
                down_bytes,
                loss,
                duplicate,
                jitter_ms,
                queue,
                rate_kbit,
                chunk,
                read,
                buffer,
                nagle,
                lowat,
                timestamps,
            }
        },
    )
}

fn exchange(case: &Case) {
    let config = Config {
        send_buffer: SendBufferPolicy::LINUX_6.fixed(case.buffer),
        receive_buffer: ReceiveBufferPolicy {
            initial_bytes: case.buffer,
            max_bytes: 2 * case.buffer,
            ..ReceiveBufferPolicy::LINUX_6
        },
        nagle: case.nagle,
        notsent_lowat: case.lowat,
        // Enough patience that bad luck alone never gives a connection up.
        syn_retries: 60,
        syn_ack_retries: 60,
        retries: 60,
        max_rto: Duration::from_secs(4),
        ..Config::default()
    };
    let server = Config { timestamps: case.timestamps, ..config.clone() };
    let mut world = World::new(config, server, case.seed);
    world.both(|pipe| {
        pipe.rate = BitsPerSec::kbit(case.rate_kbit);
        pipe.delay = Duration::from_millis(30);
        pipe.queue_packets = case.queue;
        pipe.loss = case.loss;
        pipe.duplicate = case.duplicate;
        pipe.jitter = Duration::from_millis(case.jitter_ms);
    });
    let (mut up, mut down) = (Stream::new(1, case.up_bytes), Stream::new(2, case.down_bytes));
    let closed = world.run(Time::from_millis(100_000_000), |world| {
        let now = world.now;
        up.write(&mut world.client, now, case.chunk);
        down.read(&mut world.client, now, case.read);
        let Some(server) = &mut world.server else { return false };
        if server.is_established() || server.is_closed() {
            up.read(server, now, case.read);
            down.write(server, now, case.chunk);
        }
        world.client.is_closed() && server.is_closed()
    });
    let now = world.now;
    let server = world.server.as_mut().expect("a server");
    // What was still unread when the connections ended.
    up.read(server, now, case.up_bytes);
    down.read(&mut world.client, now, case.down_bytes);
    let states = (world.client.state(), server.state());
    assert_eq!(world.client.error().or(server.error()), None, "{case:?}");
    assert!(closed.is_some(), "not closed: {states:?} {case:?}");
    assert_eq!((up.read, down.read), (case.up_bytes, case.down_bytes), "{case:?}");
    assert_eq!(states, (State::Closed, State::Closed));
    let received = world.client.stats().bytes_received;
    assert_eq!(received, case.down_bytes as u64);
    assert_eq!(server.stats().bytes_sent, case.down_bytes as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn both_streams_arrive_whole_and_both_ends_close(case in case()) {
        exchange(&case);
    }
}
