//! Which response sends next: no I/O, no clock.
//!
//! One schedule a connection. It knows the streams that have something to send and a policy, and is
//! asked for one chunk at a time, so that a more urgent response need not wait for what was queued.

use std::collections::VecDeque;

/// How streams take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// A chunk each, in turn, in the order of their responses: what servers do with streams of equal
    /// weight.
    #[default]
    RoundRobin,
    /// One response after the other, in the order of their responses.
    InOrder,
}

/// What came of serving a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// It sent a chunk and has more.
    Chunk,
    /// It sent its last chunk, or was given up.
    Done,
    /// Its window or the connection's is closed.
    Blocked,
}

/// The streams with something to send.
#[derive(Debug, Default)]
pub struct Schedule {
    policy: Policy,
    queue: VecDeque<u32>,
}

impl Schedule {
    /// A schedule without streams.
    pub fn new(policy: Policy) -> Schedule {
        Schedule { policy, queue: VecDeque::new() }
    }

    /// `stream` has something to send.
    pub fn add(&mut self, stream: u32) {
        self.queue.push_back(stream);
    }

    /// Whether no stream has anything to send.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Serves the stream whose turn it is; if it is blocked, the next. False if all are blocked.
    pub fn serve_one(&mut self, mut serve: impl FnMut(u32) -> Served) -> bool {
        for at in 0..self.queue.len() {
            let stream = self.queue[at];
            match serve(stream) {
                Served::Blocked => continue,
                Served::Chunk if self.policy == Policy::InOrder => {}
                Served::Chunk => {
                    self.queue.remove(at);
                    self.queue.push_back(stream);
                }
                Served::Done => {
                    self.queue.remove(at);
                }
            }
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves streams of 1, 2 and 3 chunks until nothing moves; gives the order.
    fn order(policy: Policy, blocked: &[u32]) -> Vec<u32> {
        let mut schedule = Schedule::new(policy);
        let mut chunks = [0, 1, 2, 3];
        (1..=3).for_each(|stream| schedule.add(stream));
        let mut order = Vec::new();
        while schedule.serve_one(|stream| {
            if blocked.contains(&stream) {
                return Served::Blocked;
            }
            order.push(stream);
            let left = &mut chunks[stream as usize];
            *left -= 1;
            if *left == 0 { Served::Done } else { Served::Chunk }
        }) {}
        assert_eq!(schedule.is_empty(), blocked.is_empty());
        order
    }

    #[test]
    fn equal_streams_take_turns() {
        assert_eq!(order(Policy::RoundRobin, &[]), [1, 2, 3, 2, 3, 3]);
    }

    #[test]
    fn in_order_finishes_one_before_the_next() {
        assert_eq!(order(Policy::InOrder, &[]), [1, 2, 2, 3, 3, 3]);
    }

    #[test]
    fn a_blocked_stream_is_passed_over() {
        assert_eq!(order(Policy::InOrder, &[1]), [2, 2, 3, 3, 3]);
        assert_eq!(order(Policy::RoundRobin, &[2]), [1, 3, 3, 3]);
    }
}
