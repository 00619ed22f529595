//! quinn's connections and streams as h3 wants them, with each byte counted.
//!
//! The crate `h3-quinn` does the like; ours shows how large each frame of a request is and how much has passed in all.

mod codes;
mod streams;
mod tally;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ::h3::error::Code;
use ::h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use bytes::Bytes;

use self::codes::{application_code, lost, of_connection};
pub(super) use self::streams::{BidiStream, RecvStream, SendStream};
pub(super) use self::tally::SharedTally;

/// Both directions of a stream.
type Both = (quinn::SendStream, quinn::RecvStream);

/// Something that quinn will give.
type Pending<T> = Pin<Box<dyn Future<Output = Result<T, quinn::ConnectionError>>>>;

/// Streams of one kind, one after the other.
struct Streams<T> {
    next: fn(quinn::Connection) -> Pending<T>,
    pending: Option<Pending<T>>,
}

impl<T> Streams<T> {
    const fn of(next: fn(quinn::Connection) -> Pending<T>) -> Streams<T> {
        Streams { next, pending: None }
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
pub(super) struct Opener {
    connection: quinn::Connection,
    tally: SharedTally,
    both: Streams<Both>,
    one: Streams<quinn::SendStream>,
}

impl Clone for Opener {
    fn clone(&self) -> Opener {
        Opener::new(&self.connection, &self.tally)
    }
}

impl Opener {
    fn new(connection: &quinn::Connection, tally: &SharedTally) -> Opener {
        Opener {
            connection: connection.clone(),
            tally: Rc::clone(tally),
            both: Streams::of(|connection| Box::pin(async move { connection.open_bi().await })),
            one: Streams::of(|connection| Box::pin(async move { connection.open_uni().await })),
        }
    }
}

impl quic::OpenStreams<Bytes> for Opener {
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
    opener: Opener,
    both: Streams<Both>,
    one: Streams<quinn::RecvStream>,
}

impl Connection {
    pub(super) fn new(connection: &quinn::Connection, tally: &SharedTally) -> Connection {
        Connection {
            opener: Opener::new(connection, tally),
            both: Streams::of(|connection| Box::pin(async move { connection.accept_bi().await })),
            one: Streams::of(|connection| Box::pin(async move { connection.accept_uni().await })),
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
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let stream = ready!(self.one.poll(&self.opener.connection, cx)).map_err(lost)?;
        Poll::Ready(Ok(RecvStream::new(stream, &self.opener.tally, None)))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream, ConnectionErrorIncoming>> {
        let both = ready!(self.both.poll(&self.opener.connection, cx)).map_err(lost)?;
        Poll::Ready(Ok(BidiStream::new(both, &self.opener.tally)))
    }

    fn opener(&self) -> Opener {
        self.opener.clone()
    }
}
