//! Fate of each packet, in the order of entry.

use std::net::SocketAddr;

use net::DropCause;
use units::Time;

use crate::headers::TcpNumbers;
use crate::{Drop, Observer, Side, Sighting};

/// One packet's way through the emulator.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Side of its origin.
    pub from: Side,
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
    fn entered(&mut self, at: Time, packet: &Sighting<'_>) {
        self.0.push(Passage {
            from: packet.from,
            ends: packet.ends(),
            arrived: at,
            wire_bytes: packet.wire_bytes(),
            tcp: packet.tcp(),
            fate: Fate::Underway,
        });
    }

    fn delivered(&mut self, due: Time, left: Time, packet: &Sighting<'_>) {
        self.0[packet.number as usize].fate = Fate::Delivered { due, left };
    }

    fn dropped(&mut self, number: u64, drop: &Drop) {
        self.0[number as usize].fate = Fate::Dropped(drop.cause);
    }
}
