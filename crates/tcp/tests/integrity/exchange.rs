//! Runs a case and checks its end.

use std::time::Duration;

use farlink_tcp::TcpState;
use units::{BitsPerSec, Time};

use crate::application::Stream;
use crate::audit::Audit;
use crate::case::{Case, Closing, Path};
use crate::common::{Pipe, World};

/// Longer than any case, two minutes of TIME-WAIT and all the timeouts of bad luck included.
const LIMIT: Time = Time::from_millis(100_000_000);
/// More events than any case has.
const MOST_EVENTS: u32 = 500_000;

impl Path {
    fn lay(&self, pipe: &mut Pipe, delay_ms: u64) {
        pipe.rate = BitsPerSec::kbit(self.rate_kbit);
        pipe.delay = Duration::from_millis(delay_ms);
        pipe.queue_packets = self.queue;
        pipe.loss = self.loss;
        pipe.burst = self.burst;
        pipe.duplicate = self.duplicate;
        pipe.mark = self.mark;
        pipe.jitter = Duration::from_millis(self.jitter_ms);
        pipe.drops = self.drops.clone();
    }
}

/// Runs both streams from end to end, and closes both ends.
pub fn exchange(case: &Case) {
    let mut world = World::new(case.client.config(), case.server.config(), case.seed);
    case.up.lay(&mut world.up, case.delay_ms);
    case.down.lay(&mut world.down, case.delay_ms);
    world.tap = Some(Box::new(Audit::default()));
    let (mut up, mut down) = (Stream::new(1, case.up_bytes), Stream::new(2, case.down_bytes));
    let mut events = 0;
    let closed = world.run(LIMIT, |world| {
        events += 1;
        assert!(events < MOST_EVENTS, "it goes on and on: {:?}", world.now);
        act(case, world, &mut up, &mut down)
    });
    let now = world.now;
    let server = world.server.as_mut().expect("a server");
    let states = (world.client.state(), server.state());
    assert_eq!(world.client.error().or(server.error()), None, "an error ended it");
    assert!(closed.is_some(), "they wait for ever: {states:?}");
    up.finish(server, now);
    down.finish(&mut world.client, now);
    assert_eq!(states, (TcpState::Closed, TcpState::Closed));
    for (end, sent, received) in [
        (&world.client, case.up_bytes, case.down_bytes),
        (&*server, case.down_bytes, case.up_bytes),
    ] {
        let stats = end.stats();
        assert_eq!((stats.bytes_sent, stats.bytes_received), (sent as u64, received as u64));
        assert_eq!((stats.unacknowledged_bytes, stats.in_flight), (0, 0), "nothing is left");
    }
}

/// Actions of the applications between two events; returns true when both ends are closed.
fn act(case: &Case, world: &mut World, up: &mut Stream, down: &mut Stream) -> bool {
    let now = world.now;
    up.write(&mut world.client, now, case.chunk);
    let wake = down.read(&mut world.client, now, case.pace);
    if up.is_written() && (case.closing != Closing::ServerFirst || world.client.at_eof()) {
        world.client.close(now);
    }
    world.wake = wake;
    let Some(server) = &mut world.server else { return false };
    if server.is_established() || server.is_closed() {
        world.wake = wake.into_iter().chain(up.read(server, now, case.pace)).min();
        down.write(server, now, case.chunk);
        if down.is_written() && (case.closing != Closing::ClientFirst || server.at_eof()) {
            server.close(now);
        }
    }
    world.client.is_closed() && server.is_closed()
}
