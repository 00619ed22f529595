//! quinn's streams, with every byte counted, and the meters that count them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ::quic::ByteCounts;
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};

use super::{BidiHalves, application_code, id, of_read, of_write, stream_id};
use crate::h3::frames::{FrameBytes, FrameMeter};

/// A request's stream.
pub(in crate::h3) struct BidiStream {
    send: SendStream,
    receive: RecvStream,
}

impl BidiStream {
    pub(super) fn new((send, receive): BidiHalves, tally: &SharedMeters) -> BidiStream {
        let watch = ConnectionMeters::open(tally, id(send.id()));
        BidiStream {
            send: SendStream::new(send, tally, Some(Rc::clone(&watch))),
            receive: RecvStream {
                stream: receive,
                tally: Rc::clone(tally),
                kind: StreamKind::Request(watch),
            },
        }
    }
}

impl quic::BidiStream<Bytes> for BidiStream {
    type SendStream = SendStream;
    type RecvStream = RecvStream;

    fn split(self) -> (SendStream, RecvStream) {
        (self.send, self.receive)
    }
}

impl quic::SendStream<Bytes> for BidiStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.send.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl quic::RecvStream for BidiStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receive.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.receive.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.receive.recv_id()
    }
}

/// The sending direction of a stream.
pub(in crate::h3) struct SendStream {
    stream: quinn::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    tally: SharedMeters,
    _watch: Option<Rc<MeterGuard>>,
}

impl SendStream {
    pub(super) fn new(
        stream: quinn::SendStream,
        tally: &SharedMeters,
        watch: Option<Rc<MeterGuard>>,
    ) -> SendStream {
        SendStream { stream, writing: None, tally: Rc::clone(tally), _watch: watch }
    }
}

impl quic::SendStream<Bytes> for SendStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = self.writing.as_mut().filter(|data| data.has_remaining()) {
            let stream = Pin::new(&mut self.stream);
            let written = ready!(stream.poll_write(cx, data.chunk())).map_err(of_write)?;
            let mut tally = self.tally.borrow_mut();
            tally.feed(id(self.stream.id()), StreamDirection::Sent, &data.chunk()[..written]);
            data.advance(written);
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        assert!(self.writing.is_none(), "h3 waits until a stream is ready before it writes");
        let rank = self.tally.borrow_mut().take_rank(id(self.stream.id()));
        if let Some(rank) = rank {
            // A closed stream needs none.
            let _ = self.stream.set_priority(rank);
        }
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, code: u64) {
        // A closed stream needs no reset.
        let _ = self.stream.reset(application_code(code));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

/// The receiving direction of a stream.
pub(in crate::h3) struct RecvStream {
    stream: quinn::RecvStream,
    tally: SharedMeters,
    kind: StreamKind,
}

/// The use of a stream.
enum StreamKind {
    /// A request, whose meters are in the tally.
    Request(#[expect(dead_code, reason = "kept for its end")] Rc<MeterGuard>),
    /// A unidirectional stream.
    OneWay(FrameMeter),
}

impl RecvStream {
    /// A unidirectional stream.
    pub(super) fn one_way(stream: quinn::RecvStream, tally: &SharedMeters) -> RecvStream {
        RecvStream {
            stream,
            tally: Rc::clone(tally),
            kind: StreamKind::OneWay(FrameMeter::one_way()),
        }
    }

    /// Counts `bytes`; returns false if they begin a frame above the limit.
    fn take(&mut self, stream: u64, bytes: &[u8]) -> bool {
        let mut tally = self.tally.borrow_mut();
        let takes = tally.feed(stream, StreamDirection::Received, bytes);
        match &mut self.kind {
            StreamKind::Request(_) => takes,
            StreamKind::OneWay(meter) => {
                meter.feed(bytes);
                tally.takes(meter)
            }
        }
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let stream = id(self.stream.id());
        let chunk = ready!(pin!(self.stream.read_chunk(usize::MAX, true)).poll(cx));
        let bytes = chunk.map_err(of_read)?.map(|chunk| chunk.bytes);
        if let Some(bytes) = &bytes
            && !self.take(stream, bytes)
        {
            // RFC 9114 section 10.5: "excessive load".
            let error_code = Code::H3_EXCESSIVE_LOAD.value();
            quic::RecvStream::stop_sending(self, error_code);
            return Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code }));
        }
        Poll::Ready(Ok(bytes))
    }

    fn stop_sending(&mut self, code: u64) {
        // A closed stream need not be stopped.
        let _ = self.stream.stop(application_code(code));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

/// Ready when the peer stops a stream, or the connection is lost.
pub(in crate::h3) type StopFuture = Pin<Box<dyn Future<Output = ()>>>;

/// Bytes that have passed on one connection, as seen by this end.
pub(in crate::h3) struct ConnectionMeters {
    /// Bytes on all streams.
    counts: Rc<ByteCounts>,
    /// Size limit of the frames that h3 buffers whole.
    most_gathered_bytes: u64,
    /// Bytes of requests and responses, both ways.
    progress: u64,
    /// Open request streams.
    open: BTreeMap<u64, [FrameMeter; 2]>,
    /// Ranks of streams that have sent nothing yet.
    ranks: BTreeMap<u64, i32>,
    /// Stop futures of request streams that are not awaited yet.
    stops: BTreeMap<u64, StopFuture>,
}

/// The direction of a stream's meter.
#[derive(Clone, Copy)]
pub(super) enum StreamDirection {
    Sent,
    Received,
}

impl ConnectionMeters {
    /// A new tally of a connection whose peer's heads may have this many bytes. h3 itself buffers an incomplete frame of
    /// any announced size; encoded heads are no larger than decoded ones (RFC 9204 section 4.5: literals, static indices).
    pub(in crate::h3) fn shared(most_gathered_bytes: u64) -> SharedMeters {
        Rc::new(RefCell::new(ConnectionMeters {
            counts: Rc::default(),
            most_gathered_bytes,
            progress: 0,
            open: BTreeMap::new(),
            ranks: BTreeMap::new(),
            stops: BTreeMap::new(),
        }))
    }

    /// Bytes on all streams, requests' and others.
    pub(in crate::h3) fn counts(&self) -> &Rc<ByteCounts> {
        &self.counts
    }

    /// Bytes of requests and responses that have passed, both ways.
    pub(in crate::h3) fn progress(&self) -> u64 {
        self.progress
    }

    /// Returns true if a stream's frames are within the limit.
    pub(super) fn takes(&self, meter: &FrameMeter) -> bool {
        meter.gathered_bytes() <= self.most_gathered_bytes
    }

    /// Bytes that this end has sent on a request's stream.
    pub(in crate::h3) fn sent(&self, stream: StreamId) -> FrameBytes {
        self.passed(stream, StreamDirection::Sent)
    }

    /// Bytes that this end has received on a request's stream.
    pub(in crate::h3) fn received(&self, stream: StreamId) -> FrameBytes {
        self.passed(stream, StreamDirection::Received)
    }

    /// Returns true if the data received on a request's stream repeats pseudo-header fields, or has them after fields.
    pub(in crate::h3) fn is_malformed(&self, stream: StreamId) -> bool {
        let meters = self.open.get(&stream.into_inner());
        meters.is_some_and(|meters| meters[StreamDirection::Received as usize].is_malformed())
    }

    /// Sets the rank of `stream`: its data goes before that of lower ranks; the default is 0.
    pub(in crate::h3) fn rank(&mut self, stream: StreamId, rank: i32) {
        self.ranks.insert(stream.into_inner(), rank);
    }

    /// Notes that a request's stream is open.
    pub(super) fn open(shared: &SharedMeters, stream: u64) -> Rc<MeterGuard> {
        shared.borrow_mut().open.insert(stream, Default::default());
        Rc::new(MeterGuard { tally: Rc::clone(shared), stream })
    }

    /// Stores the future that is ready when the peer stops `stream`.
    pub(super) fn note_stop(&mut self, stream: u64, stop: StopFuture) {
        self.stops.insert(stream, stop);
    }

    /// The future that is ready when the peer stops the request stream `stream`; once.
    pub(in crate::h3) fn take_stop(&mut self, stream: StreamId) -> Option<StopFuture> {
        self.stops.remove(&stream.into_inner())
    }

    /// The rank of a stream that has sent nothing yet, if it has one.
    pub(super) fn take_rank(&mut self, stream: u64) -> Option<i32> {
        self.ranks.remove(&stream)
    }

    fn passed(&self, stream: StreamId, way: StreamDirection) -> FrameBytes {
        let meters = self.open.get(&stream.into_inner());
        meters.map_or_else(FrameBytes::default, |meters| meters[way as usize].passed())
    }

    /// Counts the bytes of a stream; returns false if they exceed the limit.
    pub(super) fn feed(&mut self, stream: u64, way: StreamDirection, bytes: &[u8]) -> bool {
        match way {
            StreamDirection::Sent => self.counts.add_sent(bytes.len()),
            StreamDirection::Received => self.counts.add_received(bytes.len()),
        }
        let Some(meters) = self.open.get_mut(&stream) else { return true };
        self.progress += bytes.len() as u64;
        let meter = &mut meters[way as usize];
        meter.feed(bytes);
        matches!(way, StreamDirection::Sent) || meter.gathered_bytes() <= self.most_gathered_bytes
    }
}

/// A tally shared by all streams of a connection.
pub(in crate::h3) type SharedMeters = Rc<RefCell<ConnectionMeters>>;

/// Keeps a stream's meters as long as one of its directions is open.
pub(super) struct MeterGuard {
    tally: SharedMeters,
    stream: u64,
}

impl Drop for MeterGuard {
    fn drop(&mut self) {
        let mut tally = self.tally.borrow_mut();
        tally.open.remove(&self.stream);
        tally.ranks.remove(&self.stream);
        tally.stops.remove(&self.stream);
    }
}
