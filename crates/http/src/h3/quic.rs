//! quinn's connections and streams as h3 wants them, with each byte counted.
//!
//! The crate `h3-quinn` does the like; ours shows how large each frame of a request is and how much has passed in all.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::h3::error::Code;
use ::h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use bytes::{Buf, Bytes};
use quinn::{ReadError, VarInt, WriteError};

use super::frames::{Meter, Passed};

/// What has passed on one connection, as this end sees it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Bytes handed to QUIC, on all streams.
    pub(super) sent_bytes: u64,
    /// Bytes that QUIC handed up, in order.
    pub(super) received_bytes: u64,
    /// Requests' streams that are open.
    open: BTreeMap<u64, [Meter; 2]>,
    /// Ranks of streams that have sent nothing yet.
    ranks: BTreeMap<u64, i32>,
}

/// Which of a stream's meters.
#[derive(Clone, Copy)]
enum Way {
    Sent,
    Received,
}

impl Tally {
    /// What this end has sent on a request's stream.
    pub(super) fn sent(&self, stream: StreamId) -> Passed {
        self.passed(stream, Way::Sent)
    }

    /// What this end has received on a request's stream.
    pub(super) fn received(&self, stream: StreamId) -> Passed {
        self.passed(stream, Way::Received)
    }

    /// What is sent on `stream` from now on goes before what has a lower rank; the usual is 0.
    pub(super) fn rank(&mut self, stream: StreamId, rank: i32) {
        self.ranks.insert(stream.into_inner(), rank);
    }

    fn passed(&self, stream: StreamId, way: Way) -> Passed {
        let meters = self.open.get(&stream.into_inner());
        meters.map_or_else(Passed::default, |meters| meters[way as usize].passed())
    }

    fn feed(&mut self, stream: u64, way: Way, bytes: &[u8]) {
        match way {
            Way::Sent => self.sent_bytes += bytes.len() as u64,
            Way::Received => self.received_bytes += bytes.len() as u64,
        }
        if let Some(meters) = self.open.get_mut(&stream) {
            meters[way as usize].feed(bytes);
        }
    }
}

/// A tally that all streams of a connection write to.
pub(super) type SharedTally = Rc<RefCell<Tally>>;

/// Something that quinn will give.
type Pending<T> = Pin<Box<dyn Future<Output = Result<T, quinn::ConnectionError>>>>;
type Both = (quinn::SendStream, quinn::RecvStream);

/// Polls what is pending, or begins it.
fn poll_pending<T>(
    pending: &mut Option<Pending<T>>,
    cx: &mut Context<'_>,
    begin: impl FnOnce() -> Pending<T>,
) -> Poll<Result<T, quinn::ConnectionError>> {
    let future = pending.get_or_insert_with(begin);
    let given = ready!(future.as_mut().poll(cx));
    *pending = None;
    Poll::Ready(given)
}

/// Opens streams.
pub(super) struct Opener {
    connection: quinn::Connection,
    tally: SharedTally,
    both: Option<Pending<Both>>,
    one: Option<Pending<quinn::SendStream>>,
}

impl Clone for Opener {
    fn clone(&self) -> Opener {
        Opener::new(&self.connection, &self.tally)
    }
}

impl Opener {
    fn new(connection: &quinn::Connection, tally: &SharedTally) -> Opener {
        let (connection, tally) = (connection.clone(), Rc::clone(tally));
        Opener { connection, tally, both: None, one: None }
    }
}

impl quic::OpenStreams<Bytes> for Opener {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        let connection = &self.connection;
        let begin = || {
            let connection = connection.clone();
            Box::pin(async move { connection.open_bi().await }) as Pending<Both>
        };
        let both = ready!(poll_pending(&mut self.both, cx, begin)).map_err(of_connection)?;
        Poll::Ready(Ok(BidiStream::new(both, &self.tally)))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        let connection = &self.connection;
        let begin = || {
            let connection = connection.clone();
            Box::pin(async move { connection.open_uni().await }) as Pending<quinn::SendStream>
        };
        let stream = ready!(poll_pending(&mut self.one, cx, begin)).map_err(of_connection)?;
        Poll::Ready(Ok(SendStream::new(stream, &self.tally, None)))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(application_code(code.value()), reason);
    }
}

/// A connection.
pub(super) struct Connection {
    opener: Opener,
    both: Option<Pending<Both>>,
    one: Option<Pending<quinn::RecvStream>>,
}

impl Connection {
    pub(super) fn new(connection: &quinn::Connection, tally: &SharedTally) -> Connection {
        Connection { opener: Opener::new(connection, tally), both: None, one: None }
    }
}

impl quic::OpenStreams<Bytes> for Connection {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

impl quic::Connection<Bytes> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let begin = || {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_uni().await }) as Pending<quinn::RecvStream>
        };
        let stream = ready!(poll_pending(&mut self.one, cx, begin)).map_err(lost)?;
        Poll::Ready(Ok(RecvStream::new(stream, &self.opener.tally, None)))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let begin = || {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_bi().await }) as Pending<Both>
        };
        let both = ready!(poll_pending(&mut self.both, cx, begin)).map_err(lost)?;
        Poll::Ready(Ok(BidiStream::new(both, &self.opener.tally)))
    }

    fn opener(&self) -> Opener {
        self.opener.clone()
    }
}

/// A request's stream.
pub(super) struct BidiStream {
    send: SendStream,
    receive: RecvStream,
}

impl BidiStream {
    fn new((send, receive): Both, tally: &SharedTally) -> BidiStream {
        tally.borrow_mut().open.insert(id(send.id()), Default::default());
        let watch = Rc::new(Watch { tally: Rc::clone(tally), stream: id(send.id()) });
        BidiStream {
            send: SendStream::new(send, tally, Some(Rc::clone(&watch))),
            receive: RecvStream::new(receive, tally, Some(watch)),
        }
    }
}

/// Keeps a stream's meters as long as one of its directions is open.
struct Watch {
    tally: SharedTally,
    stream: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut tally = self.tally.borrow_mut();
        tally.open.remove(&self.stream);
        tally.ranks.remove(&self.stream);
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

/// What this end sends.
pub(super) struct SendStream {
    stream: quinn::SendStream,
    writing: Option<WriteBuf<Bytes>>,
    tally: SharedTally,
    _watch: Option<Rc<Watch>>,
}

impl SendStream {
    fn new(stream: quinn::SendStream, tally: &SharedTally, watch: Option<Rc<Watch>>) -> SendStream {
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
        let rank = self.tally.borrow_mut().ranks.remove(&id(self.stream.id()));
        if let Some(rank) = rank {
            // A stream that is closed already needs none.
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
        // A stream that is closed already needs no reset.
        let _ = self.stream.reset(application_code(code));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

/// What this end receives.
pub(super) struct RecvStream {
    stream: quinn::RecvStream,
    tally: SharedTally,
    _watch: Option<Rc<Watch>>,
}

impl RecvStream {
    fn new(stream: quinn::RecvStream, tally: &SharedTally, watch: Option<Rc<Watch>>) -> RecvStream {
        RecvStream { stream, tally: Rc::clone(tally), _watch: watch }
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
        if let Some(bytes) = &bytes {
            self.tally.borrow_mut().feed(stream, Way::Received, bytes);
        }
        Poll::Ready(Ok(bytes))
    }

    fn stop_sending(&mut self, code: u64) {
        // A stream that is closed already need not be stopped.
        let _ = self.stream.stop(application_code(code));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

fn id(stream: quinn::StreamId) -> u64 {
    VarInt::from(stream).into_inner()
}

fn stream_id(stream: quinn::StreamId) -> StreamId {
    StreamId::try_from(id(stream)).expect("quinn's stream ids are QUIC's")
}

fn application_code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn lost(error: quinn::ConnectionError) -> ConnectionErrorIncoming {
    match error {
        quinn::ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        quinn::ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

fn of_connection(error: quinn::ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
}

fn of_read(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        ReadError::ConnectionLost(error) => of_connection(error),
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

fn of_write(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        WriteError::ConnectionLost(error) => of_connection(error),
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}
