//! Departure of packets that are due, alone or together.

use std::time::Duration;

use units::BitsPerSec;

use crate::links::Arrival;
use crate::superpacket::Segment;
use crate::{Side, Topology};

/// Policy of handing packets to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Each packet alone, when it is due: the receiver sees what it would see on a wire. Good for some 100 Mbit/s.
    Exact,
    /// Neighbours of one superpacket that are due leave in one piece, as from a network card with receive offload (GRO).
    Coalesced {
        /// While packets flow, the emulator wakes at most this often, and releases packets due within half of it: packets are early or late by
        /// as much, but not on average. A packet alone leaves when it is due.
        quantum: Duration,
    },
}

impl Release {
    /// Above this rate packets are closer than a thread can wake.
    const FAST: BitsPerSec = BitsPerSec::mbit(300);
    /// Six packets at 300 Mbit/s.
    const QUANTUM: Duration = Duration::from_micros(250);
    /// Saves processor time at some 100 Mbit/s: takes less than a third of the time of single packets
    /// (`docs/emulation.md` has the figures), for packets that are at most 0.4 ms early or late.
    pub const THRIFTY: Release = Release::Coalesced { quantum: Duration::from_micros(750) };

    /// The release that suits a topology's rates: single packets if there is time for them.
    pub fn suiting(topology: &Topology) -> Release {
        let fastest = Side::BOTH.map(|from| topology.peak(from)).into_iter().max();
        match fastest {
            // Packets without serialisation time are due together anyway.
            Some(BitsPerSec::UNLIMITED) => Release::Coalesced { quantum: Duration::ZERO },
            Some(rate) if rate > Release::FAST => Release::Coalesced { quantum: Release::QUANTUM },
            _ => Release::Exact,
        }
    }

    /// Minimum interval between wake-ups while packets flow.
    pub(crate) fn quantum(self) -> Duration {
        match self {
            Release::Exact => Duration::ZERO,
            Release::Coalesced { quantum } => quantum,
        }
    }

    /// Maximum time by which a packet may leave before it is due.
    pub(crate) fn earliness(self) -> Duration {
        self.quantum() / 2
    }
}

/// Packets that leave in one piece.
#[derive(Default)]
pub(crate) struct Train {
    cars: Vec<Arrival<Segment>>,
}

impl Train {
    /// Returns true if `next` can leave together with the packets in the train.
    pub(crate) fn takes(&self, next: &Arrival<Segment>, release: Release) -> bool {
        let Some(last) = self.cars.last() else { return true };
        release != Release::Exact && last.marked == next.marked && last.body.precedes(&next.body)
    }

    pub(crate) fn push(&mut self, next: Arrival<Segment>) {
        self.cars.push(next);
    }

    pub(crate) fn cars(&self) -> &[Arrival<Segment>] {
        &self.cars
    }

    pub(crate) fn clear(&mut self) {
        self.cars.clear();
    }
}

#[cfg(test)]
mod tests {
    use net::{LinkConfig, QueueLimit};

    use super::*;

    #[test]
    fn the_fastest_direction_decides() {
        let link = |rate| LinkConfig::new(rate, Duration::ZERO, QueueLimit::Unlimited);
        let suiting = |up, down| Release::suiting(&Topology::between(link(up), link(down)));
        let (slow, fast) = (BitsPerSec::mbit(10), BitsPerSec::mbit(1000));
        assert_eq!(suiting(slow, slow), Release::Exact);
        assert_eq!(suiting(slow, fast), Release::Coalesced { quantum: Release::QUANTUM });
        let free = suiting(BitsPerSec::UNLIMITED, slow);
        assert_eq!(free, Release::Coalesced { quantum: Duration::ZERO });
    }
}
