//! How much of the messages' bodies is ready and has not left h2: for the record of what lies where.
//!
//! A body lies above h2 until the scheduler and the windows let it go, then in h2 until the stream below takes it. h2 does not
//! tell what it holds; it is what it was handed less what the observer saw leave. Not seen are the heads and
//! control frames that h2 holds, and requests that wait without a body for a stream.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use world::sim::HeldNotes;

use super::observer::Shared;

/// The account of one end of a connection.
#[derive(Debug)]
pub(super) struct Backlog {
    notes: Option<HeldNotes>,
    observer: Shared,
    /// Bytes of bodies above h2.
    waiting: Cell<u64>,
    /// Bytes of bodies that h2 was given so far, those that it dropped with their stream not counted.
    handed: Cell<u64>,
}

impl Backlog {
    pub(super) fn new(notes: Option<HeldNotes>, observer: &Shared) -> Rc<Backlog> {
        let (waiting, handed) = (Cell::default(), Cell::default());
        Rc::new(Backlog { notes, observer: Rc::clone(observer), waiting, handed })
    }

    /// Notes how things stand; `below` bytes wait under h2.
    pub(super) fn note(&self, below: usize) {
        let Some(notes) = &self.notes else { return };
        let inside = self.handed.get().saturating_sub(self.observer.borrow().passed_body_bytes());
        notes.application(self.waiting.get() + inside + below as u64);
    }

    /// The same after h2 has written all that it could. If the stream took everything, what h2 was handed and did not
    /// write it has dropped.
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

/// What is left above h2 of one body.
#[derive(Debug)]
pub(super) struct Waiting {
    left: Bytes,
    backlog: Rc<Backlog>,
}

impl Waiting {
    pub(super) fn new(body: Bytes, backlog: &Rc<Backlog>) -> Waiting {
        backlog.waiting.set(backlog.waiting.get() + body.len() as u64);
        Waiting { left: body, backlog: Rc::clone(backlog) }
    }

    pub(super) fn len(&self) -> usize {
        self.left.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// This waits now, when nothing does.
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

    /// Nobody wants the rest.
    pub(super) fn give_up(&mut self) {
        let backlog = &self.backlog;
        backlog.waiting.set(backlog.waiting.get() - self.left.len() as u64);
        self.left.clear();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.give_up();
    }
}
