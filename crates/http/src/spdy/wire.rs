//! I/O between a session and the stream below it.

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

/// The most bytes per read.
const READ_BYTES: usize = 32 << 10;

/// Free space below which the read buffer grows.
const LEAST_ROOM: usize = 4 << 10;

/// Pieces of the output per vectored write.
const SLICES: usize = 16;

pub(super) struct Wire<S> {
    stream: S,
    buffer: BytesMut,
    /// DATA frames are added to the waiting output while it is smaller than this.
    fill_bytes: usize,
    notes: Option<HeldNotes>,
    /// Positions in the output at which a write must end.
    ends: VecDeque<u64>,
}

impl<S: Transport> Wire<S> {
    /// `chunk_bytes` is the size of the session's DATA frames: one of at most half that size goes with the next.
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

    /// Ends a write at this position of the session's output: earlier output is written separately.
    pub(super) fn end_write_at(&mut self, position: u64) {
        self.ends.push_back(position);
    }

    /// Passes received bytes to `session`. Ready when nothing more will come, pending when nothing more is available.
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

    /// Writes the output of `session`. Ready when nothing is left that may be sent.
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

    /// Closes the sending direction.
    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
