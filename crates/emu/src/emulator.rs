//! The link emulator: carries packets between two interfaces as the simulator's links say, in real time.
//!
//! One thread, two clocks. The links' time runs from event to event, in their order; the machine's time decides when each is carried out. A
//! packet's fate follows from when the kernel saw it arrive, so that waking up late costs no capacity; it only delivers late, and how late is
//! recorded. What an end sends *while* it is handed a packet - the acknowledgement of data, the data that an acknowledgement lets out - enters
//! its first link at the time at which that packet was due: lateness does not add up along a connection, and the ends' own processing takes no
//! time, as in the simulation. What timers and applications send enters when it is sent; over a [wire](crate::Wire) that does not say when
//! that was, when it is read.
//!
//! Waiting is `ppoll` with a deadline in nanoseconds, without spinning; while packets flow the thread wakes for those that leave, not for those that
//! arrive, unless these have no stamps. How packets leave is a [`Release`].

use std::time::Duration;

use net::Packet;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::Time;

use crate::control::{Inbox, Request};
use crate::end::End;
use crate::lateness::Lateness;
use crate::links::{Entry, Links};
use crate::memory;
use crate::places::{Leg, Places};
use crate::realtime;
use crate::release::Train;
use crate::superpacket::{Segment, Superpacket, Unfit};
use crate::wire::WireEnd;
use crate::{
    Clock, Control, DropLog, Error, Observer, Punctuality, Release, Sighting, Snapshot, Topology,
    Wire,
};

/// Frames that are read from one side before packets that are due get their turn.
const BUDGET: usize = 16;
/// Without anything to do, the thread still looks this often.
const IDLE: Duration = Duration::from_secs(60);

/// An emulator between the two ends of a testbed.
pub struct Emulator<O = ()> {
    clock: Clock,
    release: Release,
    /// By [`End`].
    wires: Vec<WireEnd>,
    places: Places,
    links: Links<Segment>,
    /// What is about to leave, by the [`End`] where it goes.
    trains: Vec<Train>,
    ledger: Ledger,
    inbox: Inbox,
    observer: O,
}

/// What an emulator counts.
#[derive(Default)]
struct Ledger {
    lateness: Lateness,
    drops: DropLog,
    overruns: u64,
    refused: u64,
    realtime: bool,
}

/// What is left of an emulation.
#[derive(Clone, Debug)]
pub struct Account<O> {
    /// What was done in all.
    pub snapshot: Snapshot,
    /// Every packet that a link dropped.
    pub drops: DropLog,
    /// Who looked on.
    pub observer: O,
}

/// What an end was handed last.
#[derive(Clone, Copy)]
struct Delivery {
    due: Time,
    left: Time,
}

impl Emulator {
    /// Between the ends of these wires, one of each [`End`]: see [`Testbed::emulator`](crate::Testbed::emulator).
    pub(crate) fn new(
        wires: Vec<WireEnd>,
        topology: Topology,
        source: &chance::Source,
    ) -> Result<Emulator, Error> {
        let places = Places::new(topology.clients(), topology.intermediary());
        let trains = wires.iter().map(|_| Train::default()).collect();
        Ok(Emulator {
            clock: Clock::start(),
            release: Release::Exact,
            wires,
            places,
            links: Links::new(topology, source),
            trains,
            ledger: Ledger::default(),
            inbox: Inbox::new()?,
            observer: (),
        })
    }

    /// Shares the zero of another clock.
    pub fn counting_from(self, clock: Clock) -> Emulator {
        Emulator { clock, ..self }
    }

    /// Chooses how packets leave.
    pub fn releasing(self, release: Release) -> Emulator {
        Emulator { release, ..self }
    }

    /// Lets somebody look on.
    pub fn observed_by<O: Observer>(self, observer: O) -> Emulator<O> {
        let Emulator { clock, release, wires, places, links, trains, ledger, inbox, .. } = self;
        Emulator { clock, release, wires, places, links, trains, ledger, inbox, observer }
    }
}

impl<O: Observer> Emulator<O> {
    /// A handle, by which other threads stop the emulation and ask how it does.
    pub fn control(&self) -> Control {
        self.inbox.control()
    }

    /// What its times count from.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Carries packets until a [`Control`] says stop. The calling thread gets real-time priority, where that is allowed.
    ///
    /// # Errors
    /// If a wire fails. Packets that an end does not take are counted, and no error.
    pub fn run(mut self) -> Result<Account<O>, Error> {
        memory::reserve_memory();
        self.ledger.realtime = realtime::prioritise();
        // Nothing leaves before.
        let mut rested = Time::ZERO;
        loop {
            let began = self.clock.now();
            let mut moved = 0;
            for end in self.ends() {
                moved += self.take_in(end, None)?;
            }
            if began >= rested {
                moved += self.give_out()?;
                rested = if self.is_idle(moved) { began } else { began + self.release.quantum() };
            }
            if self.wait(began, rested, moved)? && self.obey()? {
                let snapshot = self.snapshot()?;
                let Emulator { ledger, observer, .. } = self;
                return Ok(Account { snapshot, drops: ledger.drops, observer });
            }
        }
    }

    /// Hands what arrived from one end to its first link; `answers` says what has just been handed to that end. Returns how many frames
    /// there were.
    fn take_in(&mut self, from: End, answers: Option<Delivery>) -> Result<usize, Error> {
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

    /// Cuts what arrived and lets its packets enter.
    fn enter(&mut self, at: Time, end: End, whole: Superpacket) {
        let (layout, frame) = (whole.layout(), whole.bytes());
        let (source, destination) = layout.ends(frame);
        let leg = self.places.leg(end, source, destination);
        let Leg { from, user, .. } = leg;
        let (flow, ect) = (layout.flow(frame), layout.takes_marks(frame));
        for segment in whole.cut() {
            let wire_bytes = segment.wire_bytes() as u32;
            let packet = Packet { wire_bytes, flow, ect, user };
            let payload_bytes = segment.payload_bytes();
            let entry = Entry { leg, packet, payload_bytes };
            let (number, entered) = self.links.handle(at, entry, segment.clone());
            let sighting = Sighting { number, from, user, marked: false, segment: &segment };
            self.observer.entered(entered, &sighting);
            self.note_drops();
        }
    }

    /// Releases everything that is due, in the order of the links' time. Returns how many packets that were.
    fn give_out(&mut self) -> Result<usize, Error> {
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

    /// Hands the waiting train to its end, and reads what that end answers.
    fn depart(&mut self, to: End) -> Result<(), Error> {
        if self.trains[to.number()].cars().is_empty() {
            return Ok(());
        }
        let knows_answers = self.tells_answers(to)?;
        let train = &mut self.trains[to.number()];
        let (Some(first), Some(last)) = (train.cars().first(), train.cars().last()) else {
            return Ok(());
        };
        // Before the call: the far end answers within it.
        let left = self.clock.now();
        let due = last.due;
        let segments = (&first.body, &last.body);
        if !self.wires[to.number()].send(segments.0, segments.1, first.marked)? {
            self.ledger.refused += train.cars().len() as u64;
        }
        for car in train.cars() {
            // One of the two differences is zero.
            self.ledger.lateness.add((left - car.due).max(car.due - left));
            let sighting = Sighting {
                number: car.number,
                from: car.from,
                user: car.user,
                marked: car.marked,
                segment: &car.body,
            };
            self.observer.delivered(car.due, left, &sighting);
        }
        train.clear();
        self.take_in(to, knows_answers.then_some(Delivery { due, left })).map(drop)
    }

    /// Whether what an end sends while it is handed a packet can be told from what it sent before: by the stamps, or because nothing that
    /// came before is still to be read.
    fn tells_answers(&mut self, to: End) -> Result<bool, Error> {
        Ok(self.wire().is_stamped() || self.take_in(to, None)? < BUDGET)
    }

    fn wire(&self) -> Wire {
        self.wires[End::SERVER.number()].wire()
    }

    /// All hosts.
    fn ends(&self) -> impl Iterator<Item = End> + use<O> {
        End::all(self.wires.len() as u32 - 1)
    }

    fn note_drops(&mut self) {
        while let Some((number, drop)) = self.links.dropped() {
            self.observer.dropped(number, &drop);
            self.ledger.drops.push(drop);
        }
    }

    /// Whether no packets flow, after a turn in which so many moved.
    fn is_idle(&self, moved: usize) -> bool {
        moved == 0 && self.links.deadline().is_none()
    }

    /// Waits until something is due or arrives. Returns whether somebody asks for something.
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

    /// How long nobody need look for arrivals, while packets flow: what arrives has its stamp, and nothing that does leaves before the
    /// [lookahead](Links::lookahead) is over. Being woken by each arrival would cost as much as carrying it. What has no stamp has to be
    /// looked for.
    fn unwatched_until(&self, began: Time, rested: Time) -> Time {
        if !self.wire().is_stamped() {
            return began;
        }
        let ahead = began + self.links.lookahead();
        self.links.deadline().map_or(ahead, |due| due.min(ahead)).max(rested)
    }

    /// Does what other threads ask for; true if that is to stop.
    fn obey(&mut self) -> Result<bool, Error> {
        self.inbox.silence();
        while let Some(request) = self.inbox.next() {
            // Who asks need not wait for the answer.
            match request {
                Request::Stop => return Ok(true),
                Request::Snapshot(answer) => drop(answer.send(self.snapshot()?)),
                Request::Drops(since, answer) => drop(answer.send(self.ledger.drops.part(since))),
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

/// How late 99 of 100 packets may be. Arrivals without stamps have been late by what departures are, but for what the release makes of
/// these: the sum of both must not be over the limit.
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
