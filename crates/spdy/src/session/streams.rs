//! The streams of a session: open streams, used numbers, and turns to send.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use super::Role;
use super::stream::{Half, Stream};
use crate::schedule::{Place, Schedule};
use crate::{Policy, Priority, StreamId};

/// Number of remembered streams that this end has reset: frames that the peer sent before it knew are silently ignored.
const REMEMBERED: usize = 256;

#[derive(Debug)]
pub(super) struct Streams {
    role: Role,
    open: BTreeMap<StreamId, Stream>,
    schedule: Schedule,
    /// Number of open streams opened by this end.
    ours: usize,
    next: u32,
    last_received: StreamId,
    reset: VecDeque<StreamId>,
}

impl Streams {
    pub(super) fn new(role: Role, policy: Policy) -> Streams {
        Streams {
            role,
            open: BTreeMap::new(),
            schedule: Schedule::new(policy),
            ours: 0,
            next: if role == Role::Client { 1 } else { 2 },
            last_received: StreamId::ZERO,
            reset: VecDeque::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Number of open streams opened by this end.
    pub(super) fn ours(&self) -> usize {
        self.ours
    }

    /// Number of open streams opened by the peer.
    pub(super) fn theirs(&self) -> usize {
        self.open.len() - self.ours
    }

    /// Returns true if streams with this number are opened by this end.
    pub(super) fn is_ours(&self, stream: StreamId) -> bool {
        stream.is_clients() == (self.role == Role::Client)
    }

    /// Returns true if the stream with this number was never open.
    pub(super) fn is_unused(&self, stream: StreamId) -> bool {
        if self.is_ours(stream) { stream.get() >= self.next } else { stream > self.last_received }
    }

    /// The number of the next stream to be opened by this end.
    pub(super) fn next(&self) -> Option<StreamId> {
        (self.next < 1 << 31).then(|| StreamId::new(self.next))
    }

    /// The last stream that the peer has opened.
    pub(super) fn last_received(&self) -> StreamId {
        self.last_received
    }

    /// Records that the peer has used the number `stream`.
    pub(super) fn note_received(&mut self, stream: StreamId) {
        self.last_received = stream;
    }

    pub(super) fn place(&mut self, stream: StreamId, priority: Priority) -> Place {
        self.schedule.place(stream, priority)
    }

    pub(super) fn get(&self, stream: StreamId) -> Option<&Stream> {
        self.open.get(&stream)
    }

    pub(super) fn get_mut(&mut self, stream: StreamId) -> Option<&mut Stream> {
        self.open.get_mut(&stream)
    }

    pub(super) fn insert(&mut self, stream: StreamId, state: Stream) {
        if self.is_ours(stream) {
            self.next = stream.get() + 2;
            self.ours += 1;
        }
        self.open.insert(stream, state);
    }

    pub(super) fn remove(&mut self, stream: StreamId) -> Option<Stream> {
        let state = self.open.remove(&stream)?;
        self.schedule.remove(state.place);
        if self.is_ours(stream) {
            self.ours -= 1;
        }
        Some(state)
    }

    /// Forgets `stream` if both its halves are closed.
    pub(super) fn settle(&mut self, stream: StreamId) {
        if self.open.get(&stream).is_some_and(Stream::is_over) {
            self.remove(stream);
        }
    }

    /// Closes the peer's half of `stream`.
    pub(super) fn end_receiving(&mut self, stream: StreamId) {
        if let Some(state) = self.open.get_mut(&stream) {
            state.receiving = Half::Closed;
        }
        self.settle(stream);
    }

    /// The pushed streams of the request `stream`.
    pub(super) fn associated_with(&self, stream: StreamId) -> Vec<StreamId> {
        let associated = self.open.iter().filter(|(_, state)| state.associated == stream);
        associated.map(|(id, _)| *id).collect()
    }

    /// The streams above `last` that this end has opened.
    pub(super) fn ours_after(&self, last: StreamId) -> Vec<StreamId> {
        let after = self.open.range((Bound::Excluded(last), Bound::Unbounded));
        after.map(|(id, _)| *id).filter(|id| self.is_ours(*id)).collect()
    }

    /// All open streams.
    pub(super) fn all(&self) -> Vec<StreamId> {
        self.open.keys().copied().collect()
    }

    pub(super) fn note_reset(&mut self, stream: StreamId) {
        if self.reset.len() == REMEMBERED {
            self.reset.pop_front();
        }
        self.reset.push_back(stream);
    }

    /// Returns true if this end has recently reset `stream`.
    pub(super) fn was_reset(&self, stream: StreamId) -> bool {
        self.reset.contains(&stream)
    }

    /// Queued bytes of all streams.
    pub(super) fn queued(&self) -> usize {
        self.open.values().map(Stream::queued).sum()
    }

    /// Schedules `stream` if it can send, else removes it from the schedule.
    pub(super) fn reschedule(&mut self, stream: StreamId) {
        let Some(state) = self.open.get(&stream) else { return };
        match state.sendable(usize::MAX) {
            Some(_) => self.schedule.insert(state.place),
            None => self.schedule.remove(state.place),
        }
    }

    /// The next stream to send and its allowed bytes, if the session has `room`.
    pub(super) fn turn(&self, room: usize) -> Option<(StreamId, usize)> {
        self.schedule.iter().find_map(|id| Some((id, self.open.get(&id)?.sendable(room)?)))
    }

    /// Ends the turn of `stream`.
    pub(super) fn end_turn(&mut self, stream: StreamId) {
        if let Some(state) = self.open.get_mut(&stream) {
            self.schedule.remove(state.place);
            state.place = self.schedule.after_turn(state.place);
        }
        self.reschedule(stream);
        self.settle(stream);
    }

    /// Ends all streams.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.schedule.clear();
        self.ours = 0;
    }
}
