//! A DATA frame allocates nothing, neither at the sender nor at the receiver: counted by the allocator itself.

mod common;

use std::time::Duration;

use allocations::{Counting, count};
use bytes::Bytes;
use common::*;
use farlink_spdy::{Config, Event, Version};

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_data_frame_allocates_nothing() {
    for version in Version::ALL {
        let server = Config { chunk_bytes: 100, ..Config::SERVER };
        let mut pair = Pair::new(version, Config::CLIENT, server);
        let streams = [(); 3].map(|()| ask(&mut pair.client, "/"));
        pair.run();
        for stream in streams {
            pair.server.reply(stream, &ok(version), false).unwrap();
            pair.server.send(stream, vec![7; 200_000].into(), true).unwrap();
        }
        let (mut frames, mut counted) = (0, 0);
        // The first round grows the buffers.
        for round in 0.. {
            let before = count();
            pair.server.produce(20_000);
            let bytes = pair.server.output().len();
            let after_sending = count();
            // The transport's allocations are not counted.
            let carried = Bytes::from(pair.server.output().to_vec());
            let before_receiving = count();
            pair.server.advance(bytes);
            pair.client.receive(Duration::ZERO, carried);
            let mut received = 0;
            while let Some(event) = pair.client.poll_event() {
                if let Event::Data { stream, payload, .. } = event {
                    pair.client.consume(stream, payload.len());
                    received += 1;
                }
            }
            if round > 0 {
                counted += count() - before_receiving + after_sending - before;
                frames += received;
            }
            if bytes == 0 {
                break;
            }
        }
        assert!(frames > 5_000 && counted < 10, "{version}: {counted} for {frames} frames");
    }
}
