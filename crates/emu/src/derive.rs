//! Sender state derived from the packets of TCP connections: bytes in flight, round trips and retransmissions, without any privilege.
//!
//! State is as seen by each end: packets that it sends count from their entry into the first link, packets to it from
//! their departure from the last one, in the links' time. Sequence numbers are relative to the end's initial one, as in
//! Wireshark; SYN and FIN count as a byte each. A round trip is that of the newest data that an acknowledgement covers,
//! provided that nothing covered was sent twice (Karn and Partridge 1987).
//!
//! Left out: selective acknowledgements, so data received behind a gap counts as in flight until the gap is closed; state internal to
//! the sender (its window and threshold), for which the kernel has to be asked; and the cause of a retransmission.
//!
//! Source: RFC 9293 section 3.4, RFC 7323 section 2.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use tcp::{Retransmit, RetransmitCause};
use units::Time;

use crate::{AccessSide, Fate, Passage, TcpNumbers};

/// One connection.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The end on the client's side.
    pub client: SocketAddr,
    /// The other end.
    pub server: SocketAddr,
    /// Data sent by the client.
    pub up: Outflow,
    /// Data sent by the server.
    pub down: Outflow,
}

/// Data sent by one end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Outflow {
    /// Bytes in flight, at each change.
    pub flights: Vec<SenderChange>,
    /// Retransmissions.
    pub retransmits: Vec<Retransmit>,
    /// Bytes of payload, each sent once.
    pub bytes: u64,
    sender: SenderHistory,
}

/// State of a sender at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderChange {
    /// Time of the change.
    pub at: Time,
    /// Sent and not cumulatively acknowledged.
    pub in_flight_bytes: u64,
    /// The peer's receive window, as last advertised.
    pub peer_window_bytes: u64,
    /// The round trip, if an acknowledgement yields a sample.
    pub rtt: Option<Duration>,
}

/// The connections of an emulation, in the order in which their first packets entered. A reused pair of addresses is another connection.
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
struct SegmentEvent {
    at: Time,
    /// Client and server.
    ends: (SocketAddr, SocketAddr),
    from: AccessSide,
    segment: TcpNumbers,
    kind: SegmentEventKind,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SegmentEventKind {
    /// Sorts first at equal times: responses to it are sent at the same time.
    Reached,
    Left,
}

/// Events of all ends, in chronological order.
fn events(passages: &[Passage]) -> Vec<SegmentEvent> {
    let mut events = Vec::with_capacity(2 * passages.len());
    for passage in passages {
        let (Some(segment), Some((source, destination))) = (passage.tcp, passage.ends) else {
            continue;
        };
        let (from, ends) = match passage.from {
            AccessSide::Client => (AccessSide::Client, (source, destination)),
            AccessSide::Server => (AccessSide::Server, (destination, source)),
        };
        let event = |at, kind| SegmentEvent { at, ends, from, segment, kind };
        events.push(event(passage.arrived, SegmentEventKind::Left));
        if let Fate::Delivered { due, .. } = passage.fate {
            events.push(event(due, SegmentEventKind::Reached));
        }
    }
    // Events of one kind at one time keep the order of entry.
    events.sort_by_key(|event| (event.at, event.kind));
    events
}

impl Conversation {
    fn new((client, server): (SocketAddr, SocketAddr)) -> Conversation {
        Conversation { client, server, up: Outflow::default(), down: Outflow::default() }
    }

    fn outflow(&mut self, side: AccessSide) -> &mut Outflow {
        match side {
            AccessSide::Client => &mut self.up,
            AccessSide::Server => &mut self.down,
        }
    }

    /// True if the event opens another connection between the same ends.
    fn is_succeeded_by(&self, event: &SegmentEvent) -> bool {
        let opens = event.kind == SegmentEventKind::Left
            && event.segment.is_syn()
            && !event.segment.is_ack();
        let known = match event.from {
            AccessSide::Client => self.up.sender.initial,
            AccessSide::Server => self.down.sender.initial,
        };
        opens && known.is_some_and(|initial| initial != event.segment.seq)
    }

    fn note(&mut self, event: &SegmentEvent) {
        match event.kind {
            SegmentEventKind::Left => self.outflow(event.from).left(event.at, &event.segment),
            SegmentEventKind::Reached => {
                self.outflow(event.from.peer()).told(event.at, &event.segment)
            }
        }
    }
}

/// Known sequence state of a sender.
#[derive(Clone, Debug, Default)]
struct SenderHistory {
    /// The initial sequence number.
    initial: Option<u32>,
    /// The next sequence number to send; all others are relative to the initial one.
    next: u64,
    /// The first unacknowledged sequence number.
    unacknowledged: u64,
    outstanding: VecDeque<OutstandingSegment>,
    /// The window scale shift that this end offered, and the peer's.
    scale: Option<u8>,
    peer_scale: Option<u8>,
    peer_window: u64,
}

/// An unacknowledged segment.
#[derive(Clone, Copy, Debug)]
struct OutstandingSegment {
    end: u64,
    at: Time,
    again: bool,
}

impl SenderHistory {
    /// Converts a sequence number on the wire to a relative one: the nearest to the last sent.
    fn relative(&self, number: u32) -> u64 {
        let distance = number.wrapping_sub(self.number(self.next)) as i32;
        self.next.saturating_add_signed(distance.into())
    }

    fn number(&self, relative: u64) -> u32 {
        self.initial.unwrap_or_default().wrapping_add(relative as u32)
    }

    /// Removes segments covered by `acknowledged`; returns the round trip sample, if any.
    fn acknowledge(&mut self, at: Time, acknowledged: u64) -> Option<Duration> {
        self.unacknowledged = acknowledged;
        let covered = self.outstanding.iter().take_while(|sent| sent.end <= acknowledged).count();
        let covered: Vec<OutstandingSegment> = self.outstanding.drain(..covered).collect();
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
            let mut first_at = at;
            repeated.for_each(|sent| {
                sent.again = true;
                first_at = sent.at;
            });
            let cause = if segment.is_syn() {
                RetransmitCause::Handshake
            } else {
                RetransmitCause::Unknown
            };
            self.retransmits.push(Retransmit { at, first_at, seq: start, cause, spurious: None });
        }
        if end > before {
            sender.outstanding.push_back(OutstandingSegment { end, at, again: start < before });
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
        // Scaling applies if both ends offer it, and not to the SYNs themselves (RFC 7323 section 2.2).
        let scale = sender.peer_scale.filter(|_| sender.scale.is_some() && !segment.is_syn());
        sender.peer_window = u64::from(segment.window) << scale.unwrap_or(0).min(14);
        let acknowledged = sender.relative(segment.ack);
        let advances = (sender.unacknowledged + 1..=sender.next).contains(&acknowledged);
        let rtt = advances.then(|| sender.acknowledge(at, acknowledged)).flatten();
        self.note(at, rtt);
    }

    fn note(&mut self, at: Time, rtt: Option<Duration>) {
        let sender = &self.sender;
        let flight = SenderChange {
            at,
            in_flight_bytes: sender.next - sender.unacknowledged,
            peer_window_bytes: sender.peer_window,
            rtt,
        };
        let same =
            |last: &SenderChange| rtt.is_none() && SenderChange { at, rtt, ..*last } == flight;
        if !self.flights.last().is_some_and(same) {
            self.flights.push(flight);
        }
    }
}

#[cfg(test)]
mod tests {
    use net::DropCause;

    use super::*;

    const ACK: u8 = 0x10;
    const SYN: u8 = 0x02;
    const INITIAL: u32 = u32::MAX - 700;

    fn ends() -> (SocketAddr, SocketAddr) {
        ("10.0.0.1:40000".parse().unwrap(), "10.1.0.1:80".parse().unwrap())
    }

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// A segment that leaves at `left` and arrives 50 ms later.
    fn passage(
        from: AccessSide,
        left: u64,
        flags: u8,
        seq: u32,
        ack: u32,
        payload_bytes: u32,
    ) -> Passage {
        let (client, server) = ends();
        let scale = (flags & SYN != 0).then_some(7);
        Passage {
            from,
            ends: Some(if from == AccessSide::Client {
                (client, server)
            } else {
                (server, client)
            }),
            arrived: at(left),
            wire_bytes: 52 + payload_bytes,
            tcp: Some(TcpNumbers {
                seq,
                ack,
                flags,
                window: 100,
                window_scale: scale,
                payload_bytes,
            }),
            fate: Fate::Delivered { due: at(left + 50), left: at(left + 50) },
        }
    }

    fn data(left: u64, offset: u32, payload_bytes: u32) -> Passage {
        let seq = INITIAL.wrapping_add(1 + offset);
        passage(AccessSide::Server, left, ACK, seq, 2, payload_bytes)
    }

    fn acknowledgement(left: u64, offset: u32) -> Passage {
        passage(AccessSide::Client, left, ACK, 2, INITIAL.wrapping_add(1 + offset), 0)
    }

    fn handshake() -> Vec<Passage> {
        vec![
            passage(AccessSide::Client, 0, SYN, 1, 0, 0),
            passage(AccessSide::Server, 50, SYN | ACK, INITIAL, 2, 0),
            passage(AccessSide::Client, 100, ACK, 2, INITIAL.wrapping_add(1), 0),
        ]
    }

    fn down(passages: Vec<Passage>) -> Outflow {
        let mut all = conversations(&[handshake(), passages].concat());
        assert_eq!(all.len(), 1);
        all.remove(0).down
    }

    #[test]
    fn data_is_in_flight_until_it_is_acknowledged_beyond_the_end_of_numbers() {
        let outflow =
            down(vec![data(150, 0, 1000), data(150, 1000, 1000), acknowledgement(200, 2000)]);
        let last: Vec<SenderChange> = outflow.flights[outflow.flights.len() - 3..].to_vec();
        assert_eq!(
            last.iter().map(|flight| flight.in_flight_bytes).collect::<Vec<_>>(),
            [1000, 2000, 0]
        );
        assert_eq!(last[2].at, at(250));
        assert_eq!(last[2].rtt, Some(Duration::from_millis(100)));
        assert_eq!(last[2].peer_window_bytes, 100 << 7);
        assert_eq!(outflow.bytes, 2000);
        assert_eq!(outflow.retransmits, []);
    }

    #[test]
    fn what_was_sent_twice_shows_no_round_trip() {
        let mut lost = data(150, 0, 1000);
        lost.fate = Fate::Dropped(DropCause::QueueFull);
        let again = data(400, 0, 1000);
        let outflow = down(vec![lost, again, acknowledgement(450, 1000)]);
        let sent: Vec<_> =
            outflow.retransmits.iter().map(|sent| (sent.at, sent.seq, sent.cause)).collect();
        assert_eq!(sent, [(at(400), 1, RetransmitCause::Unknown)]);
        let last = outflow.flights.last().unwrap();
        assert_eq!((last.in_flight_bytes, last.rtt), (0, None));
        assert_eq!(outflow.bytes, 1000);
    }

    #[test]
    fn the_handshake_shows_round_trips_at_both_ends() {
        let all = conversations(&handshake());
        let rtt = |outflow: &Outflow| outflow.flights.iter().find_map(|flight| flight.rtt);
        assert_eq!(rtt(&all[0].up), Some(Duration::from_millis(100)));
        assert_eq!(rtt(&all[0].down), Some(Duration::from_millis(100)));
        assert_eq!((all[0].client, all[0].server), ends());
    }

    #[test]
    fn a_repeated_syn_is_a_retransmission_and_a_new_one_a_connection() {
        let mut passages = vec![passage(AccessSide::Client, 0, SYN, 1, 0, 0)];
        passages.push(passage(AccessSide::Client, 1000, SYN, 1, 0, 0));
        passages.push(passage(AccessSide::Client, 9000, SYN, 77, 0, 0));
        let all = conversations(&passages);
        let causes = |index: usize| -> Vec<RetransmitCause> {
            all[index].up.retransmits.iter().map(|sent| sent.cause).collect()
        };
        assert_eq!(all.len(), 2);
        assert_eq!((causes(0), causes(1)), (vec![RetransmitCause::Handshake], vec![]));
    }

    #[test]
    fn acknowledgements_of_the_future_are_not_believed() {
        let outflow = down(vec![data(150, 0, 1000), acknowledgement(200, 5000)]);
        assert_eq!(outflow.flights.last().unwrap().in_flight_bytes, 1000);
    }
}
