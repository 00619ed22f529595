//! Scheduling of responses: no I/O, no clock.
//!
//! A server has one schedule per connection. It knows the streams with data to send and the client's signals, and is
//! asked for one chunk at a time, so that a more urgent response need not wait for queued data. SPDY's own schedule is
//! the `spdy` crate's: [`Scheduler::spdy`] gives the corresponding policy.

use std::collections::VecDeque;
use std::fmt;

mod tree;
mod urgency;

use tree::DependencyTree;
use urgency::{PriorityUse, UrgencySchedule};

pub(crate) use tree::DEPENDENCY_BYTES;
pub use tree::Dependency;
pub use urgency::Urgency;

/// The sharing of a connection by a server's responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheduler {
    /// One after the other, in the order of their responses.
    Fifo,
    /// A chunk each, in turn, in the order of their responses: servers' usual treatment of streams of equal weight.
    #[default]
    RoundRobin,
    /// The most urgent of eight levels first - SPDY's three bits, or RFC 9218's urgency - and those of one level in turn.
    Strict,
    /// By RFC 7540's tree of dependencies and weights (section 5.3).
    Tree,
    /// By RFC 9218's urgency, and in turn or one after the other depending on `i` (section 10).
    Rfc9218,
}

impl Scheduler {
    /// The corresponding SPDY policy; `None` if SPDY's three bits cannot carry the signals.
    pub fn spdy(self) -> Option<::spdy::Policy> {
        match self {
            Scheduler::Fifo => Some(::spdy::Policy::InOrder),
            Scheduler::RoundRobin => Some(::spdy::Policy::RoundRobin),
            Scheduler::Strict => Some(::spdy::Policy::Priority),
            Scheduler::Tree | Scheduler::Rfc9218 => None,
        }
    }

    /// An empty schedule of HTTP/2's streams.
    pub fn schedule(self) -> Box<dyn Schedule> {
        match self {
            Scheduler::Fifo => Box::new(TurnSchedule::new(TurnOrder::Whole)),
            Scheduler::RoundRobin => Box::new(TurnSchedule::new(TurnOrder::Chunks)),
            Scheduler::Strict => Box::new(UrgencySchedule::new(PriorityUse::Urgency)),
            Scheduler::Tree => Box::new(DependencyTree::default()),
            Scheduler::Rfc9218 => Box::new(UrgencySchedule::new(PriorityUse::Everything)),
        }
    }

    /// Returns true if it uses clients' signals about their requests.
    pub(crate) fn reads_signals(self) -> bool {
        matches!(self, Scheduler::Strict | Scheduler::Tree | Scheduler::Rfc9218)
    }
}

/// The outcome of serving a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeOutcome {
    /// It sent this many bytes and has more.
    Chunk(usize),
    /// It sent this many bytes, its last, or was reset.
    Done(usize),
    /// Its window or the connection's is closed.
    Blocked,
}

/// A client's signal about a stream's precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// In a HEADERS or PRIORITY frame (RFC 7540 section 5.3.2).
    Dependency(Dependency),
    /// In the request's `priority` field (RFC 9218 section 5).
    Field(Urgency),
    /// In a PRIORITY_UPDATE frame, which overrides the field (section 7).
    Update(Urgency),
}

/// The streams with data to send.
pub trait Schedule: fmt::Debug {
    /// Adds `stream`, which has data to send.
    fn add(&mut self, stream: u32);

    /// Returns true if no stream has data to send.
    fn is_empty(&self) -> bool;

    /// Serves the next stream; if it is blocked, the one after it. Returns false if all are blocked.
    fn serve_one(&mut self, serve: &mut dyn FnMut(u32) -> ServeOutcome) -> bool;

    /// Notes a client's signal about a stream, open or future.
    fn signal(&mut self, _stream: u32, _signal: Signal) {}
}

/// The unit of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnOrder {
    /// A chunk of each, in turn.
    Chunks,
    /// One response after the other.
    Whole,
}

/// Streams in the order of their responses.
#[derive(Debug)]
struct TurnSchedule {
    order: TurnOrder,
    queue: VecDeque<u32>,
}

impl TurnSchedule {
    fn new(order: TurnOrder) -> TurnSchedule {
        TurnSchedule { order, queue: VecDeque::new() }
    }
}

impl Schedule for TurnSchedule {
    fn add(&mut self, stream: u32) {
        self.queue.push_back(stream);
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn serve_one(&mut self, serve: &mut dyn FnMut(u32) -> ServeOutcome) -> bool {
        for at in 0..self.queue.len() {
            let stream = self.queue[at];
            match serve(stream) {
                ServeOutcome::Blocked => continue,
                ServeOutcome::Chunk(_) if self.order == TurnOrder::Whole => {}
                ServeOutcome::Chunk(_) => {
                    self.queue.remove(at);
                    self.queue.push_back(stream);
                }
                ServeOutcome::Done(_) => {
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

    /// Serves streams with these numbers of 100-byte chunks until nothing moves; returns the order.
    pub(super) fn order(schedule: &mut dyn Schedule, chunks: &[(u32, usize)]) -> Vec<u32> {
        order_of(schedule, chunks, &[])
    }

    /// The same with some of them blocked.
    pub(super) fn order_of(
        schedule: &mut dyn Schedule,
        chunks: &[(u32, usize)],
        blocked: &[u32],
    ) -> Vec<u32> {
        let mut left: std::collections::BTreeMap<u32, usize> = chunks.iter().copied().collect();
        chunks.iter().for_each(|(stream, _)| schedule.add(*stream));
        let mut order = Vec::new();
        while schedule.serve_one(&mut |stream| {
            if blocked.contains(&stream) {
                return ServeOutcome::Blocked;
            }
            order.push(stream);
            let left = left.get_mut(&stream).expect("only what was added is served");
            *left -= 1;
            if *left == 0 { ServeOutcome::Done(100) } else { ServeOutcome::Chunk(100) }
        }) {}
        assert_eq!(schedule.is_empty(), blocked.is_empty());
        order
    }

    #[test]
    fn every_scheduler_serves_every_stream_once_without_signals() {
        for scheduler in [
            Scheduler::Fifo,
            Scheduler::RoundRobin,
            Scheduler::Strict,
            Scheduler::Tree,
            Scheduler::Rfc9218,
        ] {
            let mut served = order(&mut *scheduler.schedule(), &[(1, 2), (3, 2), (5, 1)]);
            served.sort_unstable();
            assert_eq!(served, [1, 1, 3, 3, 5], "{scheduler:?}");
        }
    }

    #[test]
    fn what_spdy_cannot_say_it_cannot_schedule_by() {
        assert_eq!(Scheduler::Strict.spdy(), Some(::spdy::Policy::Priority));
        assert_eq!([Scheduler::Tree, Scheduler::Rfc9218].map(Scheduler::spdy), [None, None]);
    }

    fn turns(order: TurnOrder, blocked: &[u32]) -> Vec<u32> {
        order_of(&mut TurnSchedule::new(order), &[(1, 1), (2, 2), (3, 3)], blocked)
    }

    #[test]
    fn equal_streams_take_turns() {
        assert_eq!(turns(TurnOrder::Chunks, &[]), [1, 2, 3, 2, 3, 3]);
    }

    #[test]
    fn in_order_finishes_one_before_the_next() {
        assert_eq!(turns(TurnOrder::Whole, &[]), [1, 2, 2, 3, 3, 3]);
    }

    #[test]
    fn a_blocked_stream_is_passed_over() {
        assert_eq!(turns(TurnOrder::Whole, &[1]), [2, 2, 3, 3, 3]);
        assert_eq!(turns(TurnOrder::Chunks, &[2]), [1, 3, 3, 3]);
    }
}
