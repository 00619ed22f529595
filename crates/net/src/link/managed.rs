//! A link that chooses its next packet when the server is free: because queue management decides then which packets
//! to drop, because users take turns, or because they are away for a moment. Service is an event of its own.
//!
//! The server takes slices: whole packets, or parts of them if a turn or a user's presence ends in the middle.

use chance::Source;
use units::Time;

use super::lane::{Lane, Served, Slice};
use super::turns::{self, Turn, Turns};
use crate::queue::{Depth, Drops, Queued};
use crate::server::Server;
use crate::{DropCause, LinkConfig, Management, Scheduler};

pub(super) struct Managed<P> {
    config: LinkConfig,
    source: Source,
    name: String,
    /// One lane for all users, or one per user, by number.
    lanes: Vec<Lane<P>>,
    turns: Box<dyn Turns>,
    server: Server,
    /// Time at which the server takes the next slice.
    serves_at: Option<Time>,
}

impl<P: Send + 'static> Managed<P> {
    /// Creates a managed or shared queue; `None` for a plain one, which needs none of this.
    pub(super) fn new(config: &LinkConfig, source: &Source, name: &str) -> Option<Managed<P>> {
        let is_plain = config.management == Management::DropTail
            && config.scheduler == Scheduler::Fifo
            && config.channels.are_perfect()
            && config.handover.is_none();
        if is_plain {
            return None;
        }
        Some(Managed {
            lanes: Vec::new(),
            turns: turns::of(config),
            server: Server::new(&config.rate),
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
        drops: &mut Drops<P>,
    ) -> Result<(), DropCause> {
        let number = match self.config.scheduler {
            Scheduler::Fifo => 0,
            Scheduler::RoundRobin | Scheduler::ProportionalFair(_) => packet.packet.user,
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
    pub(super) fn serve(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Served<P>> {
        while let Some(at) = self.serves_at.filter(|at| *at <= now) {
            self.lanes.iter_mut().for_each(|lane| lane.lose(at, drops));
            let served = self.serve_slice(at, drops);
            self.plan();
            if served.is_some() {
                return served;
            }
        }
        None
    }

    fn serve_slice(&mut self, at: Time, drops: &mut Drops<P>) -> Option<Served<P>> {
        let Managed { lanes, turns, server, config, .. } = self;
        let is_ready = |lane: usize| lanes[lane].next() <= at;
        if !(0..lanes.len()).any(is_ready) {
            return None;
        }
        let Turn { lane, most_bytes } = turns.next(at, lanes.len(), &is_ready);
        let Slice { bytes, service, done } =
            lanes[lane].serve(most_bytes, &config.channels, server, drops)?;
        turns.served(lane, bytes, service);
        done
    }

    /// Depth of all queues.
    pub(super) fn depth(&self) -> Depth {
        self.lanes.iter().map(Lane::depth).fold(Depth::default(), |all, lane| Depth {
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
