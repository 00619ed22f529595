//! Scheduling of the streams' DATA.

use std::collections::BTreeSet;

use crate::{Priority, StreamId};

/// Order of the streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The most urgent first; streams of one priority take turns, a DATA frame each. The protocol's own rule (2.3.3).
    #[default]
    Priority,
    /// The most urgent first; streams of one priority sequentially. mod_spdy.
    PriorityInOrder,
    /// All take turns, regardless of priority.
    RoundRobin,
    /// Sequentially, regardless of priority.
    InOrder,
}

impl Policy {
    fn level(self, priority: Priority) -> u8 {
        match self {
            Policy::Priority | Policy::PriorityInOrder => priority.level(),
            Policy::RoundRobin | Policy::InOrder => 0,
        }
    }

    fn takes_turns(self) -> bool {
        matches!(self, Policy::Priority | Policy::RoundRobin)
    }
}

/// A stream's position in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TurnPosition {
    level: u8,
    turn: u64,
    stream: StreamId,
}

/// The streams that may send.
#[derive(Debug)]
pub(crate) struct DataSchedule {
    policy: Policy,
    ready: BTreeSet<TurnPosition>,
    turns: u64,
}

impl DataSchedule {
    pub(crate) fn new(policy: Policy) -> DataSchedule {
        DataSchedule { policy, ready: BTreeSet::new(), turns: 0 }
    }

    /// A position after all others of its level, for a stream's whole life.
    pub(crate) fn place(&mut self, stream: StreamId, priority: Priority) -> TurnPosition {
        self.turns += 1;
        TurnPosition { level: self.policy.level(priority), turn: self.turns, stream }
    }

    /// Adds the stream of this position, which may send.
    pub(crate) fn insert(&mut self, place: TurnPosition) {
        self.ready.insert(place);
    }

    /// Removes the stream of this position, which has nothing (more) to send, or may not.
    pub(crate) fn remove(&mut self, place: TurnPosition) {
        self.ready.remove(&place);
    }

    /// Moves the stream after a sent frame; returns its next position.
    pub(crate) fn after_turn(&mut self, place: TurnPosition) -> TurnPosition {
        if !self.policy.takes_turns() {
            return place;
        }
        self.turns += 1;
        TurnPosition { turn: self.turns, ..place }
    }

    /// The streams that may send, the next first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = StreamId> {
        self.ready.iter().map(|place| place.stream)
    }

    pub(crate) fn clear(&mut self) {
        self.ready.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which streams 1 (low), 3 (high) and 5 (high) send two frames each.
    fn order(policy: Policy) -> Vec<u32> {
        let mut schedule = DataSchedule::new(policy);
        for (stream, level) in [(1, 7), (3, 0), (5, 0)] {
            let place = schedule.place(StreamId::new(stream), Priority::new(level));
            schedule.insert(place);
        }
        let mut left = [2; 6];
        let mut order = Vec::new();
        while let Some(place) = schedule.ready.first().copied() {
            let stream = place.stream.get();
            order.push(stream);
            left[stream as usize] -= 1;
            schedule.remove(place);
            if left[stream as usize] > 0 {
                let next = schedule.after_turn(place);
                schedule.insert(next);
            }
        }
        order
    }

    #[test]
    fn each_policy_has_its_order() {
        assert_eq!(order(Policy::Priority), [3, 5, 3, 5, 1, 1]);
        assert_eq!(order(Policy::PriorityInOrder), [3, 3, 5, 5, 1, 1]);
        assert_eq!(order(Policy::RoundRobin), [1, 3, 5, 1, 3, 5]);
        assert_eq!(order(Policy::InOrder), [1, 1, 3, 3, 5, 5]);
    }
}
