//! A device's radio: the state machine between a device and the link of its cell.
//!
//! Packets of both directions pass the radio before they enter their link: uplink packets at the device, downlink
//! packets at the base station. The radio's state only delays them - a promotion, a shared channel of low rate, a
//! sleeping receiver - and never loses any; each direction keeps its order. The machines are [`Umts`] (3G RRC),
//! [`Lte`] (LTE RRC with DRX), [`Wifi`] (power save), and for satellites [`Dama`] (capacity on demand) and [`Leo`]
//! (changing paths). Every state change is logged with the packet that caused it, from which the time in each state,
//! and the energy, follow.
//!
//! Like a link, a radio reads no clock: callers pass the time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use chance::RandomSource;
use units::Time;

use crate::Packet;

mod fields;
mod journal;
mod lte;
mod possible;
mod presets;
mod satellite;
mod umts;
mod wifi;

pub use journal::{Energy, Power, RadioState, RadioStay, StateEnergy, Transition, TransitionCause};
pub use lte::{Drx, Harq, Lte, SchedulingRequest};
pub use possible::RadioError;
pub use presets::{Preset, radios};
pub use satellite::{Dama, Leo};
pub use umts::{Fach, Umts};
pub use wifi::Wifi;

use journal::RadioJournal;

/// Direction of a packet.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RadioDirection {
    /// From the device.
    Up,
    /// To the device.
    Down,
}

impl RadioDirection {
    /// Both directions.
    pub const BOTH: [RadioDirection; 2] = [RadioDirection::Up, RadioDirection::Down];
}

/// A radio as stated by a profile or a user.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioConfig {
    /// Name of the preset that it is, or was derived from.
    pub name: String,
    /// Changes from the preset, as typed.
    pub changes: BTreeMap<String, String>,
    /// State machine.
    pub technology: Technology,
    /// Power of its states and cost of transfers.
    pub power: Power,
}

impl RadioConfig {
    /// Repetitions of blocks on its cell's link, if any.
    pub fn harq(&self) -> Option<Harq> {
        match &self.technology {
            Technology::Lte(lte) => Some(lte.harq).filter(|harq| harq.failure > 0.0),
            _ => None,
        }
    }
}

/// The kinds of radio.
#[derive(Clone, Debug, PartialEq)]
pub enum Technology {
    /// 3G.
    Umts(Umts),
    /// LTE.
    Lte(Lte),
    /// A station of a wireless LAN in power save mode.
    Wifi(Wifi),
    /// A satellite terminal with capacity on demand.
    Dama(Dama),
    /// A path over satellites in low Earth orbit.
    Leo(Leo),
}

impl RadioConfig {
    /// Returns true if it belongs to a terminal with a network of its own behind it, not to a device.
    pub fn is_terminals(&self) -> bool {
        matches!(self.technology, Technology::Dama(_) | Technology::Leo(_))
    }

    /// Time from the last packet until the radio is at rest.
    pub fn longest_tail(&self) -> Duration {
        match &self.technology {
            Technology::Umts(umts) => umts.dch_inactivity + umts.fach_inactivity,
            Technology::Lte(lte) => lte.continuous + lte.short.span + lte.long.span,
            Technology::Wifi(wifi) => wifi.inactivity,
            Technology::Dama(dama) => dama.hold,
            Technology::Leo(_) => Duration::ZERO,
        }
    }

    /// Minimum wait of the first packet from a device whose radio is at rest.
    pub fn least_first_wait(&self) -> Duration {
        match &self.technology {
            Technology::Umts(umts) => umts.idle_to_dch,
            Technology::Lte(lte) => lte.idle_to_connected,
            Technology::Dama(dama) => dama.grant,
            Technology::Wifi(_) | Technology::Leo(_) => Duration::ZERO,
        }
    }
}

/// A packet that has left the radio and enters its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasedPacket<P> {
    /// Time at which it left.
    pub at: Time,
    /// Its direction.
    pub way: RadioDirection,
    /// Metadata for its link.
    pub packet: Packet,
    /// The body that the radio was given.
    pub body: P,
}

/// The states of one kind of radio. Instants never go back.
trait RadioMachine: Send {
    /// Current state.
    fn state(&self) -> RadioState;

    /// Delay of a packet that arrives at the radio, regardless of later states: a grant. `alone` if none of its
    /// direction waits before it.
    fn delay(&mut self, _now: Time, _way: RadioDirection, _alone: bool) -> Duration {
        Duration::ZERO
    }

    /// Handles the arrival of a packet. Returns the new state, if it changes.
    fn arrive(&mut self, now: Time, way: RadioDirection, bytes: u32) -> Option<RadioState>;

    /// Time at which the first packet of a direction may leave if the state does not change before; `ready` is the
    /// time from which no packet ahead of it and no delay of its own holds it back. `None`: not in this state.
    fn release(&self, ready: Time, way: RadioDirection, bytes: u32) -> Option<Time>;

    /// Handles the departure of a packet. Returns the new state, if it changes.
    fn left(&mut self, now: Time, way: RadioDirection, bytes: u32) -> Option<RadioState>;

    /// Time of the next spontaneous state change.
    fn timer(&self) -> Option<Time>;

    /// Performs that change: `now` is the time returned by [`timer`](RadioMachine::timer).
    fn fire(&mut self, now: Time) -> RadioState;

    /// A copy of the machine in the same state.
    fn clone_box(&self) -> Box<dyn RadioMachine>;
}

/// A radio carrying packets with opaque bodies `P`.
pub struct Radio<P> {
    machine: Box<dyn RadioMachine>,
    lanes: [DirectionQueue<P>; 2],
    passed: VecDeque<ReleasedPacket<P>>,
    journal: RadioJournal,
    power: Power,
    now: Time,
}

/// Waiting packets of one direction, and the time at which the first may leave.
struct DirectionQueue<P> {
    /// Each with its earliest departure time.
    waiting: VecDeque<(Time, Packet, P)>,
    /// Time of the last departure or state change.
    ready: Time,
    /// Departure time of the first packet in the current state.
    release: Option<Time>,
}

impl<P> Radio<P> {
    /// Creates a radio that has been idle for long. Its random streams are `radio/NAME/...`.
    pub fn new(config: &RadioConfig, source: &RandomSource, name: &str) -> Radio<P> {
        let stream = |purpose: &str| source.stream(&format!("radio/{name}/{purpose}"));
        let machine: Box<dyn RadioMachine> = match &config.technology {
            Technology::Umts(umts) => Box::new(umts.machine(stream("paging"))),
            Technology::Lte(lte) => Box::new(lte.machine(stream("paging"), stream("uplink"))),
            Technology::Wifi(wifi) => Box::new(wifi.machine()),
            Technology::Dama(dama) => Box::new(dama.machine()),
            Technology::Leo(leo) => Box::new(leo.machine(*source, name)),
        };
        let lane = || DirectionQueue { waiting: VecDeque::new(), ready: Time::ZERO, release: None };
        Radio {
            journal: RadioJournal::new(machine.state()),
            machine,
            lanes: [lane(), lane()],
            passed: VecDeque::new(),
            power: config.power.clone(),
            now: Time::ZERO,
        }
    }

    /// Takes a packet at `now`, which never goes back.
    pub fn handle(&mut self, now: Time, way: RadioDirection, packet: Packet, body: P) {
        self.serve_until(now);
        let lane = &mut self.lanes[way as usize];
        let earliest = now + self.machine.delay(now, way, lane.waiting.is_empty());
        lane.waiting.push_back((earliest, packet, body));
        let bytes = packet.wire_bytes;
        let state = self.machine.arrive(now, way, bytes);
        let cause = Some(TransitionCause { way, wire_bytes: bytes });
        self.changed(now, state, cause);
        self.lanes[way as usize].plan(&*self.machine, way);
        self.serve_until(now);
    }

    /// Returns the next packet that has left by `now`, in chronological order.
    pub fn poll(&mut self, now: Time) -> Option<ReleasedPacket<P>> {
        self.serve_until(now);
        self.passed.pop_front()
    }

    /// Time of the next poll. `None` if no packet waits and the state will not change.
    pub fn deadline(&self) -> Option<Time> {
        match self.passed.front() {
            Some(passed) => Some(passed.at),
            None => self.next().map(|(at, _)| at),
        }
    }

    /// Number of waiting packets.
    pub fn waiting(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting.len()).sum::<usize>() + self.passed.len()
    }

    /// All state changes so far, in chronological order.
    pub fn transitions(&self) -> &[Transition] {
        self.journal.transitions()
    }

    /// Energy spent from `since` until `until`, by state and transfer.
    pub fn energy(&self, since: Time, until: Time) -> Energy {
        self.power.spent(&self.journal, since, until)
    }

    /// Tail energy: spent from `now` until the radio is at rest, if no packet comes. The cost at rest is not counted.
    pub fn tail(&self, now: Time) -> Energy {
        let mut machine = self.machine.clone_box();
        let mut journal = RadioJournal::new(machine.state());
        let mut end = now;
        while let Some(at) = machine.timer() {
            end = at.max(end);
            let state = machine.fire(end);
            journal.note(end, state, None);
        }
        self.power.spent(&journal, now, end)
    }

    /// Processes everything due by `now`.
    fn serve_until(&mut self, now: Time) {
        while let Some((at, what)) = self.next()
            && at <= now
        {
            match what {
                None => {
                    let state = self.machine.fire(at);
                    self.changed(at, Some(state), None);
                }
                Some(way) => self.release(at, way),
            }
        }
        self.now = self.now.max(now);
    }

    /// The next event: a departure, or (`None`) a state change. Simultaneous events are processed in this order:
    /// state, uplink, downlink.
    fn next(&self) -> Option<(Time, Option<RadioDirection>)> {
        let releases =
            RadioDirection::BOTH.map(|way| (self.lanes[way as usize].release, Some(way)));
        let all = [(self.machine.timer(), None)].into_iter().chain(releases);
        all.filter_map(|(at, what)| Some((at?, what))).min_by_key(|(at, _)| *at)
    }

    fn release(&mut self, at: Time, way: RadioDirection) {
        let lane = &mut self.lanes[way as usize];
        let (_, packet, body) =
            lane.waiting.pop_front().expect("a lane that is released holds a packet");
        lane.ready = at;
        let state = self.machine.left(at, way, packet.wire_bytes);
        self.journal.carry(at, way, packet.wire_bytes);
        self.passed.push_back(ReleasedPacket { at, way, packet, body });
        self.changed(at, state, Some(TransitionCause { way, wire_bytes: packet.wire_bytes }));
        self.lanes[way as usize].plan(&*self.machine, way);
    }

    /// Logs a state change, if there is one, and recomputes all departures.
    fn changed(&mut self, at: Time, state: Option<RadioState>, cause: Option<TransitionCause>) {
        let Some(state) = state else { return };
        self.journal.note(at, state, cause);
        for way in RadioDirection::BOTH {
            let lane = &mut self.lanes[way as usize];
            lane.ready = lane.ready.max(at);
            lane.plan(&*self.machine, way);
        }
        if !state.is_promotion() {
            self.request_stranded(at);
        }
    }

    /// A packet may still wait - for a frame, for a receiver's turn - when the radio comes to rest, where nothing
    /// passes: it then asks again, as if it arrived now.
    fn request_stranded(&mut self, at: Time) {
        let stranded = RadioDirection::BOTH.into_iter().find_map(|way| {
            let lane = &self.lanes[way as usize];
            let (_, packet, _) = lane.waiting.front()?;
            lane.release.is_none().then_some(TransitionCause { way, wire_bytes: packet.wire_bytes })
        });
        if let Some(cause) = stranded {
            let state = self.machine.arrive(at, cause.way, cause.wire_bytes);
            self.changed(at, state, Some(cause));
        }
    }
}

impl<P> DirectionQueue<P> {
    fn plan(&mut self, machine: &dyn RadioMachine, way: RadioDirection) {
        let first = self.waiting.front();
        self.release = first.and_then(|(earliest, packet, _)| {
            machine.release(self.ready.max(*earliest), way, packet.wire_bytes)
        });
    }
}

#[cfg(test)]
mod tests;
