//! quinn's streams, with every byte counted.

use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ::h3::error::Code;
use ::h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};
use bytes::{Buf, Bytes};

use super::tally::{SharedTally, Tally, Watch, Way};
use super::{Both, application_code, id, of_read, of_write, stream_id};
use crate::h3::frames::Meter;

/// A request's stream.
pub(in crate::h3) struct BidiStream {
    send: SendStream,
    receive: RecvStream,
}

impl BidiStream {
    pub(super) fn new((send, receive): Both, tally: &SharedTally) -> BidiStream {
        let watch = Tally::open(tally, id(send.id()));
        BidiStream {
            send: SendStream::new(send, tally, Some(Rc::clone(&watch))),
            receive: RecvStream {
                stream: receive,
                tally: Rc::clone(tally),
                kind: Kind::Request(watch),
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
    tally: SharedTally,
    _watch: Option<Rc<Watch>>,
}

impl SendStream {
    pub(super) fn new(
        stream: quinn::SendStream,
        tally: &SharedTally,
        watch: Option<Rc<Watch>>,
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
            tally.feed(id(self.stream.id()), Way::Sent, &data.chunk()[..written]);
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
    tally: SharedTally,
    kind: Kind,
}

/// The use of a stream.
enum Kind {
    /// A request, whose meters are in the tally.
    Request(#[expect(dead_code, reason = "kept for its end")] Rc<Watch>),
    /// A unidirectional stream.
    OneWay(Meter),
}

impl RecvStream {
    /// A unidirectional stream.
    pub(super) fn one_way(stream: quinn::RecvStream, tally: &SharedTally) -> RecvStream {
        RecvStream { stream, tally: Rc::clone(tally), kind: Kind::OneWay(Meter::one_way()) }
    }

    /// Counts `bytes`; returns false if they begin a frame above the limit.
    fn take(&mut self, stream: u64, bytes: &[u8]) -> bool {
        let mut tally = self.tally.borrow_mut();
        let takes = tally.feed(stream, Way::Received, bytes);
        match &mut self.kind {
            Kind::Request(_) => takes,
            Kind::OneWay(meter) => {
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
