//! Configuration of one direction of a network, and of its sharing among users.

use std::fmt;
use std::time::Duration;

use chance::RandomSource;
use units::BitsPerSec;

use crate::{Handover, Handovers, Harq, LossModel, Rate};

/// One direction of a network: plain data, as stated by a profile or a user.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Serialisation rate.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// Variation of propagation.
    pub jitter: Jitter,
    /// Packets that may overtake others.
    pub reorder: Reorder,
    /// Limit of the queue in front of the serialiser.
    pub queue: QueueLimit,
    /// Queue management: which packets are dropped or marked while packets wait.
    pub management: Management,
    /// Scheduling among users. If each user has a queue, limit and management apply to each queue.
    pub scheduler: LaneScheduling,
    /// Channel quality of each user.
    pub channels: Channels,
    /// Handovers of users to another cell, if any.
    pub handover: Option<Handover>,
    /// Loss model, decided for each packet *before* the queue, as in dummynet: a lost packet takes neither room nor
    /// rate.
    pub loss: LossModel,
    /// Probability that a packet is duplicated.
    pub duplicate: f64,
    /// Largest IP packet that the link carries, in bytes.
    pub mtu: u32,
    /// Emulator whose order of events and clock the link follows.
    pub emulator: EmulatorModel,
    /// Repetitions on the link of an LTE cell; set by the radio, not by a setting of the link.
    pub harq: Option<Harq>,
    /// Extra delay of each packet by the noise model.
    pub processing_jitter: ProcessingJitter,
}

impl LinkConfig {
    /// A link with a rate, a delay and a droptail queue, without other impairments.
    pub fn new(rate: impl Into<Rate>, delay: Duration, queue: QueueLimit) -> LinkConfig {
        LinkConfig {
            rate: rate.into(),
            delay,
            jitter: Jitter::NONE,
            reorder: Reorder::Never,
            queue,
            management: Management::DropTail,
            scheduler: LaneScheduling::Fifo,
            channels: Channels::default(),
            handover: None,
            loss: LossModel::NONE,
            duplicate: 0.0,
            mtu: DEFAULT_MTU_BYTES,
            emulator: EmulatorModel::Farlink,
            harq: None,
            processing_jitter: ProcessingJitter::None,
        }
    }

    /// Handovers of a user, if any; users that share one queue are handed over together.
    pub fn handovers(&self, source: RandomSource, user: u32) -> Option<Handovers> {
        let user = if self.scheduler == LaneScheduling::Fifo { 0 } else { user };
        self.handover.map(|config| Handovers::of(config, source, user))
    }

    /// A link that only delays.
    pub fn delay(delay: Duration) -> LinkConfig {
        LinkConfig::new(BitsPerSec::UNLIMITED, delay, QueueLimit::Unlimited)
    }
}

/// Queue limit in front of the serialiser. The packet in service does not count, as in dummynet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes of whole packets, as Linux's `bfifo` counts: a packet that would exceed the limit is
    /// dropped.
    Bytes(u64),
    /// No limit: nothing is dropped for want of room.
    Unlimited,
}

impl QueueLimit {
    /// Returns true if there is room for `more` bytes beside `packets` and `bytes`.
    #[inline]
    pub(crate) fn has_room(self, packets: usize, bytes: u64, more: u32) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets < limit as usize,
            QueueLimit::Bytes(limit) => bytes + u64::from(more) <= limit,
            QueueLimit::Unlimited => true,
        }
    }

    /// Returns true if `packets` and `bytes` are within the limit.
    pub(crate) fn holds(self, packets: usize, bytes: u64) -> bool {
        match self {
            QueueLimit::Packets(limit) => packets <= limit as usize,
            QueueLimit::Bytes(limit) => bytes <= limit,
            QueueLimit::Unlimited => true,
        }
    }
}

/// Queue management: which packets are dropped, or marked with ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Management {
    /// The packet that finds the queue full.
    DropTail,
    /// The oldest packet, when the queue is full.
    DropHead,
    /// Waiting packets, after the delay was too high for too long (RFC 8289).
    Codel(Codel),
    /// CoDel for each flow, with flows served in turn (RFC 8290).
    FqCodel(Codel),
    /// Arriving packets, with a probability that follows the delay (RFC 8033).
    Pie(Pie),
}

impl Management {
    /// Default queue limit: `DEFAULT_CODEL_LIMIT` (`sch_codel.c`), `sch->limit` of `sch_fq_codel.c`,
    /// `pie_params_init`; 100 packets where there is no customary value.
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
    /// Delay that is acceptable indefinitely.
    pub target: Duration,
    /// Time for which the delay may exceed the target: about the largest usual round trip.
    pub interval: Duration,
    /// True if ECN-capable packets are marked instead of dropped.
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
    /// Target delay.
    pub target: Duration,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for Pie {
    fn default() -> Pie {
        Pie { target: Duration::from_millis(15), ecn: false }
    }
}

/// Variation of propagation from packet to packet. A delay below zero is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Half the width, or the standard deviation.
    pub spread: Duration,
    /// Its distribution.
    pub shape: JitterShape,
}

impl Jitter {
    /// No variation.
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

/// Packets that may overtake others. Otherwise jitter keeps their order: a packet waits for the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reorder {
    /// None.
    Never,
    /// Packets that jitter makes faster than the one before, as in netem.
    ByJitter,
    /// Each packet with this probability skips its propagation, as in netem's `reorder P` (`gap 1`).
    Jump(f64),
}

/// Emulator whose order of events and clock a link follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmulatorModel {
    /// Exact: loss, queue, serialisation, delay, each to the nanosecond.
    Farlink,
    /// Dummynet of FreeBSD and its Linux port (`ipfw3`): the same order, in ticks.
    Dummynet {
        /// Unit of time: 1 ms, or a tick of FreeBSD (10 ms at `kern.hz=100`).
        tick: Duration,
        /// Period of its timer: a jiffy of Linux (4 ms at HZ 250), a tick of FreeBSD.
        timer: Duration,
    },
    /// Linux's netem with `delay`, `rate` and `limit` in one qdisc.
    Netem,
}

impl EmulatorModel {
    /// Dummynet's tick at its `hz` of 1000.
    pub(crate) const DEFAULT_TICK: Duration = Duration::from_millis(1);

    /// Period of dummynet's timer on Linux at HZ 250.
    pub(crate) const DEFAULT_TIMER: Duration = Duration::from_millis(4);

    /// Default queue limit of the emulator, if it has one: 50 slots (dummynet), 1000 packets (netem).
    pub(crate) fn default_queue(self) -> Option<QueueLimit> {
        match self {
            EmulatorModel::Farlink => None,
            EmulatorModel::Dummynet { .. } => Some(QueueLimit::Packets(50)),
            EmulatorModel::Netem => Some(QueueLimit::Packets(1000)),
        }
    }
}

/// Random delay of each packet, which breaks the phase effects of a deterministic simulation (Floyd and Jacobson, "On
/// Traffic Phase Effects in Packet-Switched Gateways", 1992: a processing time of up to one service time of the
/// bottleneck). Packets keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProcessingJitter {
    /// None: every packet takes exactly the configured delay.
    #[default]
    None,
    /// Uniform in `[0, s)`, where `s` is the packet's own serialisation time.
    UpToOneSerialisation,
}

/// Ethernet's payload size, and so the Internet's usual MTU.
pub(crate) const DEFAULT_MTU_BYTES: u32 = 1500;

impl fmt::Display for QueueLimit {
    /// In the form that [`Network::parse`](crate::Network::parse) reads: `64pkt`, `64KB`, `unlimited`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            QueueLimit::Packets(n) => write!(f, "{n}pkt"),
            QueueLimit::Bytes(n) if n % 1000 == 0 => write!(f, "{}KB", n / 1000),
            QueueLimit::Bytes(n) => write!(f, "{n}B"),
            QueueLimit::Unlimited => f.write_str("unlimited"),
        }
    }
}

// Sharing of a link among users: scheduler and channel quality.
//
// A user is a device, not a connection: a laptop in a cell, a household behind a satellite.
// [`Packet::user`](crate::Packet::user) identifies the user of each packet. With one user every scheduler behaves as
// the plain queue.

/// Scheduler among users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneScheduling {
    /// The oldest: one queue for all users.
    #[default]
    Fifo,
    /// Users take turns, with a queue each: deficit round robin with a quantum of one full packet (Shreedhar and
    /// Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995). Backlogged users get equal bytes.
    RoundRobin,
    /// The user with the best channel relative to its recent throughput is next; a queue each. As in base stations of
    /// HSPA and LTE.
    ProportionalFair(ProportionalFair),
}

/// Parameters of proportional fairness (Jalali, Padovani, Pankaj, "Data Throughput of CDMA-HDR", 2000): each slot
/// goes to the user with the largest ratio of rate to mean throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProportionalFair {
    /// Length of a turn: 1 ms in LTE (a subframe, 3GPP TS 36.211 section 4), 2 ms in HSDPA (TS 25.308 section 5).
    pub slot: Duration,
    /// Time constant of the mean.
    pub window: Duration,
}

impl Default for ProportionalFair {
    /// Slots of LTE and a window of a hundred of them, as in ns-3's `PfFfMacScheduler` (`m_timeWindow`).
    fn default() -> ProportionalFair {
        ProportionalFair { slot: Duration::from_millis(1), window: Duration::from_millis(100) }
    }
}

/// Channel quality of each user: the share of the link's rate that it gets when served. Its packets take
/// correspondingly longer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channels(Vec<f64>);

impl Channels {
    /// One share per user, each above 0 and at most 1; with more users than shares the list is repeated. Empty: every
    /// user has the link's rate.
    ///
    /// # Panics
    /// If a share is out of range.
    pub fn new(shares: Vec<f64>) -> Channels {
        let is_share = |share: &f64| *share > 0.0 && *share <= 1.0;
        assert!(shares.iter().all(is_share), "a channel has a share of the rate: {shares:?}");
        Channels(shares)
    }

    /// The share of `user`.
    pub fn of(&self, user: u32) -> f64 {
        match self.0.len() {
            0 => 1.0,
            users => self.0[user as usize % users],
        }
    }

    /// The shares as stated.
    pub fn shares(&self) -> &[f64] {
        &self.0
    }

    /// Returns true if every user has the link's rate.
    pub(crate) fn are_perfect(&self) -> bool {
        self.0.iter().all(|share| *share == 1.0)
    }
}
