//! What the packets of TCP connections tell of their senders: bytes in flight, round trips and retransmissions, without any privilege.
//!
//! An end is seen as it sees itself: what it sends counts from when it enters the first link, what it is sent from when it leaves the last one, by
//! the links' time. Numbers are relative to the first of the end's own, as Wireshark's; SYN and FIN count as a byte each. A round trip is that of
//! the newest data that an acknowledgement covers, provided that nothing that it covers was sent twice (Karn and Partridge 1987).
//!
//! Left out: selective acknowledgements, so that what arrived behind a gap counts as in flight until the gap is closed; what the sender
//! keeps to itself (its window and threshold), for which the kernel has to be asked; and why it sent something again.
//!
//! Source: RFC 9293 section 3.4, RFC 7323 section 2.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use tcp::{Cause, Retransmit};
use units::Time;

use crate::{Fate, Passage, Side, TcpNumbers};

/// One connection.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The end on the client's side.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// What the client sent.
    pub up: Outflow,
    /// What the server sent.
    pub down: Outflow,
}

/// What one end of a connection sent.
#[derive(Clone, Debug, Default)]
pub struct Outflow {
    /// How much was in flight, whenever that changed.
    pub flights: Vec<Flight>,
    /// What was sent again.
    pub retransmits: Vec<Retransmit>,
    /// Bytes of payload, each sent once.
    pub bytes: u64,
    sender: Sender,
}

/// A sender at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// When.
    pub at: Time,
    /// Sent and not cumulatively acknowledged.
    pub in_flight_bytes: u64,
    /// What the peer will take, as it said last.
    pub peer_window_bytes: u64,
    /// The round trip, if an acknowledgement came that shows one.
    pub rtt: Option<Duration>,
}

/// The connections of an emulation, in the order in which their first packets entered. A pair of addresses that is used again is another
/// connection.
pub fn conversations(passages: &[Passage]) -> Vec<Conversation> {
    let mut all = Vec::new();
    let mut current = BTreeMap::new();
    for event in events(passages) {
        let ends = event.ends;
        let fresh = |all: &mut Vec<Conversation>| {
            all.push(Conversation::new(ends));
            all.len() - 1
        };
        let index = *current.entry(ends).or_insert_with(|| fresh(&mut all));
        let index = if all[index].is_succeeded_by(&event) { fresh(&mut all) } else { index };
        current.insert(ends, index);
        all[index].note(&event);
    }
    all
}

/// A segment that leaves its sender or reaches its receiver.
struct Event {
    at: Time,
    /// Client and server.
    ends: (SocketAddr, SocketAddr),
    from: Side,
    segment: TcpNumbers,
    kind: EventKind,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// First, among those of an instant: what is sent in answer to it is sent then.
    Reached,
    Left,
}

/// What all ends saw, in time's order.
fn events(passages: &[Passage]) -> Vec<Event> {
    let mut events = Vec::with_capacity(2 * passages.len());
    for passage in passages {
        let (Some(segment), Some((source, destination))) = (passage.tcp, passage.ends) else {
            continue;
        };
        let (from, ends) = match passage.from {
            Side::Client => (Side::Client, (source, destination)),
            Side::Server => (Side::Server, (destination, source)),
        };
        let event = |at, kind| Event { at, ends, from, segment, kind };
        events.push(event(passage.arrived, EventKind::Left));
        if let Fate::Delivered { due, .. } = passage.fate {
            events.push(event(due, EventKind::Reached));
        }
    }
    // Of one kind at one instant, as they entered.
    events.sort_by_key(|event| (event.at, event.kind));
    events
}

impl Conversation {
    fn new((client, server): (SocketAddr, SocketAddr)) -> Conversation {
        Conversation { client, server, up: Outflow::default(), down: Outflow::default() }
    }

    fn outflow(&mut self, side: Side) -> &mut Outflow {
        match side {
            Side::Client => &mut self.up,
            Side::Server => &mut self.down,
        }
    }

    /// Whether the event opens another connection between the same ends.
    fn is_succeeded_by(&self, event: &Event) -> bool {
        let opens =
            event.kind == EventKind::Left && event.segment.is_syn() && !event.segment.is_ack();
        let known = match event.from {
            Side::Client => self.up.sender.initial,
            Side::Server => self.down.sender.initial,
        };
        opens && known.is_some_and(|initial| initial != event.segment.seq)
    }

    fn note(&mut self, event: &Event) {
        match event.kind {
            EventKind::Left => self.outflow(event.from).left(event.at, &event.segment),
            EventKind::Reached => self.outflow(event.from.peer()).told(event.at, &event.segment),
        }
    }
}

/// What is known of a sender's numbers.
#[derive(Clone, Debug, Default)]
struct Sender {
    /// The first number.
    initial: Option<u32>,
    /// The next one to send; all are relative to the first.
    next: u64,
    /// The first one that is not acknowledged.
    unacknowledged: u64,
    outstanding: VecDeque<Sent>,
    /// The shift that this end offered, and the peer's.
    scale: Option<u8>,
    peer_scale: Option<u8>,
    peer_window: u64,
}

/// A segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Time,
    again: bool,
}

impl Sender {
    /// A number of the wire as a relative one: the nearest to those that were sent last.
    fn relative(&self, number: u32) -> u64 {
        let distance = number.wrapping_sub(self.number(self.next)) as i32;
        self.next.saturating_add_signed(distance.into())
    }

    fn number(&self, relative: u64) -> u32 {
        self.initial.unwrap_or_default().wrapping_add(relative as u32)
    }

    /// Takes off what `acknowledged` covers; the round trip that this shows.
    fn acknowledge(&mut self, at: Time, acknowledged: u64) -> Option<Duration> {
        self.unacknowledged = acknowledged;
        let covered = self.outstanding.iter().take_while(|sent| sent.end <= acknowledged).count();
        let covered: Vec<Sent> = self.outstanding.drain(..covered).collect();
        let newest = covered.last().filter(|_| covered.iter().all(|sent| !sent.again))?;
        Some(at - newest.at)
    }
}

impl Outflow {
    /// This end sent a segment.
    fn left(&mut self, at: Time, segment: &TcpNumbers) {
        let sender = &mut self.sender;
        sender.initial.get_or_insert(segment.seq);
        if segment.is_syn() {
            sender.scale = segment.window_scale;
        }
        let length = segment.sequence_length();
        if length == 0 {
            return;
        }
        let start = sender.relative(segment.seq);
        let end = start + length;
        let before = sender.next;
        if start < before {
            let repeated = sender.outstanding.iter_mut().rev().take_while(|sent| sent.end > start);
            repeated.for_each(|sent| sent.again = true);
            let cause = if segment.is_syn() { Cause::Handshake } else { Cause::Unknown };
            self.retransmits.push(Retransmit { at, seq: start, cause, spurious: None });
        }
        if end > before {
            sender.outstanding.push_back(Sent { end, at, again: start < before });
            sender.next = end;
            self.bytes += (end - before).min(segment.payload_bytes.into());
        }
        self.note(at, None);
    }

    /// A segment of the peer reached this end.
    fn told(&mut self, at: Time, segment: &TcpNumbers) {
        let sender = &mut self.sender;
        if segment.is_syn() {
            sender.peer_scale = segment.window_scale;
        }
        if !segment.is_ack() || sender.initial.is_none() {
            return;
        }
        // Scaling holds if both offer it, and not in the SYNs themselves (RFC 7323 section 2.2).
        let scale = sender.peer_scale.filter(|_| sender.scale.is_some() && !segment.is_syn());
        sender.peer_window = u64::from(segment.window) << scale.unwrap_or(0).min(14);
        let acknowledged = sender.relative(segment.ack);
        let advances = (sender.unacknowledged + 1..=sender.next).contains(&acknowledged);
        let rtt = advances.then(|| sender.acknowledge(at, acknowledged)).flatten();
        self.note(at, rtt);
    }

    fn note(&mut self, at: Time, rtt: Option<Duration>) {
        let sender = &self.sender;
        let flight = Flight {
            at,
            in_flight_bytes: sender.next - sender.unacknowledged,
            peer_window_bytes: sender.peer_window,
            rtt,
        };
        let same = |last: &Flight| rtt.is_none() && Flight { at, rtt, ..*last } == flight;
        if !self.flights.last().is_some_and(same) {
            self.flights.push(flight);
        }
    }
}

#[cfg(test)]
mod tests;
