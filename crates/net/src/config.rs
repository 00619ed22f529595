//! What one direction of a network is made of.

use std::fmt;
use std::time::Duration;

use chance::Source;
use units::BitsPerSec;

use crate::{Channels, Handover, Handovers, Harq, LossModel, Rate, Scheduler};

/// One direction of a network: plain data, as a profile or a person states it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// How fast it serialises.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// How propagation varies.
    pub jitter: Jitter,
    /// Which packets may overtake others.
    pub reorder: Reorder,
    /// How much may wait for the serialiser.
    pub queue: QueueLimit,
    /// Who is dropped or marked while packets wait.
    pub management: Management,
    /// Which user is served next. Where users have a queue each, the limit and the management are those of each queue.
    pub scheduler: Scheduler,
    /// How good each user's channel is.
    pub channels: Channels,
    /// When users are handed over to another cell, if they are.
    pub handover: Option<Handover>,
    /// Which packets are lost, decided for each *before* the queue, as dummynet does: a lost packet
    /// takes neither room nor rate.
    pub loss: LossModel,
    /// Probability that a packet enters twice.
    pub duplicate: f64,
    /// The largest IP packet that the link carries, in bytes.
    pub mtu: u32,
    /// Whose order of events and whose clock the link follows.
    pub emulator: Emulator,
    /// How what it carries is repeated, on the link of an LTE cell: the radio says so, no setting of the link.
    pub harq: Option<Harq>,
    /// The nuisance model's extra delay of each packet.
    pub processing_jitter: ProcessingJitter,
}

impl LinkConfig {
    /// A link that has a rate, a delay and a droptail queue, and harms no packet otherwise.
    pub fn new(rate: impl Into<Rate>, delay: Duration, queue: QueueLimit) -> LinkConfig {
        LinkConfig {
            rate: rate.into(),
            delay,
            jitter: Jitter::NONE,
            reorder: Reorder::Never,
            queue,
            management: Management::DropTail,
            scheduler: Scheduler::Fifo,
            channels: Channels::default(),
            handover: None,
            loss: LossModel::NONE,
            duplicate: 0.0,
            mtu: DEFAULT_MTU_BYTES,
            emulator: Emulator::Farlink,
            harq: None,
            processing_jitter: ProcessingJitter::None,
        }
    }

    /// The handovers of a user, if there are any: where there is one queue for all, all are handed over together.
    pub fn handovers(&self, source: Source, user: u32) -> Option<Handovers> {
        let user = if self.scheduler == Scheduler::Fifo { 0 } else { user };
        self.handover.map(|config| Handovers::of(config, source, user))
    }

    /// A link that delays and does nothing else.
    pub fn delay(delay: Duration) -> LinkConfig {
        LinkConfig::new(BitsPerSec::UNLIMITED, delay, QueueLimit::Unlimited)
    }
}

/// How much may wait for the serialiser. The packet in service does not count, as in dummynet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets; one more is too much.
    Packets(u32),
    /// So many bytes of whole packets, as Linux's `bfifo` counts: a packet that would go over is
    /// too much.
    Bytes(u64),
    /// Nothing is ever dropped for want of room.
    Unlimited,
}

impl QueueLimit {
    /// Whether `more` bytes have room beside so many packets and bytes.
    #[inline]
    pub(crate) fn has_room(self, packets: usize, bytes: u64, more: u32) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets < limit as usize,
            QueueLimit::Bytes(limit) => bytes + u64::from(more) <= limit,
            QueueLimit::Unlimited => true,
        }
    }

    /// Whether so many packets and bytes are within the limit.
    pub(crate) fn holds(self, packets: usize, bytes: u64) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets <= limit as usize,
            QueueLimit::Bytes(limit) => bytes <= limit,
            QueueLimit::Unlimited => true,
        }
    }
}

/// Who is dropped, or marked with ECN, while packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Management {
    /// The packet that finds the queue full.
    DropTail,
    /// The oldest packet, when the queue is full.
    DropHead,
    /// Whoever waits when the delay was too high for too long (RFC 8289).
    Codel(Codel),
    /// The same for each flow, and flows take turns (RFC 8290).
    FqCodel(Codel),
    /// Arriving packets, with a probability that follows the delay (RFC 8033).
    Pie(Pie),
}

impl Management {
    /// How much may wait if nobody says otherwise: `DEFAULT_CODEL_LIMIT` (`sch_codel.c`), `sch->limit`
    /// of `sch_fq_codel.c`, `pie_params_init`; 100 packets where there is no custom.
    pub(crate) fn default_queue(self) -> QueueLimit {
        match self {
            Management::DropTail | Management::DropHead => QueueLimit::Packets(100),
            Management::Codel(_) | Management::Pie(_) => QueueLimit::Packets(1000),
            Management::FqCodel(_) => QueueLimit::Packets(10_240),
        }
    }
}

/// CoDel's parameters, by default those of RFC 8289 section 4.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// The delay that is acceptable for as long as one likes.
    pub target: Duration,
    /// For how long it may be higher: about the largest usual round trip.
    pub interval: Duration,
    /// Whether packets that know ECN are marked instead of being dropped.
    pub ecn: bool,
}

impl Default for Codel {
    fn default() -> Codel {
        let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
        Codel { target, interval, ecn: false }
    }
}

/// PIE's parameters, by default those of RFC 8033 section 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pie {
    /// The delay that is aimed at.
    pub target: Duration,
    /// Whether packets that know ECN are marked instead of being dropped.
    pub ecn: bool,
}

impl Default for Pie {
    fn default() -> Pie {
        Pie { target: Duration::from_millis(15), ecn: false }
    }
}

/// How propagation varies from packet to packet. A delay below zero is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Half the width, or the standard deviation.
    pub spread: Duration,
    /// Its distribution.
    pub shape: JitterShape,
}

impl Jitter {
    /// It does not.
    pub const NONE: Jitter = Jitter { spread: Duration::ZERO, shape: JitterShape::Uniform };
}

/// A distribution around the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterShape {
    /// Uniform from `delay - spread` to `delay + spread`: netem's default.
    Uniform,
    /// Normal with the standard deviation `spread`: netem's `distribution normal`. Good to about three
    /// sigma (a sum of twelve uniforms, no table), six sigma at most.
    Normal,
}

/// Which packets may overtake others. Without this, jitter keeps their order: a packet waits for the
/// one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reorder {
    /// None.
    Never,
    /// Those whom jitter makes faster than the one before, as with netem.
    ByJitter,
    /// Each with this probability skips its propagation, as with netem's `reorder P` (`gap 1`).
    Jump(f64),
}

/// Whose order of events and whose clock a link follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emulator {
    /// Exact: loss, queue, serialisation, delay, each to the nanosecond.
    Farlink,
    /// Dummynet of FreeBSD and its Linux port (`ipfw3`): the same order, in ticks.
    Dummynet {
        /// What it counts time in: 1 ms, or a tick of FreeBSD (10 ms at `kern.hz=100`).
        tick: Duration,
        /// How often its timer runs: a jiffy of Linux (4 ms at HZ 250), a tick of FreeBSD.
        timer: Duration,
    },
    /// Linux's netem with `delay`, `rate` and `limit` in one qdisc.
    Netem,
}

impl Emulator {
    /// Dummynet's tick at its `hz` of 1000.
    pub(crate) const DEFAULT_TICK: Duration = Duration::from_millis(1);

    /// The timer of dummynet on a Linux of HZ 250.
    pub(crate) const DEFAULT_TIMER: Duration = Duration::from_millis(4);

    /// How much may wait if nobody says otherwise, where the emulator has a custom: 50 slots
    /// (dummynet), 1000 packets (netem).
    pub(crate) fn default_queue(self) -> Option<QueueLimit> {
        match self {
            Emulator::Farlink => None,
            Emulator::Dummynet { .. } => Some(QueueLimit::Packets(50)),
            Emulator::Netem => Some(QueueLimit::Packets(1000)),
        }
    }
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
