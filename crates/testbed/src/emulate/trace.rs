//! Samples from the kernel's tracepoints for the series of a journey's connections; needs root of the machine.
//!
//! The nodes sample their connections once a millisecond; `tcp_probe` sees each segment that arrives at one. It
//! is traced from outside the sandbox, whose root has no privileges here, and it covers the whole machine:
//! connections of this journey are identified by their socket cookies.

use std::collections::BTreeMap;
use std::time::Duration;

use emu::Privilege;
use kernel::Motion;
use kernel::probe::{Probe, Wanted};
use world::report::Endpoint;

use super::messages::Emulated;

/// Headers of a segment without data: IPv4, TCP, its timestamps.
const HEADER_BYTES: u32 = 20 + 20 + 12;

/// A running kernel trace, or the reason why there is none.
pub(super) enum Trace {
    Runs(Probe),
    /// Only root of the machine may trace; other users have the samples only.
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

    /// Stops it and adds its samples to the journey's connections. Missing samples are a note of the journey:
    /// the trace is poorer then, not wrong.
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

/// Merges samples into their series, in order of time; at one instant the polled sample comes first.
fn join(endpoints: &mut [Endpoint], mut motions: BTreeMap<u64, Motion>) {
    for endpoint in endpoints {
        let Some(motion) = endpoint.cookie.and_then(|cookie| motions.remove(&cookie)) else {
            continue;
        };
        endpoint.series.extend(motion.samples);
        endpoint.series.sort_by_key(|sample| sample.at);
    }
}
