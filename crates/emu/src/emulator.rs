//! The link emulator: carries packets between two interfaces as the simulator's links specify, in real time.
//!
//! One thread, two clocks. The links' time runs from event to event, in their order; the machine's time decides when each is carried out. A
//! packet's fate follows from its arrival timestamp by the kernel, so late wake-ups cost no capacity; they only delay delivery, and the delay is
//! recorded. Packets that an end sends *while* it is handed a packet - the acknowledgement of data, the data that an acknowledgement releases - enter
//! their first link at the time at which that packet was due: lateness does not accumulate along a connection, and the ends' own processing takes no
//! time, as in the simulation. Packets sent by timers and applications enter when they are sent; over a [wire](crate::Wire) without
//! timestamps, when they are read.
//!
//! Waiting is `ppoll` with a deadline in nanoseconds, without spinning; while packets flow the thread wakes for departures, not for
//! arrivals, unless arrivals have no timestamps. The policy of departures is a [`Release`].

use std::time::Duration;

use net::Packet;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::Time;

use crate::control::{ControlInbox, ControlRequest};
use crate::hosts::HostId;
use crate::links::{LinkPacket, Links};
use crate::release::{Lateness, Train};
use crate::routing::{HostTable, PacketRoute};
use crate::superpacket::{FrameSegment, Superpacket, Unfit};
use crate::wire::WireEnd;
use crate::{
    ControlSocket, DropLog, EmulatedTopology, EmulatorClock, Error, ObservedPacket, Observer,
    Punctuality, Release, Snapshot, Wire, memory, realtime,
};

/// Maximum number of frames read from one side before packets that are due get their turn.
const BUDGET: usize = 16;
/// Interval between checks when idle.
const IDLE: Duration = Duration::from_secs(60);

/// An emulator between the two ends of a testbed.
pub struct Emulator<O = ()> {
    clock: EmulatorClock,
    release: Release,
    /// Indexed by [`HostId`].
    wires: Vec<WireEnd>,
    hosts: HostTable,
    links: Links<FrameSegment>,
    /// Packets about to leave, by destination [`HostId`].
    trains: Vec<Train>,
    ledger: Ledger,
    inbox: ControlInbox,
    observer: O,
}

/// Counters of an emulator.
#[derive(Default)]
struct Ledger {
    lateness: Lateness,
    drops: DropLog,
    overruns: u64,
    refused: u64,
    realtime: bool,
}

/// Result of an emulation.
#[derive(Clone, Debug)]
pub struct EmulationResult<O> {
    /// Final totals.
    pub snapshot: Snapshot,
    /// Every packet that a link dropped.
    pub drops: DropLog,
    /// The observer.
    pub observer: O,
}

/// The last packet handed to an end.
#[derive(Clone, Copy)]
struct LastDelivery {
    due: Time,
    left: Time,
}

impl Emulator {
    /// An emulator between the ends of these wires, one per [`HostId`]: see [`Testbed::emulator`](crate::Testbed::emulator).
    pub(crate) fn new(
        wires: Vec<WireEnd>,
        topology: EmulatedTopology,
        source: &chance::RandomSource,
    ) -> Result<Emulator, Error> {
        let hosts = HostTable::new(topology.clients(), topology.intermediary());
        let trains = wires.iter().map(|_| Train::default()).collect();
        Ok(Emulator {
            clock: EmulatorClock::start(),
            release: Release::Exact,
            wires,
            hosts,
            links: Links::new(topology, source),
            trains,
            ledger: Ledger::default(),
            inbox: ControlInbox::new()?,
            observer: (),
        })
    }

    /// Sets how packets leave.
    pub fn releasing(self, release: Release) -> Emulator {
        Emulator { release, ..self }
    }

    /// Attaches an observer.
    pub fn observed_by<O: Observer>(self, observer: O) -> Emulator<O> {
        let Emulator { clock, release, wires, hosts, links, trains, ledger, inbox, .. } = self;
        Emulator { clock, release, wires, hosts, links, trains, ledger, inbox, observer }
    }
}

impl<O: Observer> Emulator<O> {
    /// A handle for other threads to stop the emulation and query its state.
    pub fn control(&self) -> ControlSocket {
        self.inbox.control()
    }

    /// Origin of its times.
    pub fn clock(&self) -> EmulatorClock {
        self.clock
    }

    /// Carries packets until a [`ControlSocket`] stops it. The calling thread gets real-time priority, if permitted.
    ///
    /// # Errors
    /// If a wire fails. Packets refused by an end are counted, and are no error.
    pub fn run(mut self) -> Result<EmulationResult<O>, Error> {
        memory::reserve_memory();
        self.ledger.realtime = realtime::prioritise();
        // Nothing leaves before this.
        let mut rested = Time::ZERO;
        loop {
            let began = self.clock.now();
            let mut moved = 0;
            for end in self.ends() {
                moved += self.take_in(end, None)?;
            }
            if began >= rested {
                moved += self.release_due()?;
                rested = if self.is_idle(moved) { began } else { began + self.release.quantum() };
            }
            if self.wait(began, rested, moved)? && self.serve_requests()? {
                let snapshot = self.snapshot()?;
                let Emulator { ledger, observer, .. } = self;
                return Ok(EmulationResult { snapshot, drops: ledger.drops, observer });
            }
        }
    }

    /// Hands arrivals from one end to its first link; `answers` is the packet just handed to that end. Returns the number of frames.
    fn take_in(&mut self, from: HostId, answers: Option<LastDelivery>) -> Result<usize, Error> {
        for taken in 0..BUDGET {
            let Some(arrival) = self.wires[from.number()].receive(&self.clock)? else {
                return Ok(taken);
            };
            let at = match answers {
                Some(delivery) if arrival.at >= delivery.left => delivery.due,
                _ => arrival.at,
            };
            match Superpacket::new(arrival.header, arrival.bytes) {
                Ok(whole) => self.enter(at, from, whole),
                Err(Unfit::Noise) => {}
                Err(Unfit::Uncut) => self.ledger.refused += 1,
            }
        }
        Ok(BUDGET)
    }

    /// Segments an arrival and lets its packets enter.
    fn enter(&mut self, at: Time, end: HostId, whole: Superpacket) {
        let (layout, frame) = (whole.layout(), whole.bytes());
        let (source, destination) = layout.ends(frame);
        let leg = self.hosts.leg(end, source, destination);
        let PacketRoute { from, user, .. } = leg;
        let (flow, ect) = (layout.flow(frame), layout.takes_marks(frame));
        for segment in whole.cut() {
            let wire_bytes = segment.wire_bytes() as u32;
            let packet = Packet { wire_bytes, flow, ect, user };
            let payload_bytes = segment.payload_bytes();
            let entry = LinkPacket { leg, packet, payload_bytes };
            let (number, entered) = self.links.handle(at, entry, segment.clone());
            let sighting = ObservedPacket { number, from, user, marked: false, segment: &segment };
            self.observer.entered(entered, &sighting);
            self.note_drops();
        }
    }

    /// Releases everything that is due, in the order of the links' time. Returns the number of packets.
    fn release_due(&mut self) -> Result<usize, Error> {
        let mut moved = 0;
        loop {
            let arrival = self.links.poll(self.clock.now() + self.release.earliness());
            self.note_drops();
            let Some(arrival) = arrival else { break };
            moved += 1;
            let to = arrival.to;
            if !self.trains[to.number()].takes(&arrival, self.release) {
                self.depart(to)?;
            }
            self.trains[to.number()].push(arrival);
        }
        for end in self.ends() {
            self.depart(end)?;
        }
        Ok(moved)
    }

    /// Hands the waiting train to its end, and reads that end's responses.
    fn depart(&mut self, to: HostId) -> Result<(), Error> {
        if self.trains[to.number()].packets().is_empty() {
            return Ok(());
        }
        let knows_answers = self.tells_answers(to)?;
        let train = &mut self.trains[to.number()];
        let (Some(first), Some(last)) = (train.packets().first(), train.packets().last()) else {
            return Ok(());
        };
        // Before the call: the far end responds within it.
        let left = self.clock.now();
        let due = last.due;
        let segments = (&first.body, &last.body);
        if !self.wires[to.number()].send(segments.0, segments.1, first.marked)? {
            self.ledger.refused += train.packets().len() as u64;
        }
        for packet in train.packets() {
            // One of the two differences is zero.
            self.ledger.lateness.add((left - packet.due).max(packet.due - left));
            let sighting = ObservedPacket {
                number: packet.number,
                from: packet.from,
                user: packet.user,
                marked: packet.marked,
                segment: &packet.body,
            };
            self.observer.delivered(packet.due, left, &sighting);
        }
        train.clear();
        self.take_in(to, knows_answers.then_some(LastDelivery { due, left })).map(drop)
    }

    /// True if packets that an end sends while it is handed a packet can be told from earlier ones: by timestamps, or because no
    /// earlier packet is still to be read.
    fn tells_answers(&mut self, to: HostId) -> Result<bool, Error> {
        Ok(self.wire().is_stamped() || self.take_in(to, None)? < BUDGET)
    }

    fn wire(&self) -> Wire {
        self.wires[HostId::SERVER.number()].wire()
    }

    /// All hosts.
    fn ends(&self) -> impl Iterator<Item = HostId> + use<O> {
        HostId::all(self.wires.len() as u32 - 1)
    }

    fn note_drops(&mut self) {
        while let Some((number, drop)) = self.links.dropped() {
            self.observer.dropped(number, &drop);
            self.ledger.drops.push(drop);
        }
    }

    /// True if no packets flow, after a turn in which `moved` packets moved.
    fn is_idle(&self, moved: usize) -> bool {
        moved == 0 && self.links.deadline().is_none()
    }

    /// Waits until something is due or arrives. Returns true if there is a request.
    fn wait(&self, began: Time, rested: Time, moved: usize) -> Result<bool, Error> {
        let bell = PollFd::new(self.inbox.bell(), PollFlags::POLLIN);
        let ends = self.wires.iter();
        let ends = ends.map(|wire| PollFd::new(wire.as_fd(), PollFlags::POLLIN));
        let mut all: Vec<PollFd<'_>> = std::iter::once(bell).chain(ends).collect();
        let (now, next) = (self.clock.now(), self.links.deadline());
        let unwatched = (!self.is_idle(moved)).then(|| self.unwatched_until(began, rested));
        let (fds, wait) = match unwatched {
            Some(until) if until > now => (&mut all[..1], until - now),
            _ => (&mut all[..], next.map_or(IDLE, |due| due.max(rested) - now)),
        };
        match ppoll(fds, Some(TimeSpec::from(wait.min(IDLE))), None) {
            Ok(_) => Ok(fds[0].any().unwrap_or(false)),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(Error::System { what: "failed to wait for packets", errno }),
        }
    }

    /// Time until which arrivals need not be polled while packets flow: they have timestamps, and none of them leaves
    /// before the [lookahead](Links::lookahead) is over. A wake-up for each arrival would cost as much as carrying it.
    /// Arrivals without timestamps have to be polled.
    fn unwatched_until(&self, began: Time, rested: Time) -> Time {
        if !self.wire().is_stamped() {
            return began;
        }
        let ahead = began + self.links.lookahead();
        self.links.deadline().map_or(ahead, |due| due.min(ahead)).max(rested)
    }

    /// Serves requests of other threads; returns true to stop.
    fn serve_requests(&mut self) -> Result<bool, Error> {
        self.inbox.silence();
        while let Some(request) = self.inbox.next() {
            // The requester need not wait for the reply.
            match request {
                ControlRequest::Stop => return Ok(true),
                ControlRequest::Snapshot(answer) => drop(answer.send(self.snapshot()?)),
                ControlRequest::Drops(since, answer) => {
                    drop(answer.send(self.ledger.drops.part(since)))
                }
            }
        }
        Ok(false)
    }

    fn snapshot(&mut self) -> Result<Snapshot, Error> {
        for wire in &mut self.wires {
            self.ledger.overruns += wire.overruns()?;
        }
        Ok(Snapshot {
            at: self.clock.now(),
            links: self.links.reports(),
            radios: self.links.radio_reports(self.clock.now()),
            dropped: self.ledger.drops.total(),
            punctuality: self.ledger.lateness.punctuality(),
            overruns: self.ledger.overruns,
            refused: self.ledger.refused,
            realtime: self.ledger.realtime,
            wire: self.wire(),
            limit: limit(self.wire(), self.release),
        })
    }
}

/// Lateness limit of 99 of 100 packets. Arrivals without timestamps are as late as departures, except for the share of the release:
/// the sum of both must not exceed the limit.
fn limit(wire: Wire, release: Release) -> Duration {
    match wire.is_stamped() {
        true => Punctuality::LIMIT,
        false => (Punctuality::LIMIT + release.earliness()) / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_without_stamps_have_been_as_late_as_departures() {
        for release in [Release::Exact, Release::THRIFTY] {
            assert_eq!(limit(Wire::Veth, release), Punctuality::LIMIT);
        }
        assert_eq!(limit(Wire::Tap, Release::Exact), Duration::from_micros(500));
        // 375 us by design, the rest twice.
        assert_eq!(limit(Wire::Tap, Release::THRIFTY), Duration::from_nanos(687_500));
    }
}
