//! Observers of packets in the emulator: their interface, the fate of each packet in the order of entry, the last drops.
//!
//! Unused observation costs nothing: an emulator is generic over its observer, and a packet's bytes are put together on request.

use std::collections::VecDeque;
use std::net::SocketAddr;

use net::DropCause;
use units::Time;

use crate::superpacket::FrameSegment;
use crate::{AccessSide, EmulatedDrop, TcpNumbers};

/// An observed packet.
pub struct ObservedPacket<'a> {
    /// Its number, in the order of entry into the first link. A duplicate made by a link has the same number.
    pub number: u64,
    /// Side of its origin.
    pub from: AccessSide,
    /// Number of the client that it belongs to.
    pub user: u32,
    /// True if queue management marked it (RFC 3168, CE) on its way.
    pub marked: bool,
    pub(crate) segment: &'a FrameSegment,
}

impl ObservedPacket<'_> {
    /// Length of the IP packet.
    pub fn wire_bytes(&self) -> u32 {
        self.segment.wire_bytes() as u32
    }

    /// Its source and destination, if it carries TCP or UDP.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.segment.ends()
    }

    /// Its numbers, if it carries TCP.
    pub fn tcp(&self) -> Option<TcpNumbers> {
        self.segment.tcp()
    }

    /// The IP packet with its checksums complete, as a wire would carry it.
    pub fn ip_packet(&self) -> Vec<u8> {
        self.segment.ip_packet(self.marked)
    }
}

/// Sees every packet. `()` ignores all, a pair passes each to both, an `Option` to the observer in it, if any.
pub trait Observer {
    /// A packet left the host at `packet.from` and entered its first link at `at`.
    fn entered(&mut self, at: Time, packet: &ObservedPacket<'_>) {
        let _ = (at, packet);
    }

    /// A packet left its last link at `due`, and was handed to the host at the other side at `left`. The host's kernel has processed it;
    /// its responses have not been read.
    fn delivered(&mut self, due: Time, left: Time, packet: &ObservedPacket<'_>) {
        let _ = (due, left, packet);
    }

    /// The packet with this number was dropped.
    fn dropped(&mut self, number: u64, drop: &EmulatedDrop) {
        let _ = (number, drop);
    }
}

impl Observer for () {}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn entered(&mut self, at: Time, packet: &ObservedPacket<'_>) {
        self.0.entered(at, packet);
        self.1.entered(at, packet);
    }

    fn delivered(&mut self, due: Time, left: Time, packet: &ObservedPacket<'_>) {
        self.0.delivered(due, left, packet);
        self.1.delivered(due, left, packet);
    }

    fn dropped(&mut self, number: u64, drop: &EmulatedDrop) {
        self.0.dropped(number, drop);
        self.1.dropped(number, drop);
    }
}

impl<O: Observer> Observer for Option<O> {
    fn entered(&mut self, at: Time, packet: &ObservedPacket<'_>) {
        self.iter_mut().for_each(|observer| observer.entered(at, packet));
    }

    fn delivered(&mut self, due: Time, left: Time, packet: &ObservedPacket<'_>) {
        self.iter_mut().for_each(|observer| observer.delivered(due, left, packet));
    }

    fn dropped(&mut self, number: u64, drop: &EmulatedDrop) {
        self.iter_mut().for_each(|observer| observer.dropped(number, drop));
    }
}

/// One packet's way through the emulator.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Side of its origin.
    pub from: AccessSide,
    /// Its source and destination, if it carries TCP or UDP.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// Time of entry into its first link.
    pub arrived: Time,
    /// Length of the IP packet.
    pub wire_bytes: u32,
    /// Its numbers, if it carries TCP.
    pub tcp: Option<TcpNumbers>,
    /// Its fate.
    pub fate: Fate,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was still on its way when the emulation ended.
    Underway,
    /// A link dropped it.
    Dropped(DropCause),
    /// It left the last link.
    Delivered {
        /// Time by the links' models.
        due: Time,
        /// Time of the actual hand-over to the far end.
        left: Time,
    },
}

/// Records all packets, by number. For flows of bounded length: nothing is ever forgotten.
#[derive(Clone, Debug, Default)]
pub struct Passages(pub Vec<Passage>);

impl Observer for Passages {
    fn entered(&mut self, at: Time, packet: &ObservedPacket<'_>) {
        self.0.push(Passage {
            from: packet.from,
            ends: packet.ends(),
            arrived: at,
            wire_bytes: packet.wire_bytes(),
            tcp: packet.tcp(),
            fate: Fate::Underway,
        });
    }

    fn delivered(&mut self, due: Time, left: Time, packet: &ObservedPacket<'_>) {
        self.0[packet.number as usize].fate = Fate::Delivered { due, left };
    }

    fn dropped(&mut self, number: u64, drop: &EmulatedDrop) {
        self.0[number as usize].fate = Fate::Dropped(drop.cause);
    }
}

/// Remembers the last drops, and counts earlier ones. Forgotten drops are still counted in each link's totals.
#[derive(Clone, Debug, Default)]
pub struct DropLog {
    forgotten: u64,
    drops: VecDeque<EmulatedDrop>,
}

impl DropLog {
    /// Maximum number of drops remembered: bounds the memory of a shell that is open for days.
    pub const REMEMBERED: usize = 1 << 20;
    /// Maximum number of drops per reply: an emulator must not run late because of a query.
    const PART: usize = 1 << 10;

    /// Total number of drops.
    pub fn total(&self) -> u64 {
        self.forgotten + self.drops.len() as u64
    }

    /// Number of the oldest drops, which are no longer remembered.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The remembered drops.
    pub fn iter(&self) -> impl Iterator<Item = &EmulatedDrop> + Clone {
        self.drops.iter()
    }

    pub(crate) fn push(&mut self, drop: EmulatedDrop) {
        if self.drops.len() == DropLog::REMEMBERED {
            self.drops.pop_front();
            self.forgotten += 1;
        }
        self.drops.push_back(drop);
    }

    /// The first part of the log after the first `since` drops.
    pub(crate) fn part(&self, since: u64) -> DropPart {
        let from = since.max(self.forgotten);
        let skip = usize::try_from(from - self.forgotten).unwrap_or(usize::MAX);
        let drops = self.drops.iter().skip(skip).take(DropLog::PART).copied().collect();
        DropPart { from, drops }
    }
}

/// A section of the log.
pub(crate) struct DropPart {
    /// Number of drops before it.
    pub(crate) from: u64,
    pub(crate) drops: Vec<EmulatedDrop>,
}

#[cfg(test)]
mod tests {
    use net::DropCause;
    use units::Time;

    use super::*;

    fn drop(number: usize) -> EmulatedDrop {
        let at = Time::from_nanos(number as u64);
        EmulatedDrop { at, link: 0, user: 0, wire_bytes: 100, cause: DropCause::Loss }
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut log = DropLog::default();
        (0..DropLog::REMEMBERED + 3).for_each(|number| log.push(drop(number)));
        assert_eq!((log.total(), log.forgotten()), (DropLog::REMEMBERED as u64 + 3, 3));
        assert_eq!((log.part(0).from, log.part(0).drops[0]), (3, drop(3)));
        assert_eq!(log.part(10).drops[0], drop(10));
        assert_eq!(log.part(log.total() - 1).drops, [drop(DropLog::REMEMBERED + 2)]);
        assert!(log.part(log.total()).drops.is_empty());
    }
}
