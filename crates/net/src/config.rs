//! What one direction of a network is made of.

use std::fmt;
use std::time::Duration;

use units::BitsPerSec;

/// One direction of a network: plain data, as a profile or a person states it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Rate of the serialiser, counted over IP packets (no link-layer framing).
    pub rate: BitsPerSec,
    /// Propagation, one way.
    pub delay: Duration,
    /// How much may wait for the serialiser.
    pub queue: QueueLimit,
    /// Probability that a packet is lost, drawn for each packet *before* the queue, as dummynet
    /// does: a lost packet takes neither room nor rate.
    pub loss: f64,
    /// The largest IP packet that the link carries, in bytes.
    pub mtu: u32,
    /// The nuisance model's extra delay of each packet.
    pub processing_jitter: ProcessingJitter,
}

/// How much may wait for the serialiser. The packet in service does not count, as in dummynet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets; one more is dropped.
    Packets(u32),
    /// So many bytes of whole packets, as Linux's `bfifo` counts: a packet that would go over is
    /// dropped.
    Bytes(u64),
    /// Nothing is ever dropped for want of room.
    Unlimited,
}

/// A random delay of each packet, which breaks the phase effects of a deterministic simulation
/// (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992: a processing
/// time of up to one service time of the bottleneck). Packets keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProcessingJitter {
    /// None: every packet takes exactly the configured delay.
    #[default]
    None,
    /// Uniform in `[0, s)`, where `s` is the packet's own serialisation time.
    UpToOneSerialisation,
}

/// Ethernet's payload, and so the Internet's usual MTU.
pub(crate) const DEFAULT_MTU_BYTES: u32 = 1500;

impl fmt::Display for QueueLimit {
    /// As [`Network::parse`](crate::Network::parse) reads it: `64pkt`, `64KB`, `unlimited`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            QueueLimit::Packets(n) => write!(f, "{n}pkt"),
            QueueLimit::Bytes(n) if n % 1000 == 0 => write!(f, "{}KB", n / 1000),
            QueueLimit::Bytes(n) => write!(f, "{n}B"),
            QueueLimit::Unlimited => f.write_str("unlimited"),
        }
    }
}
