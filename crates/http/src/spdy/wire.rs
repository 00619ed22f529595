//! A session's stream below: moves bytes between the two.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::spdy::Session;
use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use world::sim::HeldNotes;

use crate::Transport;

/// Read at once at most.
const READ_BYTES: usize = 32 << 10;

/// Below this much room for reading, room is made.
const LEAST_ROOM: usize = 4 << 10;

/// Pieces of the output that go into one vectored write.
const SLICES: usize = 16;

pub(super) struct Wire<S> {
    stream: S,
    buffer: BytesMut,
    /// DATA frames are put behind what waits while that is less.
    fill_bytes: usize,
    notes: Option<HeldNotes>,
    /// Positions in the output beyond which no write goes.
    ends: VecDeque<u64>,
}

impl<S: Transport> Wire<S> {
    /// `chunk_bytes` is the size of the session's DATA frames: one that is half as large as the largest goes with the next.
    pub(super) fn new(stream: S, chunk_bytes: usize) -> Wire<S> {
        let notes = stream.held();
        Wire {
            stream,
            buffer: BytesMut::new(),
            fill_bytes: chunk_bytes.div_ceil(2),
            notes,
            ends: VecDeque::new(),
        }
    }

    /// No write goes beyond this position of the session's output: what was queued before goes by itself.
    pub(super) fn end_write_at(&mut self, position: u64) {
        self.ends.push_back(position);
    }

    /// Gives `session` what has come. Ready when nothing more will come, pending when nothing more is there.
    pub(super) fn poll_read(
        &mut self,
        session: &mut Session,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.buffer.capacity() < LEAST_ROOM {
                self.buffer.reserve(READ_BYTES);
            }
            let read = ready!(pin!(self.stream.read_buf(&mut self.buffer)).poll(cx))?;
            if read == 0 {
                return Poll::Ready(Ok(()));
            }
            let now = Duration::from_nanos(world::now().as_nanos());
            session.receive(now, self.buffer.split().freeze());
        }
    }

    /// Writes what `session` has to say. Ready when there is nothing left that may be sent.
    pub(super) fn poll_write(
        &mut self,
        session: &mut Session,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let written = self.poll_drain(session, cx);
        if let Some(notes) = &self.notes {
            notes.application((session.queued() + session.output().len()) as u64);
        }
        written
    }

    fn poll_drain(&mut self, session: &mut Session, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            session.produce(self.fill_bytes);
            if session.output().is_empty() {
                return Pin::new(&mut self.stream).poll_flush(cx);
            }
            let passed = session.output().passed();
            while self.ends.pop_front_if(|end| *end <= passed).is_some() {}
            let most = self.ends.front().map_or(usize::MAX, |end| (end - passed) as usize);
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = session.output().slices(most, &mut slices);
            let stream = Pin::new(&mut self.stream);
            let taken = ready!(stream.poll_write_vectored(cx, &slices[..filled]))?;
            if taken == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            session.advance(taken);
        }
    }

    /// Says that nothing more will be sent.
    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
