//! Data that waits to be sent: its bytes, and the time that it waits, for flow control or the transport.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use units::Time;
use world::sim::HeldNotes;

use super::wire::observer::SharedObserver;

/// The state of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FlowState {
    /// Nothing waits to be sent.
    #[default]
    Idle,
    /// Data waits, and goes as fast as the transport accepts it.
    Sending,
    /// Data waits, the transport would accept it, and HTTP/2's flow control blocks it.
    Limited,
}

/// Measures one connection's sender. It is busy from the moment that a response is available until its last byte has
/// been handed to the transport; the effects of TCP's windows are left to TCP's account.
#[derive(Debug, Default)]
pub struct FlowMeter {
    flow: Cell<FlowState>,
    since: Cell<Time>,
    busy: Cell<Duration>,
    limited: Cell<Duration>,
}

impl FlowMeter {
    /// Sets the sender's state from `now` on.
    pub(crate) fn enter(&self, now: Time, flow: FlowState) {
        self.busy.set(self.busy(now));
        self.limited.set(self.limited(now));
        self.since.set(now);
        self.flow.set(flow);
    }

    fn current(&self, now: Time, counts: bool) -> Duration {
        if counts { now.since(self.since.get()) } else { Duration::ZERO }
    }

    /// Time that data waited to be sent, until `now`.
    pub fn busy(&self, now: Time) -> Duration {
        self.busy.get() + self.current(now, self.flow.get() != FlowState::Idle)
    }

    /// The part of it in which only HTTP/2's windows held the data back.
    pub fn limited(&self, now: Time) -> Duration {
        self.limited.get() + self.current(now, self.flow.get() == FlowState::Limited)
    }
}

// The backlog of message bodies: bytes that are ready and have not left h2, for the record of buffered bytes per layer.
//
// A body waits above h2 until the scheduler and the windows release it, then in h2 until the stream below accepts it.
// h2 does not report the bytes that it holds; they are the bytes handed to it less those that the observer saw leave.
// Not counted are the heads and control frames that h2 holds, and requests without a body that wait for a stream.

/// The backlog of one end of a connection.
#[derive(Debug)]
pub(super) struct H2Backlog {
    notes: Option<HeldNotes>,
    observer: SharedObserver,
    /// Bytes of bodies above h2.
    waiting: Cell<u64>,
    /// Bytes of bodies handed to h2 so far, less those that it dropped with their stream.
    handed: Cell<u64>,
}

impl H2Backlog {
    pub(super) fn new(notes: Option<HeldNotes>, observer: &SharedObserver) -> Rc<H2Backlog> {
        let (waiting, handed) = (Cell::default(), Cell::default());
        Rc::new(H2Backlog { notes, observer: Rc::clone(observer), waiting, handed })
    }

    /// Notes the backlog; `below` bytes wait under h2.
    pub(super) fn note(&self, below: usize) {
        let Some(notes) = &self.notes else { return };
        let inside = self.handed.get().saturating_sub(self.observer.borrow().passed_body_bytes());
        notes.application(self.waiting.get() + inside + below as u64);
    }

    /// The same after h2 has written all that it could. If the stream accepted everything, h2 has dropped the bytes
    /// that it was handed and did not write.
    pub(super) fn note_written(&self, below: usize) {
        if self.notes.is_some() {
            let observer = self.observer.borrow();
            if !observer.is_send_blocked() {
                self.handed.set(observer.passed_body_bytes());
            }
            drop(observer);
            self.note(below);
        }
    }
}

/// The part of one body that waits above h2.
#[derive(Debug)]
pub(super) struct UnsentBody {
    left: Bytes,
    backlog: Rc<H2Backlog>,
}

impl UnsentBody {
    pub(super) fn new(body: Bytes, backlog: &Rc<H2Backlog>) -> UnsentBody {
        backlog.waiting.set(backlog.waiting.get() + body.len() as u64);
        UnsentBody { left: body, backlog: Rc::clone(backlog) }
    }

    pub(super) fn len(&self) -> usize {
        self.left.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Adds a body when none waits.
    pub(super) fn put(&mut self, body: Bytes) {
        debug_assert!(self.left.is_empty(), "one piece waits at a time");
        let backlog = &self.backlog;
        backlog.waiting.set(backlog.waiting.get() + body.len() as u64);
        self.left = body;
    }

    /// Takes the first `bytes`, for h2.
    pub(super) fn hand_over(&mut self, bytes: usize) -> Bytes {
        let backlog = &self.backlog;
        backlog.waiting.set(backlog.waiting.get() - bytes as u64);
        backlog.handed.set(backlog.handed.get() + bytes as u64);
        self.left.split_to(bytes)
    }

    /// Drops the rest.
    pub(super) fn give_up(&mut self) {
        let backlog = &self.backlog;
        backlog.waiting.set(backlog.waiting.get() - self.left.len() as u64);
        self.left.clear();
    }
}

impl Drop for UnsentBody {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_includes_limited_and_the_present() {
        let meter = FlowMeter::default();
        let at = Time::from_millis;
        meter.enter(at(10), FlowState::Sending);
        meter.enter(at(30), FlowState::Limited);
        meter.enter(at(35), FlowState::Sending);
        assert_eq!(meter.busy(at(40)), Duration::from_millis(30));
        meter.enter(at(50), FlowState::Idle);
        assert_eq!(meter.busy(at(100)), Duration::from_millis(40));
        assert_eq!(meter.limited(at(100)), Duration::from_millis(5));
    }
}
