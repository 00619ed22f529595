//! One direction of a network: loss, queue, serialiser, delay line.
//!
//! The order is dummynet's (`ip_dn_io.c`): a packet is lost, dropped for want of room, serialised and delayed, in
//! this order; behind an LTE radio it may be repeated after serialisation. There are four carriers: a plain queue and
//! the two imitated emulators decide all of a packet's fate when it enters, so a packet costs at most one timer, its
//! arrival; a queue that is managed, or shared by users in turn, decides when the serialiser is free, so service is
//! an event, too.

use std::time::Duration;

use chance::{RandomSource, RandomStream};
use units::Time;

use crate::busy::BusyPeriods;
use crate::loss::LossProcess;
use crate::propagation::{DelayLine, Propagation};
use crate::queue::{DroppedPackets, QueueDepth, Queued};
use crate::{
    Delivered, DroppedPacket, EmulatorModel, LinkConfig, LinkStats, Packet, ProcessingJitter,
};

mod emulators;
mod fifo;
mod lane;
mod schedulers;
mod transport_blocks;

use emulators::{Dummynet, Netem};
use fifo::{Fifo, LinkTransit, nanos_between};
use lane::{Managed, ServedPacket};
use transport_blocks::TransportBlocks;

/// One direction of a network, carrying packets with opaque bodies `P`.
pub struct Link<P> {
    mtu: u32,
    loss: LossProcess,
    duplication: Duplication,
    carrier: LinkCarrier<P>,
    blocks: Option<Box<TransportBlocks>>,
    processing: Processing,
    delay_line: DelayLine<P>,
    dropped: DroppedPackets<P>,
    stats: LinkStats,
    busy: BusyPeriods,
}

/// Transport of packets to the far end.
enum LinkCarrier<P> {
    Fifo(Fifo),
    Managed(Box<Managed<P>>, Box<Propagation>),
    Dummynet(Box<Dummynet>),
    Netem(Box<Netem>),
}

/// Outcome of handing a packet to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// The packet is on its way. A managed queue may still drop it: see [`Link::poll_dropped`].
    Queued,
    /// The packet will not arrive.
    Dropped(DropCause),
}

/// Reasons why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum DropCause {
    /// Random or listed loss, or a handover without forwarding.
    Loss,
    /// No room in the queue.
    QueueFull,
    /// Queue management (CoDel, PIE), before the queue was full.
    Managed,
    /// Larger than the MTU.
    TooBig,
}

/// Delays of the noise model.
struct Processing {
    jitter: ProcessingJitter,
    stream: RandomStream,
}

/// Decides which packets are duplicated.
struct Duplication {
    probability: f64,
    stream: RandomStream,
}

impl<P: Clone + Send + 'static> Link<P> {
    /// Creates an idle link. Its random streams are `link/NAME/loss` and so on, one per purpose, so that draws of one
    /// direction shift nothing in the other.
    pub fn new(config: LinkConfig, source: &RandomSource, name: &str) -> Link<P> {
        let stream = |purpose: &str| source.stream(&format!("link/{name}/{purpose}"));
        Link {
            mtu: config.mtu,
            carrier: LinkCarrier::new(&config, source, name),
            blocks: config.harq.map(|harq| Box::new(TransportBlocks::new(harq, stream("blocks")))),
            loss: LossProcess::new(config.loss, source, name),
            duplication: Duplication { probability: config.duplicate, stream: stream("duplicate") },
            processing: Processing { jitter: config.processing_jitter, stream: stream("jitter") },
            delay_line: DelayLine::new(),
            dropped: DroppedPackets::new(),
            stats: LinkStats::default(),
            busy: BusyPeriods::default(),
        }
    }

    /// Takes a packet at `now`, which never goes back.
    #[inline]
    pub fn handle(&mut self, now: Time, packet: Packet, body: P) -> Admission {
        let bytes = packet.wire_bytes;
        self.stats.offer(bytes);
        self.serve_until(now);
        if bytes > self.mtu {
            return self.drop_packet(bytes, DropCause::TooBig);
        }
        let is_lost = self.loss.drops_next(now);
        if self.duplication.duplicates_next() {
            return self.handle_twice(now, packet, body, is_lost);
        }
        if is_lost {
            return self.drop_packet(bytes, DropCause::Loss);
        }
        self.admit(now, packet, body)
    }

    /// Handles a duplicated packet in netem's order (`netem_enqueue`): a loss takes one of the two; otherwise the
    /// copy goes first, and can be lost in its own right.
    #[cold]
    fn handle_twice(&mut self, now: Time, packet: Packet, body: P, is_lost: bool) -> Admission {
        let bytes = packet.wire_bytes;
        self.stats.duplicate(bytes);
        let copy_is_lost = is_lost || self.loss.drops_next(now);
        let _ = match copy_is_lost {
            true => self.drop_packet(bytes, DropCause::Loss),
            false => self.admit(now, packet, body.clone()),
        };
        self.admit(now, packet, body)
    }

    /// Each carrier's arm is straight-line code: the first carries millions of packets a second.
    #[inline(always)]
    fn admit(&mut self, now: Time, packet: Packet, body: P) -> Admission {
        match &mut self.carrier {
            LinkCarrier::Fifo(fifo) => {
                let crossing = fifo.admit(now, packet.wire_bytes);
                self.settle(now, packet, body, crossing)
            }
            LinkCarrier::Managed(..) => self.enqueue(now, packet, body),
            LinkCarrier::Dummynet(_) | LinkCarrier::Netem(_) => {
                self.admit_emulated(now, packet, body)
            }
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, now: Time, packet: Packet, body: P) -> Admission {
        let LinkCarrier::Managed(queue, _) = &mut self.carrier else {
            unreachable!("it is managed")
        };
        let queued = Queued { since: now, packet, marked: false, body };
        let mut drops = DroppedPackets::new();
        let outcome = queue.enqueue(now, queued, &mut drops);
        self.count_drops(drops);
        if let Err(cause) = outcome {
            return self.drop_packet(packet.wire_bytes, cause);
        }
        self.serve_until(now);
        self.note_depth();
        Admission::Queued
    }
}

impl<P> Link<P> {
    /// Returns the next packet that has arrived at the far end by `now`.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Delivered<P>> {
        self.serve_until(now);
        let (packet, is_late) = self.delay_line.pop(now)?;
        self.stats.deliver(packet.wire_bytes);
        self.stats.reordered_packets += u64::from(is_late);
        Some(packet)
    }

    /// Time of the next event: an arrival, or, in a managed queue, a service. `None` if nothing is on its way, and if
    /// the link stalls for ever.
    pub fn deadline(&self) -> Option<Time> {
        let arrival = self.delay_line.next_arrival();
        match &self.carrier {
            LinkCarrier::Managed(queue, _) => arrival.into_iter().chain(queue.serves_at()).min(),
            _ => arrival,
        }
    }

    /// Returns the next packet that was accepted and then dropped by queue management, or to make room, oldest first.
    /// To be called after each [`Link::handle`] and [`Link::poll`].
    pub fn poll_dropped(&mut self) -> Option<DroppedPacket<P>> {
        self.dropped.pop_front()
    }

    /// Number of packets that were accepted and neither polled nor dropped.
    pub fn in_flight(&self) -> usize {
        let waiting = match &self.carrier {
            LinkCarrier::Managed(queue, _) => queue.packets(),
            _ => 0,
        };
        self.delay_line.len() + waiting
    }

    /// Totals so far.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Periods during which packets waited or were in service, in chronological order: the first 65,536.
    pub fn busy_periods(&self) -> &[(Time, Time)] {
        self.busy.as_slice()
    }

    #[inline(never)]
    fn admit_emulated(&mut self, now: Time, packet: Packet, body: P) -> Admission {
        let bytes = packet.wire_bytes;
        let crossing = match &mut self.carrier {
            LinkCarrier::Dummynet(dummynet) => dummynet.admit(now, bytes),
            LinkCarrier::Netem(netem) => netem.admit(now, bytes),
            LinkCarrier::Fifo(_) | LinkCarrier::Managed(..) => unreachable!("it is an emulator's"),
        };
        self.settle(now, packet, body, crossing)
    }

    /// Accounts for a packet whose fate was decided when it entered.
    #[inline(always)]
    fn settle(
        &mut self,
        now: Time,
        packet: Packet,
        body: P,
        crossing: Result<LinkTransit, DropCause>,
    ) -> Admission {
        match crossing {
            Err(cause) => self.drop_packet(packet.wire_bytes, cause),
            Ok(crossing) => {
                if crossing.waited_ns > 0 {
                    self.note_depth();
                }
                self.carry(now, packet, false, body, crossing);
                Admission::Queued
            }
        }
    }

    /// Runs the services of a managed queue that are due by `now`, each at its own time.
    #[inline]
    fn serve_until(&mut self, now: Time) {
        if matches!(&self.carrier, LinkCarrier::Managed(queue, _) if queue.is_due(now)) {
            self.run_services(now);
        }
    }

    #[inline(never)]
    fn run_services(&mut self, now: Time) {
        while let LinkCarrier::Managed(queue, propagation) = &mut self.carrier {
            let mut drops = DroppedPackets::new();
            let served =
                queue.serve(now, &mut drops).map(|ServedPacket { packet, ends, service_ns }| {
                    let (arrives, order) = propagation.next(ends);
                    let waited_ns = nanos_between(packet.since, ends).saturating_sub(service_ns);
                    (packet, LinkTransit { waited_ns, service_ns, arrives, order })
                });
            self.count_drops(drops);
            let Some((Queued { since, packet, marked, body }, crossing)) = served else { return };
            self.carry(since, packet, marked, body, crossing);
        }
    }

    fn count_drops(&mut self, drops: DroppedPackets<P>) {
        for dropped in &drops {
            self.stats.drop_packet(dropped.wire_bytes, dropped.cause);
        }
        self.dropped.extend(drops);
    }

    /// Sends an admitted packet, which entered at `since`, on its way.
    #[inline(always)]
    fn carry(&mut self, since: Time, packet: Packet, marked: bool, body: P, crossing: LinkTransit) {
        let wire_bytes = packet.wire_bytes;
        let LinkTransit { waited_ns, service_ns, arrives, order } = crossing;
        let arrives = self.processing.delayed(arrives, service_ns);
        let arrives = arrives + self.repeated(since, &crossing);
        let delivered = Delivered { wire_bytes, congestion_experienced: marked, body };
        let arrives = self.delay_line.push(arrives, order, delivered);
        self.stats.marked_packets += u64::from(marked);
        if arrives < Time::NEVER {
            let all_ns = nanos_between(since, arrives);
            self.stats.serve(wire_bytes, waited_ns, service_ns, all_ns);
            self.busy.note(since, since + Duration::from_nanos(waited_ns + service_ns));
        }
    }

    /// Extra delay by repetitions on the air of a packet that entered at `since`.
    #[inline(always)]
    fn repeated(&mut self, since: Time, crossing: &LinkTransit) -> Duration {
        match &mut self.blocks {
            Some(blocks) if crossing.arrives < Time::NEVER => {
                let starts = since + Duration::from_nanos(crossing.waited_ns);
                blocks.delay(starts, starts + Duration::from_nanos(crossing.service_ns))
            }
            _ => Duration::ZERO,
        }
    }

    #[inline(never)]
    fn drop_packet(&mut self, bytes: u32, cause: DropCause) -> Admission {
        self.stats.drop_packet(bytes, cause);
        Admission::Dropped(cause)
    }

    fn note_depth(&mut self) {
        let QueueDepth { packets, bytes } = self.carrier.depth();
        self.stats.max_queue_packets = self.stats.max_queue_packets.max(packets as u64);
        self.stats.max_queue_bytes = self.stats.max_queue_bytes.max(bytes);
    }
}

impl<P: Send + 'static> LinkCarrier<P> {
    fn new(config: &LinkConfig, source: &RandomSource, name: &str) -> LinkCarrier<P> {
        let propagation = Propagation::new(config, source.stream(&format!("link/{name}/delay")));
        match config.emulator {
            EmulatorModel::Dummynet { tick, timer } => {
                LinkCarrier::Dummynet(Box::new(Dummynet::new(config, tick, timer)))
            }
            EmulatorModel::Netem => LinkCarrier::Netem(Box::new(Netem::new(config, propagation))),
            EmulatorModel::Farlink => match Managed::new(config, source, name) {
                Some(queue) => LinkCarrier::Managed(Box::new(queue), Box::new(propagation)),
                None => LinkCarrier::Fifo(Fifo::new(config, propagation)),
            },
        }
    }
}

impl<P> LinkCarrier<P> {
    fn depth(&self) -> QueueDepth {
        match self {
            LinkCarrier::Fifo(fifo) => fifo.depth(),
            LinkCarrier::Managed(queue, _) => queue.depth(),
            LinkCarrier::Dummynet(dummynet) => dummynet.depth(),
            LinkCarrier::Netem(netem) => netem.depth(),
        }
    }
}

impl Duplication {
    #[inline]
    fn duplicates_next(&mut self) -> bool {
        self.probability > 0.0 && self.stream.happens(self.probability)
    }
}

impl Processing {
    #[inline]
    fn delayed(&mut self, arrives: Time, service_ns: u64) -> Time {
        match self.jitter {
            ProcessingJitter::None => arrives,
            ProcessingJitter::UpToOneSerialisation if arrives == Time::NEVER => arrives,
            ProcessingJitter::UpToOneSerialisation => {
                arrives + self.stream.span(Duration::from_nanos(service_ns))
            }
        }
    }
}

#[cfg(test)]
mod tests;
