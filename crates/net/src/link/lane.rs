//! Queues with their own place before the server, for all users or for one each, and the link that serves them in turn.

use chance::RandomSource;
use units::Time;

use super::fifo::nanos_between;
use super::schedulers::{ChosenLane, LaneScheduler};
use crate::handover::Handovers;
use crate::queue::{
    CodelQueue, Discipline, DropHead, DroppedPackets, FqCodel, PieQueue, QueueDepth, Queued,
    TailDrop,
};
use crate::server::{LinkServer, ServiceTime};
use crate::{Channels, DropCause, LaneScheduling, LinkConfig, Management};

pub(super) struct Lane<P> {
    waiting: Box<dyn Discipline<P> + Send>,
    /// The packet that is partly served.
    begun: Option<PartlyServed<P>>,
    /// Time since which packets wait, or since which the user is back.
    since: Time,
    /// Earliest time at which the server can serve the lane; [`Time::NEVER`] if it is empty.
    next: Time,
    handovers: Option<Handovers>,
}

struct PartlyServed<P> {
    packet: Queued<P>,
    served_bytes: u32,
    service_ns: u64,
}

/// A packet whose last byte was served.
pub(super) struct ServedPacket<P> {
    pub(super) packet: Queued<P>,
    /// Time of its last byte.
    pub(super) ends: Time,
    /// Total time for which it kept the server busy.
    pub(super) service_ns: u64,
}

/// One slice of service: a packet, or a part of one.
pub(super) struct Slice<P> {
    pub(super) bytes: u32,
    pub(super) service: ServiceTime,
    /// The packet, if the slice was its last.
    pub(super) done: Option<ServedPacket<P>>,
}

impl<P: Send + 'static> Lane<P> {
    /// The lane with this number. The first has the random streams of a link with a single lane.
    pub(super) fn new(
        config: &LinkConfig,
        source: &RandomSource,
        name: &str,
        number: u32,
    ) -> Lane<P> {
        let LinkConfig { queue, mtu, .. } = *config;
        let purpose = match number {
            0 => format!("link/{name}/queue"),
            _ => format!("link/{name}/queue/{number}"),
        };
        let waiting: Box<dyn Discipline<P> + Send> = match config.management {
            Management::DropTail => Box::new(TailDrop::new(queue)),
            Management::DropHead => Box::new(DropHead::new(queue)),
            Management::Codel(codel) => Box::new(CodelQueue::new(codel, queue, mtu)),
            Management::FqCodel(codel) => Box::new(FqCodel::new(codel, queue, mtu)),
            Management::Pie(pie) => {
                Box::new(PieQueue::new(pie, queue, mtu, source.stream(&purpose)))
            }
        };
        let handovers = config.handovers(*source, number);
        Lane { waiting, begun: None, since: Time::ZERO, next: Time::NEVER, handovers }
    }
}

impl<P> Lane<P> {
    /// Adds a packet to the queue. Returns true if the lane was empty.
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut DroppedPackets<P>,
    ) -> Result<bool, DropCause> {
        if self.is_losing(now) {
            return Err(DropCause::Loss);
        }
        let was_empty = self.is_empty();
        if was_empty {
            self.since = now;
        }
        self.waiting.enqueue(now, packet, drops).map(|()| was_empty)
    }

    /// Queue depth, without the packet in service.
    pub(super) fn depth(&self) -> QueueDepth {
        self.waiting.depth()
    }

    /// Number of packets in the lane.
    pub(super) fn packets(&self) -> usize {
        self.depth().packets + usize::from(self.begun.is_some())
    }

    /// Earliest service time, as found by [`plan`](Lane::plan).
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Computes when `server` can serve the lane.
    pub(super) fn plan(&mut self, server: &LinkServer) {
        if self.is_empty() {
            self.next = Time::NEVER;
            return;
        }
        self.next = server.starts(self.since);
        while let Some(back) = self.back(self.next) {
            self.since = back;
            self.next = server.starts(back);
        }
    }

    /// Return time of a user that is away at `at` and has packets waiting.
    fn back(&self, at: Time) -> Option<Time> {
        let handovers = self.handovers.as_ref().filter(|_| at < Time::NEVER)?;
        handovers.at(at).filter(|_| handovers.config().lossless).map(|away| away.ends)
    }

    /// Drops everything if the user is away at `at` and its packets are not forwarded.
    pub(super) fn drop_lossy(&mut self, at: Time, drops: &mut DroppedPackets<P>) {
        if !self.is_losing(at) {
            return;
        }
        let begun = self.begun.take().map(|begun| begun.packet);
        let waiting = std::iter::from_fn(|| self.waiting.dequeue(at, drops));
        let all: Vec<Queued<P>> = begun.into_iter().chain(waiting).collect();
        drops.extend(all.into_iter().map(|packet| packet.into_drop(at, DropCause::Loss)));
        self.next = Time::NEVER;
    }

    /// Serves at most so many bytes of the first packet. `None` if the queue dropped all it had.
    pub(super) fn serve(
        &mut self,
        most_bytes: u32,
        channels: &Channels,
        server: &mut LinkServer,
        drops: &mut DroppedPackets<P>,
    ) -> Option<Slice<P>> {
        let mut begun = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let packet = self.waiting.dequeue(self.next, drops)?;
                PartlyServed { packet, served_bytes: 0, service_ns: 0 }
            }
        };
        let bytes = self.slice(&begun, most_bytes, channels, server);
        let service = server.serve(self.since, begun.on_air(bytes, channels));
        begun.served_bytes += bytes;
        begun.service_ns += nanos_between(service.starts, service.ends);
        let done = match begun.left_bytes() {
            0 => {
                let PartlyServed { packet, service_ns, .. } = begun;
                Some(ServedPacket { packet, ends: service.ends, service_ns })
            }
            _ => {
                self.begun = Some(begun);
                None
            }
        };
        Some(Slice { bytes, service, done })
    }

    /// Number of bytes to serve in one go: as many as allowed, with all but the last byte ending before the next
    /// handover.
    fn slice(
        &self,
        begun: &PartlyServed<P>,
        most_bytes: u32,
        channels: &Channels,
        server: &LinkServer,
    ) -> u32 {
        if !server.divides() {
            return begun.left_bytes();
        }
        let all = begun.left_bytes().min(most_bytes);
        let Some(handovers) = &self.handovers else { return all };
        let away = handovers.next_after(self.next);
        let is_in_time = |bytes: u32| {
            let on_air = begun.on_air(bytes, channels);
            server.clone().serve(self.since, on_air).ends <= away
        };
        if is_in_time(all) {
            return all;
        }
        let (mut enough, mut too_many) = (0, all);
        while too_many - enough > 1 {
            let middle = enough + (too_many - enough) / 2;
            match is_in_time(middle) {
                true => enough = middle,
                false => too_many = middle,
            }
        }
        too_many
    }

    fn is_empty(&self) -> bool {
        self.begun.is_none() && self.waiting.depth().packets == 0
    }

    fn is_losing(&self, at: Time) -> bool {
        let is_lossy = |handovers: &&Handovers| !handovers.config().lossless;
        self.handovers.as_ref().filter(is_lossy).is_some_and(|all| all.at(at).is_some())
    }
}

impl<P> PartlyServed<P> {
    fn left_bytes(&self) -> u32 {
        self.packet.packet.wire_bytes - self.served_bytes
    }

    /// Cost of the packet's next `bytes` at the server: more if the user's channel is poor. Rounded once per packet,
    /// however it is sliced.
    fn on_air(&self, bytes: u32, channels: &Channels) -> u32 {
        let share = channels.of(self.packet.packet.user);
        if share == 1.0 {
            return bytes;
        }
        let scaled = |bytes: u32| (f64::from(bytes) / share).round() as u32;
        scaled(self.served_bytes + bytes) - scaled(self.served_bytes)
    }
}

// A link that chooses its next packet when the server is free: because queue management decides then which packets
// to drop, because users take turns, or because they are away for a moment. Service is an event of its own.
//
// The server takes slices: whole packets, or parts of them if a turn or a user's presence ends in the middle.

pub(super) struct Managed<P> {
    config: LinkConfig,
    source: RandomSource,
    name: String,
    /// One lane for all users, or one per user, by number.
    lanes: Vec<Lane<P>>,
    scheduler: Box<dyn LaneScheduler>,
    server: LinkServer,
    /// Time at which the server takes the next slice.
    serves_at: Option<Time>,
}

impl<P: Send + 'static> Managed<P> {
    /// Creates a managed or shared queue; `None` for a plain one, which needs none of this.
    pub(super) fn new(
        config: &LinkConfig,
        source: &RandomSource,
        name: &str,
    ) -> Option<Managed<P>> {
        let is_plain = config.management == Management::DropTail
            && config.scheduler == LaneScheduling::Fifo
            && config.channels.are_perfect()
            && config.handover.is_none();
        if is_plain {
            return None;
        }
        Some(Managed {
            lanes: Vec::new(),
            scheduler: super::schedulers::of(config),
            server: LinkServer::new(&config.rate),
            serves_at: None,
            config: config.clone(),
            source: *source,
            name: name.to_owned(),
        })
    }

    /// Adds a packet to its queue. Services due before must have been run.
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut DroppedPackets<P>,
    ) -> Result<(), DropCause> {
        let number = match self.config.scheduler {
            LaneScheduling::Fifo => 0,
            LaneScheduling::RoundRobin | LaneScheduling::ProportionalFair(_) => packet.packet.user,
        };
        while self.lanes.len() <= number as usize {
            let next = self.lanes.len() as u32;
            self.lanes.push(Lane::new(&self.config, &self.source, &self.name, next));
        }
        let outcome = self.lanes[number as usize].enqueue(now, packet, drops);
        if outcome == Ok(true) {
            self.plan();
        }
        outcome.map(|_| ())
    }
}

impl<P> Managed<P> {
    /// Beginning of the next service.
    pub(super) fn serves_at(&self) -> Option<Time> {
        self.serves_at
    }

    /// Returns true if a service is due by `now`.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.serves_at.is_some_and(|at| at <= now)
    }

    /// Returns the next packet whose last slice is due by `now`. A lane that drops all it has leaves the server idle.
    pub(super) fn serve(
        &mut self,
        now: Time,
        drops: &mut DroppedPackets<P>,
    ) -> Option<ServedPacket<P>> {
        while let Some(at) = self.serves_at.filter(|at| *at <= now) {
            self.lanes.iter_mut().for_each(|lane| lane.drop_lossy(at, drops));
            let served = self.serve_slice(at, drops);
            self.plan();
            if served.is_some() {
                return served;
            }
        }
        None
    }

    fn serve_slice(&mut self, at: Time, drops: &mut DroppedPackets<P>) -> Option<ServedPacket<P>> {
        let Managed { lanes, scheduler, server, config, .. } = self;
        let is_ready = |lane: usize| lanes[lane].next() <= at;
        if !(0..lanes.len()).any(is_ready) {
            return None;
        }
        let ChosenLane { lane, most_bytes } = scheduler.next(at, lanes.len(), &is_ready);
        let Slice { bytes, service, done } =
            lanes[lane].serve(most_bytes, &config.channels, server, drops)?;
        scheduler.served(lane, bytes, service);
        done
    }

    /// Depth of all queues.
    pub(super) fn depth(&self) -> QueueDepth {
        self.lanes.iter().map(Lane::depth).fold(QueueDepth::default(), |all, lane| QueueDepth {
            packets: all.packets + lane.packets,
            bytes: all.bytes + lane.bytes,
        })
    }

    /// Number of packets that wait or are being served in slices.
    pub(super) fn packets(&self) -> usize {
        self.lanes.iter().map(Lane::packets).sum()
    }

    fn plan(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.plan(&self.server));
        let first = self.lanes.iter().map(Lane::next).min();
        self.serves_at = first.filter(|at| *at < Time::NEVER);
    }
}
