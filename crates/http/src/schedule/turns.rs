//! Streams of equal rank: in turn, or one after the other.

use std::collections::VecDeque;

use super::{Schedule, Served};

/// The unit of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A chunk of each, in turn.
    Chunks,
    /// One response after the other.
    Whole,
}

/// Streams in the order of their responses.
#[derive(Debug)]
pub(super) struct Turns {
    order: Order,
    queue: VecDeque<u32>,
}

impl Turns {
    pub(super) fn new(order: Order) -> Turns {
        Turns { order, queue: VecDeque::new() }
    }
}

impl Schedule for Turns {
    fn add(&mut self, stream: u32) {
        self.queue.push_back(stream);
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn serve_one(&mut self, serve: &mut dyn FnMut(u32) -> Served) -> bool {
        for at in 0..self.queue.len() {
            let stream = self.queue[at];
            match serve(stream) {
                Served::Blocked => continue,
                Served::Chunk(_) if self.order == Order::Whole => {}
                Served::Chunk(_) => {
                    self.queue.remove(at);
                    self.queue.push_back(stream);
                }
                Served::Done(_) => {
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
    use super::super::tests::order_of;
    use super::*;

    fn order(order: Order, blocked: &[u32]) -> Vec<u32> {
        order_of(&mut Turns::new(order), &[(1, 1), (2, 2), (3, 3)], blocked)
    }

    #[test]
    fn equal_streams_take_turns() {
        assert_eq!(order(Order::Chunks, &[]), [1, 2, 3, 2, 3, 3]);
    }

    #[test]
    fn in_order_finishes_one_before_the_next() {
        assert_eq!(order(Order::Whole, &[]), [1, 2, 2, 3, 3, 3]);
    }

    #[test]
    fn a_blocked_stream_is_passed_over() {
        assert_eq!(order(Order::Whole, &[1]), [2, 2, 3, 3, 3]);
        assert_eq!(order(Order::Chunks, &[2]), [1, 3, 3, 3]);
    }
}
