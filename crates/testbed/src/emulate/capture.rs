//! Packets of an emulated journey: all of them, retransmissions among them, and the kernel's trace of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use emu::derive::conversations;
use emu::{AccessSide, EmulatedDrop, ObservedPacket, Observer, Passages, Privilege};
use kernel::ConnectionSeries;
use kernel::probe::{Probe, TraceScope};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tcp::Retransmit;
use units::Time;
use world::report::Endpoint;

use super::messages::Emulated;

/// A packet at the interface of one side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Time since the start of the journey.
    pub at_ns: u64,
    /// True on the client's side.
    pub client: bool,
    /// The client's number.
    pub user: u32,
    /// True if the packet was sent, false if received.
    pub out: bool,
    /// The IP packet.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    pub bytes: Vec<u8>,
}

/// Records all packets, in the order in which they crossed.
#[derive(Default)]
pub(super) struct Capture(pub(super) Vec<Frame>);

impl Observer for Capture {
    fn entered(&mut self, at: Time, packet: &ObservedPacket<'_>) {
        self.take(at, packet.from, true, packet);
    }

    fn delivered(&mut self, _due: Time, left: Time, packet: &ObservedPacket<'_>) {
        self.take(left, packet.from.peer(), false, packet);
    }
}

impl Capture {
    fn take(&mut self, at: Time, side: AccessSide, out: bool, packet: &ObservedPacket<'_>) {
        let (at_ns, client) = (at.as_nanos(), side == AccessSide::Client);
        self.0.push(Frame { at_ns, client, user: packet.user, out, bytes: packet.ip_packet() });
    }
}

fn encode<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}

// Retransmissions of connections, seen in the emulator's packets while the connections last.

/// Log of every packet, written by the emulator's thread and read by the supervisor.
#[derive(Clone, Default)]
pub(super) struct SharedPassages(Arc<Mutex<Passages>>);

/// Retransmissions of both ends of a connection, as seen on the wire: the kernel counts them, but does not
/// record times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RetransmissionCounter {
    client: SocketAddr,
    server: SocketAddr,
    up: Vec<Retransmit>,
    down: Vec<Retransmit>,
}

impl SharedPassages {
    fn lock(&self) -> MutexGuard<'_, Passages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Retransmissions so far, for connections that have any.
    pub(super) fn sent_again(&self) -> Vec<RetransmissionCounter> {
        let passages = self.lock().0.clone();
        let connections =
            conversations(&passages).into_iter().map(|connection| RetransmissionCounter {
                client: connection.client,
                server: connection.server,
                up: connection.up.retransmits,
                down: connection.down.retransmits,
            });
        connections.filter(|sent| !sent.up.is_empty() || !sent.down.is_empty()).collect()
    }
}

impl Observer for SharedPassages {
    fn entered(&mut self, at: Time, packet: &ObservedPacket<'_>) {
        self.lock().entered(at, packet);
    }

    fn delivered(&mut self, due: Time, left: Time, packet: &ObservedPacket<'_>) {
        self.lock().delivered(due, left, packet);
    }

    fn dropped(&mut self, number: u64, drop: &EmulatedDrop) {
        self.lock().dropped(number, drop);
    }
}

/// The peer of `one`, if only the wire shows it.
pub(super) fn other_end(one: &Endpoint) -> Endpoint {
    Endpoint {
        local: one.peer,
        peer: one.local,
        cookie: None,
        active: !one.active,
        stats: None,
        ..one.without_series()
    }
}

/// Adds their retransmissions to the ends of connections.
pub(super) fn tell(endpoints: &mut [Endpoint], sent: &[RetransmissionCounter]) {
    for endpoint in endpoints {
        let (client, server) = match endpoint.active {
            true => (endpoint.local, endpoint.peer),
            false => (endpoint.peer, endpoint.local),
        };
        // If an address is used twice in a journey, the later connection also gets all of them.
        let its = sent.iter().filter(|sent| (sent.client, sent.server) == (client, server));
        let side = |sent: &RetransmissionCounter| {
            if endpoint.active { sent.up.clone() } else { sent.down.clone() }
        };
        endpoint.retransmits = its.flat_map(side).collect();
    }
}

// Samples from the kernel's tracepoints for the series of a journey's connections; needs root of the machine.
//
// The nodes sample their connections once a millisecond; `tcp_probe` sees each segment that arrives at one. It
// is traced from outside the sandbox, whose root has no privileges here, and it covers the whole machine:
// connections of this journey are identified by their socket cookies.

/// Headers of a segment without data: IPv4, TCP, its timestamps.
const HEADER_BYTES: u32 = 20 + 20 + 12;

/// A running kernel trace, or the reason why there is none.
pub(super) enum KernelTrace {
    Runs(Probe),
    /// Only root of the machine may trace; other users have the samples only.
    NotAllowed,
    Failed(kernel::Error),
}

impl KernelTrace {
    /// Traces the connections from or to `ports` from now on. The network carries packets of `mtu` bytes.
    pub(super) fn start(ports: Vec<u16>, mtu: u32) -> KernelTrace {
        if Privilege::available() == Privilege::Rootless {
            return KernelTrace::NotAllowed;
        }
        let segment_bytes = mtu.saturating_sub(HEADER_BYTES);
        match Probe::start(TraceScope { ports, segment_bytes }) {
            Ok(probe) => KernelTrace::Runs(probe),
            Err(error) => KernelTrace::Failed(error),
        }
    }

    /// Stops it and adds its samples to the journey's connections. Missing samples are a note of the journey:
    /// the trace is poorer then, not wrong.
    pub(super) fn tell(self, journey: &mut Emulated) {
        let began = Duration::from_nanos(journey.began_ns);
        let traced = match self {
            KernelTrace::Runs(probe) => probe.finish(began),
            KernelTrace::NotAllowed => return,
            KernelTrace::Failed(error) => Err(error),
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
fn join(endpoints: &mut [Endpoint], mut motions: BTreeMap<u64, ConnectionSeries>) {
    for endpoint in endpoints {
        let Some(motion) = endpoint.cookie.and_then(|cookie| motions.remove(&cookie)) else {
            continue;
        };
        endpoint.series.extend(motion.samples);
        endpoint.series.sort_by_key(|sample| sample.at);
    }
}
