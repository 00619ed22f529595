//! quinn's connections and streams behind h3's traits, with every byte counted.
//!
//! The crate `h3-quinn` does the same; ours also reports the size of each frame of a request and the bytes in total.

mod streams;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ::h3::error::Code;
use ::h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId};
use bytes::Bytes;
use quinn::{ReadError, VarInt, WriteError};

pub(super) use self::streams::{BidiStream, RecvStream, SendStream};
pub(super) use streams::{ConnectionMeters, SharedMeters, StopFuture};

/// Both directions of a stream.
type BidiHalves = (quinn::SendStream, quinn::RecvStream);

/// A future of quinn's.
type PendingStream<T> = Pin<Box<dyn Future<Output = Result<T, quinn::ConnectionError>>>>;

/// Streams of one kind, in sequence.
struct StreamQueue<T> {
    next: fn(quinn::Connection) -> PendingStream<T>,
    pending: Option<PendingStream<T>>,
}

impl<T> StreamQueue<T> {
    const fn of(next: fn(quinn::Connection) -> PendingStream<T>) -> StreamQueue<T> {
        StreamQueue { next, pending: None }
    }

    fn poll(
        &mut self,
        connection: &quinn::Connection,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, quinn::ConnectionError>> {
        let pending = self.pending.get_or_insert_with(|| (self.next)(connection.clone()));
        let given = ready!(pending.as_mut().poll(cx));
        self.pending = None;
        Poll::Ready(given)
    }
}

/// Opens streams.
pub(super) struct StreamOpener {
    connection: quinn::Connection,
    tally: SharedMeters,
    both: StreamQueue<BidiHalves>,
    one: StreamQueue<quinn::SendStream>,
}

impl Clone for StreamOpener {
    fn clone(&self) -> StreamOpener {
        StreamOpener::new(&self.connection, &self.tally)
    }
}

impl StreamOpener {
    fn new(connection: &quinn::Connection, tally: &SharedMeters) -> StreamOpener {
        StreamOpener {
            connection: connection.clone(),
            tally: Rc::clone(tally),
            both: StreamQueue::of(|connection| Box::pin(async move { connection.open_bi().await })),
            one: StreamQueue::of(|connection| Box::pin(async move { connection.open_uni().await })),
        }
    }
}

impl quic::OpenStreams<Bytes> for StreamOpener {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        let both = ready!(self.both.poll(&self.connection, cx)).map_err(of_connection)?;
        Poll::Ready(Ok(BidiStream::new(both, &self.tally)))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        let stream = ready!(self.one.poll(&self.connection, cx)).map_err(of_connection)?;
        Poll::Ready(Ok(SendStream::new(stream, &self.tally, None)))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(application_code(code.value()), reason);
    }
}

/// A connection.
pub(super) struct Connection {
    opener: StreamOpener,
    requests: RequestAdmission,
    both: StreamQueue<BidiHalves>,
    one: StreamQueue<quinn::RecvStream>,
}

/// Admission of requests. Clones share it.
#[derive(Clone, Default)]
pub(super) struct RequestAdmission(Rc<Cell<(u64, Option<u64>)>>);

impl RequestAdmission {
    /// Refuses later requests, as h3's GOAWAY announces: h3 itself admits the one that it names.
    pub(super) fn refuse(&self) {
        let (next, _) = self.0.get();
        self.0.set((next, Some(next)));
    }

    /// Returns true if the request on `stream` is admitted.
    fn admits(&self, stream: u64) -> bool {
        let (next, end) = self.0.get();
        let admitted = end.is_none_or(|end| stream < end);
        if admitted {
            // RFC 9000 section 2.1: a client's bidirectional streams are numbered in steps of four.
            self.0.set((next.max(stream + 4), end));
        }
        admitted
    }
}

impl Connection {
    /// The admission of requests.
    pub(super) fn requests(&self) -> RequestAdmission {
        self.requests.clone()
    }

    pub(super) fn new(connection: &quinn::Connection, tally: &SharedMeters) -> Connection {
        Connection {
            opener: StreamOpener::new(connection, tally),
            requests: RequestAdmission::default(),
            both: StreamQueue::of(|connection| {
                Box::pin(async move { connection.accept_bi().await })
            }),
            one: StreamQueue::of(|connection| {
                Box::pin(async move { connection.accept_uni().await })
            }),
        }
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
    type OpenStreams = StreamOpener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let stream = ready!(self.one.poll(&self.opener.connection, cx)).map_err(lost)?;
        Poll::Ready(Ok(RecvStream::one_way(stream, &self.opener.tally)))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, ConnectionErrorIncoming>> {
        loop {
            let both = ready!(self.both.poll(&self.opener.connection, cx)).map_err(lost)?;
            let (number, stopped) = (id(both.0.id()), both.0.stopped());
            let mut stream = BidiStream::new(both, &self.opener.tally);
            if self.requests.admits(number) {
                let stop = Box::pin(async move { drop(stopped.await) });
                self.opener.tally.borrow_mut().note_stop(number, stop);
                return Poll::Ready(Ok(stream));
            }
            // RFC 9114 section 5.2.
            let code = Code::H3_REQUEST_REJECTED.value();
            quic::SendStream::reset(&mut stream, code);
            quic::RecvStream::stop_sending(&mut stream, code);
        }
    }

    fn opener(&self) -> StreamOpener {
        self.opener.clone()
    }
}

// quinn's ids, codes and errors as h3's.

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
