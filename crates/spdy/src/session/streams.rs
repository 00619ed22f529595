//! The streams of a session - their states, windows and queued data - and the order in which they send.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use bytes::Bytes;

use super::{Event, Role, Session};
use crate::schedule::{DataSchedule, TurnPosition};
use crate::window::{ReceiveWindow, SendWindow};
use crate::{Policy, Priority, StreamId, frame};

/// Number of remembered streams that this end has reset: frames that the peer sent before it knew are silently ignored.
const REMEMBERED: usize = 256;

#[derive(Debug)]
pub(super) struct Streams {
    role: Role,
    open: BTreeMap<StreamId, Stream>,
    schedule: DataSchedule,
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
            schedule: DataSchedule::new(policy),
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

    pub(super) fn place(&mut self, stream: StreamId, priority: Priority) -> TurnPosition {
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
            state.receiving = HalfState::Closed;
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

// One stream: its halves, its windows and its queued data.
//
// ```text
// SYN_STREAM
// |
// FIN received    v     FIN sent
// +------------- [ open ] ----------+
// v                 |               v
// half-closed         | RST     half-closed
// (remote)            | either  (local)
// |   FIN sent      v     FIN       |
// +-----------> [ gone ] <----------+
// ```
// FLAG_UNIDIRECTIONAL opens a stream with the recipient's half closed. State of a gone stream is dropped.

/// One direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HalfState {
    Open,
    /// FLAG_FIN was sent, or the half was closed from the start.
    Closed,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) sending: HalfState,
    pub(super) receiving: HalfState,
    /// The request that this pushed stream belongs to; 0 for none.
    pub(super) associated: StreamId,
    /// True after a SYN_REPLY, or if none will come.
    pub(super) is_replied: bool,
    /// None in version 2.
    pub(super) send_window: Option<SendWindow>,
    pub(super) receive_window: Option<ReceiveWindow>,
    pub(super) place: TurnPosition,
    queue: VecDeque<Bytes>,
    queued: usize,
    /// True if the queue's end is the stream's end.
    is_ending: bool,
}

impl Stream {
    pub(super) fn new(
        place: TurnPosition,
        send_window: Option<SendWindow>,
        receive_window: Option<ReceiveWindow>,
    ) -> Stream {
        Stream {
            sending: HalfState::Open,
            receiving: HalfState::Open,
            associated: StreamId::ZERO,
            is_replied: false,
            send_window,
            receive_window,
            place,
            queue: VecDeque::new(),
            queued: 0,
            is_ending: false,
        }
    }

    /// Queues `data`; with `fin` nothing can be queued after it.
    pub(super) fn queue(&mut self, data: Bytes, fin: bool) {
        self.queued += data.len();
        if !data.is_empty() {
            self.queue.push_back(data);
        }
        self.is_ending |= fin;
    }

    /// Returns true if more may be queued.
    pub(super) fn takes_data(&self) -> bool {
        self.sending == HalfState::Open && !self.is_ending
    }

    /// Number of queued bytes.
    pub(super) fn queued(&self) -> usize {
        self.queued
    }

    /// Number of bytes that may be sent now if the session has `room`; `None` if nothing is queued or allowed. 0 is
    /// an empty frame that ends the stream, which needs no window.
    pub(super) fn sendable(&self, room: usize) -> Option<usize> {
        if self.queued == 0 {
            return self.is_ending.then_some(0);
        }
        let window = self.send_window.map_or(usize::MAX, SendWindow::available);
        Some(self.queued.min(window).min(room)).filter(|bytes| *bytes > 0)
    }

    /// Returns true if the next `bytes` are the stream's last.
    pub(super) fn is_last(&self, bytes: usize) -> bool {
        self.is_ending && self.queued == bytes
    }

    /// Removes the next `bytes` from the queue, piece by piece, and deducts them from the window.
    pub(super) fn take(&mut self, bytes: usize, mut piece: impl FnMut(Bytes)) {
        let is_last = self.is_last(bytes);
        let mut left = bytes;
        while left > 0 {
            let front = self.queue.front_mut().expect("no more is taken than is queued");
            if front.len() > left {
                piece(front.split_to(left));
                break;
            }
            left -= front.len();
            piece(self.queue.pop_front().expect("it has a front"));
        }
        self.queued -= bytes;
        if let Some(window) = &mut self.send_window {
            window.spend(bytes);
        }
        if is_last {
            self.sending = HalfState::Closed;
            self.is_ending = false;
        }
    }

    /// Returns true if both halves are closed.
    pub(super) fn is_over(&self) -> bool {
        self.sending == HalfState::Closed && self.receiving == HalfState::Closed
    }
}

impl Session {
    /// Fills the output with DATA frames until `bytes` are queued or nothing may be sent.
    pub fn produce(&mut self, bytes: usize) {
        while self.output.len() < bytes && self.send_one() {}
    }

    fn send_one(&mut self) -> bool {
        let Some((stream, allowed)) = self.streams.turn(self.room()) else { return false };
        let bytes = allowed.min(self.config.chunk_bytes);
        if let Some(window) = &mut self.send_window {
            window.spend(bytes);
        }
        let state = self.streams.get_mut(stream).expect("a scheduled stream is open");
        let is_last = state.is_last(bytes);
        let output = &mut self.output;
        output.write(|out| frame::data_head(out, stream, is_last, bytes));
        state.take(bytes, |piece| output.share(piece));
        if is_last {
            self.note_ending(stream);
        }
        self.streams.end_turn(stream);
        true
    }

    /// Available session window.
    fn room(&self) -> usize {
        self.send_window.map_or(usize::MAX, SendWindow::available)
    }

    /// Bytes of bodies that are queued and not in the output.
    pub fn queued(&self) -> usize {
        self.streams.queued()
    }

    /// Bytes that are queued on `stream` and not in the output; `None` if it accepts no more: it has ended, or is gone.
    pub fn waiting(&self, stream: StreamId) -> Option<usize> {
        self.streams.get(stream).filter(|state| state.takes_data()).map(Stream::queued)
    }

    /// Returns true if bodies are queued and only the peer's windows keep them from the output.
    pub fn is_window_limited(&self) -> bool {
        self.queued() > 0 && self.streams.turn(self.room()).is_none()
    }

    /// Removes the first `bytes` of the output, which the transport has taken.
    ///
    /// # Panics
    /// If fewer were queued.
    pub fn advance(&mut self, bytes: usize) {
        self.output.advance(bytes);
        let passed = self.output.passed();
        while let Some((_, stream)) = self.endings.pop_front_if(|(end, _)| *end <= passed) {
            self.events.push_back(Event::Sent { stream });
        }
    }
}
