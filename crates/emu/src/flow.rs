//! One TCP flow over the same link twice: by the kernel in real time, and by the simulated TCP in virtual time. Its traces.
//!
//! Both runs yield a [`FlowTrace`]: each data packet as it entered the link and the sender's window after each acknowledgement; [`FlowComparison`]
//! sets them side by side. Differences are due to TCP alone, for the link's code is the same.

use std::collections::BTreeMap;
use std::time::Duration;

use congestion::Algorithm;
use net::{LinkConfig, QueueLimit};
use units::{BitsPerSec, Time};

use crate::{DroppingLink, EmulatedTopology, ListedDrops};

mod kernel;
mod simulated;

pub use kernel::{KernelMeasurement, kernel_name, measure};
pub use simulated::simulate;

/// Bytes of a request.
const REQUEST_BYTES: usize = 100;
/// Size of an application's writes and reads.
const CHUNK_BYTES: usize = 64 * 1024;

/// A flow: its traffic and its link.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedFlow {
    /// Rate of the link, both ways.
    pub rate: BitsPerSec,
    /// Round trip without queueing; half of it each way.
    pub rtt: Duration,
    /// Queue limit of the link towards the client.
    pub queue: QueueLimit,
    /// Numbers of the data packets towards the client that are dropped (see [`ListedDrops`]).
    pub drops: Vec<u64>,
    /// The sockets' buffers.
    pub buffers: FlowBuffers,
    /// The server's congestion control.
    pub congestion: Algorithm,
    /// Exchanges, one after the other.
    pub exchanges: Vec<RequestResponse>,
}

/// Socket buffer sizes of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowBuffers {
    /// Buffers that grow, as in Linux. The receiver's grows once per round trip of its own estimate, in milliseconds of a clock of arbitrary phase,
    /// and each growth causes more acknowledgements; the sender's is refilled when the scheduler lets the application run. So the kernel
    /// is not reproducible to the packet.
    Autotuned,
    /// Buffers that never fill: traffic depends on the network alone.
    Ample,
}

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestResponse {
    /// Think time of the client before the request.
    pub think: Duration,
    /// Length of the response.
    pub response_bytes: u64,
}

impl ComparedFlow {
    /// Bytes of all responses.
    pub fn total_bytes(&self) -> u64 {
        self.exchanges.iter().map(|exchange| exchange.response_bytes).sum()
    }

    fn link(&self, queue: QueueLimit) -> LinkConfig {
        LinkConfig::new(self.rate, self.rtt / 2, queue)
    }

    /// The emulator's topology.
    fn topology(&self) -> EmulatedTopology {
        EmulatedTopology::between(self.link(QueueLimit::Unlimited), self.link(self.queue))
            .losing("down", self.losses())
    }

    /// The simulated path towards the server.
    fn up<P: Clone + Send + 'static>(&self) -> DroppingLink<P> {
        DroppingLink::new("up", self.link(QueueLimit::Unlimited), ListedDrops::default(), &source())
    }

    /// The simulated path towards the client.
    fn down<P: Clone + Send + 'static>(&self) -> DroppingLink<P> {
        DroppingLink::new("down", self.link(self.queue), self.losses(), &source())
    }

    fn losses(&self) -> ListedDrops {
        ListedDrops::of(self.drops.iter().copied())
    }
}

/// Random source of the links: nothing about them is random.
fn source() -> chance::RandomSource {
    chance::RandomSource::new(0, 0)
}

/// First difference of two series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Index of the first element that differs.
    pub index: usize,
    /// The kernel's value, if its series is long enough.
    pub kernel: Option<u64>,
    /// The simulation's value, likewise.
    pub simulated: Option<u64>,
}

/// The kernel's trace of a flow and the simulation's.
#[derive(Clone, Copy, Debug)]
pub struct FlowComparison<'a> {
    /// Trace of the running kernel.
    pub kernel: &'a FlowTrace,
    /// Trace of the simulated TCP.
    pub simulated: &'a FlowTrace,
    /// Bytes that the flow carried.
    pub total_bytes: u64,
}

impl FlowComparison<'_> {
    /// Both completion times, if both completed.
    pub fn completion(&self) -> Option<(Duration, Duration)> {
        let total = self.total_bytes;
        Some((self.kernel.completion(total)?, self.simulated.completion(total)?))
    }

    /// Ratio of the simulation's completion time to the kernel's.
    pub fn ratio(&self) -> Option<f64> {
        let (kernel, simulated) = self.completion()?;
        Some(simulated.as_secs_f64() / kernel.as_secs_f64())
    }

    /// First difference in the order of data packets.
    pub fn packets(&self) -> Option<Divergence> {
        let order =
            |trace: &FlowTrace| trace.data.iter().map(|packet| packet.seq).collect::<Vec<_>>();
        first_difference(&order(self.kernel), &order(self.simulated))
    }

    /// First difference in the retransmissions.
    pub fn retransmissions(&self) -> Option<Divergence> {
        first_difference(&self.kernel.retransmissions(), &self.simulated.retransmissions())
    }

    /// First difference in the windows at the ends of rounds.
    pub fn rounds(&self) -> Option<Divergence> {
        let rounds =
            |trace: &FlowTrace| trace.rounds().into_iter().map(u64::from).collect::<Vec<_>>();
        first_difference(&rounds(self.kernel), &rounds(self.simulated))
    }
}

fn first_difference(kernel: &[u64], simulated: &[u64]) -> Option<Divergence> {
    (0..kernel.len().max(simulated.len()))
        .map(|index| Divergence {
            index,
            kernel: kernel.get(index).copied(),
            simulated: simulated.get(index).copied(),
        })
        .find(|at| at.kernel != at.simulated)
}

// Trace of one flow at the link. Times count from the SYN's entry; sequence numbers from the SYN's, which is 0.

/// A data packet towards the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPacket {
    /// Time of entry into the link.
    pub at: Time,
    /// Sequence number of its first byte.
    pub seq: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Time of departure from the link; none if it was dropped.
    pub arrives: Option<Time>,
}

impl DataPacket {
    /// Sequence number after its last byte.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}

/// An acknowledgement that reached the server, and the sender's window right after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Time of departure from the link.
    pub at: Time,
    /// Cumulative acknowledgement: all bytes before this one had arrived.
    pub ack: u64,
    /// The client's receive window from there.
    pub window_bytes: u64,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; none before the first reduction.
    pub ssthresh: Option<u32>,
}

/// A flow as seen at the link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowTrace {
    /// Data packets in the order in which they entered the link.
    pub data: Vec<DataPacket>,
    /// Acknowledgements in the order in which they left it.
    pub acknowledgements: Vec<Acknowledgement>,
}

impl FlowTrace {
    /// Time at which the client had all of `total` bytes, in order.
    pub fn completion(&self, total: u64) -> Option<Duration> {
        let mut arrivals: Vec<(Time, u64, u64)> = self
            .data
            .iter()
            .filter_map(|packet| Some((packet.arrives?, packet.seq, packet.end())))
            .collect();
        arrivals.sort_unstable();
        let mut next = 1;
        let mut ahead = BTreeMap::new();
        for (at, seq, end) in arrivals {
            let known = ahead.entry(seq).or_insert(end);
            *known = end.max(*known);
            while let Some(first) = ahead.first_entry().filter(|first| *first.key() <= next) {
                next = next.max(first.remove());
            }
            if next > total {
                return Some(at - Time::ZERO);
            }
        }
        None
    }

    /// The first bytes of all packets that repeat data, in the order of sending.
    pub fn retransmissions(&self) -> Vec<u64> {
        let mut highest = 0;
        let mut again = Vec::new();
        for packet in &self.data {
            if packet.seq < highest {
                again.push(packet.seq);
            }
            highest = highest.max(packet.end());
        }
        again
    }

    /// Packets that the link dropped.
    pub fn dropped(&self) -> usize {
        self.data.iter().filter(|packet| packet.arrives.is_none()).count()
    }

    /// Congestion window at the end of each round: when everything sent before the round began is acknowledged. The
    /// round in which the flow ends does not count.
    pub fn rounds(&self) -> Vec<u32> {
        let all = self.data.iter().map(DataPacket::end).max().unwrap_or(0);
        let mut sent = self.data.iter().peekable();
        let (mut highest, mut acknowledged, mut round_ends) = (0, 1, None);
        let mut windows = Vec::new();
        for ack in &self.acknowledgements {
            while let Some(packet) = sent.next_if(|packet| packet.at < ack.at) {
                highest = packet.end().max(highest);
            }
            if ack.ack <= acknowledged || ack.ack >= all {
                continue;
            }
            acknowledged = ack.ack;
            if acknowledged >= *round_ends.get_or_insert(highest) {
                windows.push(ack.cwnd);
                round_ends = Some(highest.max(acknowledged + 1));
            }
        }
        windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_may_be_a_missing_value() {
        assert_eq!(first_difference(&[1, 2], &[1, 2]), None);
        let at = first_difference(&[1, 2], &[1]);
        assert_eq!(at, Some(Divergence { index: 1, kernel: Some(2), simulated: None }));
        assert_eq!(first_difference(&[1, 2, 3], &[1, 4, 3]).map(|at| at.index), Some(1));
    }

    fn packet(at: u64, seq: u64, arrives: Option<u64>) -> DataPacket {
        DataPacket {
            at: Time::from_millis(at),
            seq,
            len: 10,
            arrives: arrives.map(Time::from_millis),
        }
    }

    fn ack(at: u64, ack: u64, cwnd: u32) -> Acknowledgement {
        Acknowledgement { at: Time::from_millis(at), ack, window_bytes: 0, cwnd, ssthresh: None }
    }

    #[test]
    fn completion_waits_for_what_was_repeated() {
        let trace = FlowTrace {
            data: vec![
                packet(0, 1, None),
                packet(1, 11, Some(51)),
                packet(100, 1, Some(150)),
                packet(101, 11, Some(151)),
            ],
            acknowledgements: Vec::new(),
        };
        assert_eq!(trace.completion(20), Some(Duration::from_millis(150)));
        assert_eq!(trace.completion(21), None);
        assert_eq!((trace.retransmissions(), trace.dropped()), (vec![1, 11], 1));
    }

    #[test]
    fn a_round_ends_when_what_was_out_at_its_beginning_is_acknowledged() {
        let sent = |n| [0, 0, 100, 100, 100, 100, 100, 201, 201][n];
        let data = (0..9).map(|n| packet(sent(n), 1 + 10 * n as u64, None));
        let trace = FlowTrace {
            data: data.collect(),
            acknowledgements: vec![
                ack(100, 11, 3),
                ack(101, 21, 4),
                ack(200, 41, 5),
                ack(201, 71, 6),
                ack(300, 91, 7),
            ],
        };
        assert_eq!(trace.rounds(), [4, 6]);
    }
}
