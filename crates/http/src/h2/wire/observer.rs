//! Counts frames between TLS and h2.
//!
//! h2 reports neither the number of bytes of a head on the wire nor the time at which a request's last byte left. An
//! [`Observed`] stream reads the frame heads that pass through it in both directions and keeps the account in an
//! [`Observer`], which is shared with the other side of h2.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::priority::PriorityReader;
use crate::h2::frame::{
    CONTINUATION, DATA, FrameHead, Frames, GOAWAY, HEADERS, PING, PREFACE, PRIORITY,
    PRIORITY_UPDATE, RST_STREAM, SETTINGS,
};
use crate::schedule::Signal;

/// Bytes that passed in one direction of a stream, or of all streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamTraffic {
    /// HEADERS and CONTINUATION frames, whole.
    pub(crate) head_bytes: u64,
    /// Payload of DATA frames.
    pub(crate) body_bytes: u64,
    /// True once the sender has ended the stream.
    pub(crate) ended: bool,
}

impl StreamTraffic {
    fn count(&mut self, frame: FrameHead) {
        match frame.kind {
            HEADERS | CONTINUATION => self.head_bytes += frame.wire_bytes(),
            DATA => self.body_bytes += u64::from(frame.length),
            _ => {}
        }
        self.ended |= frame.ends_stream() || frame.kind == RST_STREAM;
    }
}

/// Number of received frames that cost their sender nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ControlFrames {
    pub(crate) resets: u32,
    /// PING frames that require an acknowledgement.
    pub(crate) pings: u32,
    /// SETTINGS frames that require an acknowledgement.
    pub(crate) settings: u32,
    /// PRIORITY and PRIORITY_UPDATE.
    pub(crate) priorities: u32,
}

impl ControlFrames {
    fn count(&mut self, frame: FrameHead) {
        match frame.kind {
            RST_STREAM => self.resets = self.resets.saturating_add(1),
            PING if frame.wants_answer() => self.pings = self.pings.saturating_add(1),
            SETTINGS if frame.wants_answer() => self.settings = self.settings.saturating_add(1),
            PRIORITY | PRIORITY_UPDATE => self.priorities = self.priorities.saturating_add(1),
            _ => {}
        }
    }
}

/// One direction of a connection.
#[derive(Debug)]
struct DirectionFrames {
    frames: Frames,
    all: StreamTraffic,
    streams: BTreeMap<u32, StreamTraffic>,
    controls: ControlFrames,
    going_away: bool,
}

impl DirectionFrames {
    fn new(frames: Frames) -> DirectionFrames {
        let (all, streams) = (StreamTraffic::default(), BTreeMap::new());
        DirectionFrames {
            frames,
            all,
            streams,
            controls: ControlFrames::default(),
            going_away: false,
        }
    }

    /// Processes the next bytes; reports each stream that its sender has ended.
    fn feed(&mut self, bytes: &[u8], mut ended: impl FnMut(u32)) {
        let DirectionFrames { frames, all, streams, controls, going_away } = self;
        frames.feed(bytes, |frame| {
            all.count(frame);
            controls.count(frame);
            *going_away |= frame.kind == GOAWAY;
            if is_pushed(frame) {
                streams.entry(frame.stream).or_default();
            }
            if let Some(passed) = streams.get_mut(&frame.stream) {
                passed.count(frame);
                if passed.ended {
                    ended(frame.stream);
                }
            }
        });
    }
}

/// Returns true for the head of a pushed response, which may come before its stream is watched.
fn is_pushed(frame: FrameHead) -> bool {
    frame.kind == HEADERS && frame.stream != 0 && frame.stream.is_multiple_of(2)
}

/// The frame account of one connection, as seen by one of its ends.
#[derive(Debug)]
pub(crate) struct Observer {
    sent: DirectionFrames,
    received: DirectionFrames,
    /// Wakers of tasks that wait until a stream is sent.
    waiting: BTreeMap<u32, Waker>,
    send_blocked: bool,
    /// The client's priority signals, if they are wanted.
    signals: Option<PriorityReader>,
}

/// An account shared by the stream below h2 and the code above it.
pub(crate) type SharedObserver = Rc<RefCell<Observer>>;

impl Observer {
    /// For the client's end.
    pub(crate) fn of_client() -> Observer {
        Observer::new(Frames::of_client(), Frames::of_server())
    }

    /// For the server's end.
    pub(crate) fn of_server() -> Observer {
        Observer::new(Frames::of_server(), Frames::of_client())
    }

    fn new(sent: Frames, received: Frames) -> Observer {
        Observer {
            sent: DirectionFrames::new(sent),
            received: DirectionFrames::new(received),
            waiting: BTreeMap::new(),
            send_blocked: false,
            signals: None,
        }
    }

    /// The same, for the server's end, which also reads the client's priority signals.
    #[must_use]
    pub(crate) fn with_signals(self) -> Observer {
        Observer { signals: Some(PriorityReader::new()), ..self }
    }

    /// The client's priority signals since the last call, in order.
    pub(crate) fn take_signals(&mut self) -> Vec<(u32, Signal)> {
        self.signals.as_mut().map(PriorityReader::take).unwrap_or_default()
    }

    /// Starts the account of `stream`, which is kept until [`Observer::forget`].
    pub(crate) fn watch(&mut self, stream: u32) {
        self.sent.streams.entry(stream).or_default();
        self.received.streams.entry(stream).or_default();
    }

    /// Drops the account of `stream`.
    pub(crate) fn forget(&mut self, stream: u32) {
        self.sent.streams.remove(&stream);
        self.received.streams.remove(&stream);
        self.waiting.remove(&stream);
    }

    /// Bytes that this end has sent on a watched stream.
    pub(crate) fn sent(&self, stream: u32) -> StreamTraffic {
        self.sent.streams.get(&stream).copied().unwrap_or_default()
    }

    /// Bytes that this end has received on a watched stream.
    pub(crate) fn received(&self, stream: u32) -> StreamTraffic {
        self.received.streams.get(&stream).copied().unwrap_or_default()
    }

    /// Payload of DATA frames that this end has handed to the transport, including unfinished frames.
    pub(crate) fn passed_body_bytes(&self) -> u64 {
        self.sent.all.body_bytes + self.sent.frames.unfinished_data_bytes()
    }

    /// Received frames that cost their sender nothing.
    pub(crate) fn controls(&self) -> ControlFrames {
        self.received.controls
    }

    /// Bytes of heads and bodies that have passed either way: the progress of the client's requests.
    pub(crate) fn progress(&self) -> u64 {
        let (sent, received) = (self.sent.all, self.received.all);
        sent.head_bytes + self.passed_body_bytes() + received.head_bytes + received.body_bytes
    }

    /// Returns true if the transport had no room for h2's last write. If it had, h2 has nothing queued that flow
    /// control would release.
    pub(crate) fn is_send_blocked(&self) -> bool {
        self.send_blocked
    }

    /// Returns true if the peer takes no new streams (GOAWAY).
    pub(crate) fn is_going_away(&self) -> bool {
        self.received.going_away
    }

    /// Ready when the last byte on a watched stream has been handed to the transport.
    pub(crate) fn poll_sent(&mut self, stream: u32, cx: &mut Context<'_>) -> Poll<StreamTraffic> {
        let passed = self.sent(stream);
        if passed.ended {
            return Poll::Ready(passed);
        }
        self.waiting.insert(stream, cx.waker().clone());
        Poll::Pending
    }

    fn on_sent(&mut self, bytes: &[u8]) {
        let waiting = &mut self.waiting;
        self.sent.feed(bytes, |stream| {
            if let Some(waker) = waiting.remove(&stream) {
                waker.wake();
            }
        });
    }

    fn on_received(&mut self, bytes: &[u8]) {
        self.received.feed(bytes, |_| {});
        if let Some(signals) = &mut self.signals {
            signals.feed(bytes);
        }
    }
}

/// A stream whose frames are counted.
///
/// It holds back the client's preface, which h2 writes alone, until the next write: browsers send it in one segment
/// (and TLS record) with their SETTINGS and first requests.
pub(crate) struct Observed<S> {
    stream: S,
    observer: SharedObserver,
    held: &'static [u8],
}

impl<S> Observed<S> {
    /// Counts the frames that pass through `stream`.
    pub(crate) fn new(stream: S, observer: &SharedObserver) -> Observed<S> {
        Observed { stream, observer: Rc::clone(observer), held: &[] }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Observed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.observer.borrow_mut().on_received(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Observed<S> {
    /// Writes the held bytes, then `parts`; returns the number of bytes of `parts` accepted.
    fn poll_write_held(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut all = vec![IoSlice::new(self.held)];
            all.extend(parts.iter().map(|part| IoSlice::new(part)));
            let n = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, &all))?;
            let ours = n.min(self.held.len());
            self.observer.borrow_mut().on_sent(&self.held[..ours]);
            self.held = &self.held[ours..];
            if n > ours || n == 0 {
                return Poll::Ready(Ok(n - ours));
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Observed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if data == PREFACE {
            self.held = PREFACE;
            return Poll::Ready(Ok(data.len()));
        }
        self.poll_write_vectored(cx, &[IoSlice::new(data)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = if self.held.is_empty() {
            Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
        } else {
            self.poll_write_held(cx, parts)
        };
        let mut observer = self.observer.borrow_mut();
        observer.send_blocked = written.is_pending();
        let n = ready!(written)?;
        let mut left = n;
        for part in parts {
            let taken = left.min(part.len());
            observer.on_sent(&part[..taken]);
            left -= taken;
        }
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.observer.borrow_mut().send_blocked = flushed.is_pending();
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use proptest::prelude::*;

    use super::*;
    use crate::partial_writer::PartialWriter;

    /// Runs a future that is ready at once.
    fn now<T>(future: impl Future<Output = T>) -> T {
        match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it waits"),
        }
    }

    /// HEADERS of `head` bytes on stream 1, and DATA of `body` bytes, which ends it.
    fn request(head: u8, body: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, head, HEADERS, 0x4, 0, 0, 0, 1];
        bytes.resize(bytes.len() + usize::from(head), 0xaa);
        bytes.extend([0, 0, body, DATA, 0x1, 0, 0, 0, 1]);
        bytes.resize(bytes.len() + usize::from(body), 0xbb);
        bytes
    }

    proptest! {
        #[test]
        fn a_reluctant_transport_changes_neither_bytes_nor_counts(
            takes in prop::collection::vec(1usize..60, 0..40),
            head: u8,
            body: u8,
            cut: prop::sample::Index,
        ) {
            let observer = Rc::new(RefCell::new(Observer::of_client()));
            observer.borrow_mut().watch(1);
            let mut stream = Observed::new(PartialWriter::taking(takes, 1), &observer);
            let request = request(head, body);
            prop_assert_eq!(
                now(poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, PREFACE))).unwrap(),
                PREFACE.len()
            );
            prop_assert!(stream.stream.writes.is_empty(), "the preface waits for company");
            let mut left = &request[..];
            while !left.is_empty() {
                let cut = cut.index(left.len());
                let parts = [IoSlice::new(&left[..cut]), IoSlice::new(&left[cut..])];
                let write = poll_fn(|cx| Pin::new(&mut stream).poll_write_vectored(cx, &parts));
                let n = now(write).unwrap();
                prop_assert!(n > 0);
                left = &left[n..];
                prop_assert_eq!(observer.borrow().sent(1).ended, left.is_empty());
            }
            prop_assert_eq!(stream.stream.writes.concat(), [&PREFACE[..], &request].concat());
            let sent = StreamTraffic {
                head_bytes: 9 + u64::from(head),
                body_bytes: u64::from(body),
                ended: true,
            };
            prop_assert_eq!(observer.borrow().sent(1), sent);
            prop_assert_eq!(observer.borrow().sent.all, sent);
        }
    }
}
