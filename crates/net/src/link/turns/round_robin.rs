//! Deficit round robin (Shreedhar and Varghese 1995): each lane in its turn may send a quantum of bytes; any
//! overdraft is carried over.
//!
//! As in FQ-CoDel (RFC 8290 section 4.2) a packet is sent while any deficit is left, so that its length need not be
//! known beforehand.

use units::Time;

use super::{Turn, Turns};
use crate::server::Service;

pub(super) struct RoundRobin {
    quantum_bytes: i64,
    /// The lane whose turn it is.
    turn: usize,
    /// Bytes that each lane may still send in its turn; negative after an overdraft.
    deficits: Vec<i64>,
}

impl RoundRobin {
    /// Turns of one full packet.
    pub(super) fn new(mtu: u32) -> RoundRobin {
        RoundRobin { quantum_bytes: i64::from(mtu), turn: 0, deficits: Vec::new() }
    }
}

impl Turns for RoundRobin {
    fn next(&mut self, _at: Time, lanes: usize, is_ready: &dyn Fn(usize) -> bool) -> Turn {
        self.deficits.resize(lanes, 0);
        loop {
            let deficit = &mut self.deficits[self.turn];
            match is_ready(self.turn) {
                true if *deficit > 0 => return Turn { lane: self.turn, most_bytes: u32::MAX },
                true => {}
                // An empty lane saves nothing up.
                false => *deficit = 0,
            }
            self.turn = (self.turn + 1) % lanes;
            if is_ready(self.turn) {
                self.deficits[self.turn] += self.quantum_bytes;
            }
        }
    }

    fn served(&mut self, lane: usize, bytes: u32, _service: Service) {
        self.deficits[lane] -= i64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Service = Service { starts: Time::ZERO, ends: Time::ZERO };

    /// Order in which lanes are served if lane n always has packets of `sizes[n]` bytes.
    fn order(sizes: &[u32], packets: usize) -> Vec<usize> {
        let mut turns = RoundRobin::new(1500);
        let mut next = || {
            let Turn { lane, .. } = turns.next(Time::ZERO, sizes.len(), &|_| true);
            turns.served(lane, sizes[lane], NEVER);
            lane
        };
        (0..packets).map(|_| next()).collect()
    }

    #[test]
    fn equal_packets_alternate() {
        assert_eq!(order(&[1500, 1500, 1500], 7), [1, 2, 0, 1, 2, 0, 1]);
    }

    #[test]
    fn turns_are_counted_in_bytes() {
        let lanes = order(&[500, 1500], 400);
        assert_eq!(lanes.iter().filter(|lane| **lane == 0).count(), 300);
    }

    #[test]
    fn who_has_nothing_saves_nothing_up() {
        let mut turns = RoundRobin::new(1500);
        for _ in 0..10 {
            let Turn { lane, .. } = turns.next(Time::ZERO, 2, &|lane| lane == 0);
            assert_eq!(lane, 0);
            turns.served(lane, 1500, NEVER);
        }
        let mut both = || {
            let Turn { lane, .. } = turns.next(Time::ZERO, 2, &|_| true);
            turns.served(lane, 1500, NEVER);
            lane
        };
        assert_eq!([both(), both(), both(), both()], [1, 0, 1, 0]);
    }
}
