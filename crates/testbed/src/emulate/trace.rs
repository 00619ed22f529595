//! What the kernel's tracepoints add to the series of a journey's connections, for root of the machine.
//!
//! The nodes look at their connections once a millisecond; `tcp_probe` sees each segment that reaches one. It is traced from outside of the
//! sandbox, whose root is nobody out here, and it tells of the whole machine: what belongs to this journey is known by its sockets' numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use emu::Privilege;
use kernel::Motion;
use kernel::probe::{Probe, Wanted};
use world::report::Endpoint;

use super::messages::Emulated;

/// Headers of a segment without data: IPv4, TCP, its timestamps.
const HEADER_BYTES: u32 = 20 + 20 + 12;

/// A trace of the kernel's that runs, or why there is none.
pub(super) enum Trace {
    Runs(Probe),
    /// Only root of the machine may trace; others have the looks.
    NotAllowed,
    Failed(kernel::Error),
}

impl Trace {
    /// Traces the connections from or to `ports` from now on. The network carries packets of `mtu` bytes.
    pub(super) fn start(ports: Vec<u16>, mtu: u32) -> Trace {
        if Privilege::available() == Privilege::Rootless {
            return Trace::NotAllowed;
        }
        let segment_bytes = mtu.saturating_sub(HEADER_BYTES);
        match Probe::start(Wanted { ports, segment_bytes }) {
            Ok(probe) => Trace::Runs(probe),
            Err(error) => Trace::Failed(error),
        }
    }

    /// Ends it and adds what it saw to the journey's connections. What it could not see is a note of the journey: the trace is
    /// poorer then, not wrong.
    pub(super) fn tell(self, journey: &mut Emulated) {
        let began = Duration::from_nanos(journey.began_ns);
        let traced = match self {
            Trace::Runs(probe) => probe.finish(began),
            Trace::NotAllowed => return,
            Trace::Failed(error) => Err(error),
        };
        match traced {
            Ok(traced) => {
                let motions = traced.motions.into_iter();
                let by_cookie =
                    motions.map(|(connection, motion)| (connection.cookie, motion)).collect();
                join(&mut journey.endpoints, by_cookie);
                if traced.lost > 0 {
                    journey.notes.push(format!(
                        "the kernel threw away {} of its trace's events, so samples of `probe` are missing",
                        traced.lost
                    ));
                }
            }
            Err(error) => journey
                .notes
                .push(format!("connections were looked at, not traced by segment: {error}")),
        }
    }
}

/// Adds the samples to the series that they belong to, in time's order; at one instant the look comes first.
fn join(endpoints: &mut [Endpoint], mut motions: BTreeMap<u64, Motion>) {
    for endpoint in endpoints {
        let Some(motion) = endpoint.cookie.and_then(|cookie| motions.remove(&cookie)) else {
            continue;
        };
        endpoint.series.extend(motion.samples);
        endpoint.series.sort_by_key(|sample| sample.at);
    }
}
