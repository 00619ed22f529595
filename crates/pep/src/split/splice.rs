//! A TCP connection joined to a stream of the leg. The same at both ends.
//!
//! ```text
//!   TCP read -> piece -> (stream's window has room) -> DATA        at its end: END_STREAM
//!   DATA -> TCP write -> (taken by TCP) -> WINDOW_UPDATE           at its end: FIN
//! ```
//!
//! Each direction holds one piece, and beyond that as much as the stream's window allows: a slow reader stops the writer, across the leg.
//! Each direction ends by itself (half-close). A reset on either side becomes a reset on the other (RFC 9113 section 8.5:
//! `CONNECT_ERROR`), so that a broken connection is not taken for one that ended.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use units::Time;
use world::TcpStream;

use super::ResetOnDrop;
use crate::admin::Counters;
use crate::leg::PIECE_BYTES;

/// Outcome of a spliced connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpliceEnd {
    /// Both directions came to their ends.
    Orderly,
    /// The TCP connection broke.
    TcpBroke,
    /// The stream was reset or its leg was lost.
    StreamBroke,
    /// Nothing passed for too long.
    Idle,
}

/// Bytes passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PassedBytes {
    /// From TCP to the leg.
    sent: u64,
    /// From the leg to TCP.
    received: u64,
}

/// A TCP connection and a stream, being joined.
pub(crate) struct Splice {
    tcp: ResetOnDrop,
    stream: SendStream<Bytes>,
    out: OutState,
    back: BackState,
    idle: Duration,
    active_at: Time,
    timer: world::Sleep,
    passed: PassedBytes,
    counters: Rc<Counters>,
}

/// From TCP to the stream.
enum OutState {
    Reading,
    Sending(Bytes),
    Done,
}

/// From the stream to TCP.
enum BackState {
    /// Waiting for the far end to report that it is connected.
    Opening(h2::client::ResponseFuture),
    Receiving(RecvStream),
    Writing(RecvStream, Bytes),
    Done,
}

impl Splice {
    /// The near end's splice: the client's data leaves at once (`first` before all else), the server's comes after the far end's
    /// answer.
    pub(crate) fn opening(
        tcp: TcpStream,
        stream: SendStream<Bytes>,
        answer: h2::client::ResponseFuture,
        first: Bytes,
        idle: Duration,
        counters: &Rc<Counters>,
    ) -> Splice {
        let mut splice = Splice::new(tcp, stream, BackState::Opening(answer), idle, counters);
        if !first.is_empty() {
            splice.out = OutState::Sending(first);
        }
        splice
    }

    /// The far end's splice.
    pub(crate) fn accepted(
        tcp: TcpStream,
        stream: SendStream<Bytes>,
        body: RecvStream,
        idle: Duration,
        counters: &Rc<Counters>,
    ) -> Splice {
        Splice::new(tcp, stream, BackState::Receiving(body), idle, counters)
    }

    fn new(
        tcp: TcpStream,
        stream: SendStream<Bytes>,
        back: BackState,
        idle: Duration,
        counters: &Rc<Counters>,
    ) -> Splice {
        let (active_at, timer) = (world::now(), world::sleep(idle));
        let passed = PassedBytes::default();
        let tcp = ResetOnDrop::new(tcp);
        let (out, counters) = (OutState::Reading, Rc::clone(counters));
        Splice { tcp, stream, out, back, idle, active_at, timer, passed, counters }
    }

    /// Joins them until both directions have ended or something breaks. Bytes are counted as they pass.
    pub(crate) async fn run(mut self) -> SpliceEnd {
        let ended = std::future::poll_fn(|cx| self.poll(cx)).await;
        match ended {
            SpliceEnd::Orderly => drop(self.tcp.release()),
            SpliceEnd::TcpBroke | SpliceEnd::Idle => self.stream.send_reset(Reason::CONNECT_ERROR),
            SpliceEnd::StreamBroke => self.stream.send_reset(Reason::CANCEL),
        }
        ended
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<SpliceEnd> {
        let before = self.passed;
        let (out, back) = (self.poll_out(cx), self.poll_back(cx));
        self.counters.sent_bytes.add(self.passed.sent - before.sent);
        self.counters.received_bytes.add(self.passed.received - before.received);
        if let Poll::Ready(Err(ended)) = back {
            return Poll::Ready(ended);
        }
        if let Poll::Ready(Err(ended)) = out {
            return Poll::Ready(ended);
        }
        if out.is_ready() && back.is_ready() {
            return Poll::Ready(SpliceEnd::Orderly);
        }
        if self.passed != before {
            self.active_at = world::now();
        }
        self.poll_idle(cx)
    }

    /// The timer is reset only when it expires: most of the time, nothing has to be done.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<SpliceEnd> {
        loop {
            ready!(Pin::new(&mut self.timer).poll(cx));
            let due = self.active_at + self.idle;
            if due <= world::now() {
                return Poll::Ready(SpliceEnd::Idle);
            }
            self.timer = world::sleep_until(due);
        }
    }

    fn poll_out(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SpliceEnd>> {
        loop {
            match &mut self.out {
                OutState::Reading => {
                    if self.stream.poll_reset(cx).is_ready() {
                        return Poll::Ready(Err(SpliceEnd::StreamBroke));
                    }
                    let piece = ready!(read(&mut self.tcp, cx)).map_err(|_| SpliceEnd::TcpBroke)?;
                    if piece.is_empty() {
                        let sent = self.stream.send_data(piece, true);
                        sent.map_err(|_| SpliceEnd::StreamBroke)?;
                        self.out = OutState::Done;
                    } else {
                        self.out = OutState::Sending(piece);
                    }
                }
                OutState::Sending(piece) => {
                    // Reserved only when there is something to send: a reservation takes room from the other streams.
                    self.stream.reserve_capacity(piece.len());
                    let room = ready!(room(&mut self.stream, cx)).ok_or(SpliceEnd::StreamBroke)?;
                    let part = piece.split_to(room.min(piece.len()));
                    self.passed.sent += part.len() as u64;
                    self.stream.send_data(part, false).map_err(|_| SpliceEnd::StreamBroke)?;
                    if piece.is_empty() {
                        self.out = OutState::Reading;
                    }
                }
                OutState::Done => return Poll::Ready(Ok(())),
            }
        }
    }

    fn poll_back(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SpliceEnd>> {
        loop {
            match std::mem::replace(&mut self.back, BackState::Done) {
                BackState::Opening(mut answer) => match Pin::new(&mut answer).poll(cx) {
                    Poll::Pending => {
                        self.back = BackState::Opening(answer);
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok(answer)) if answer.status() == http::StatusCode::OK => {
                        self.back = BackState::Receiving(answer.into_body());
                    }
                    Poll::Ready(_) => return Poll::Ready(Err(SpliceEnd::StreamBroke)),
                },
                BackState::Receiving(mut body) => match body.poll_data(cx) {
                    Poll::Pending => {
                        self.back = BackState::Receiving(body);
                        return Poll::Pending;
                    }
                    Poll::Ready(None) => {
                        let closed = Pin::new(&mut *self.tcp).poll_shutdown(cx);
                        ready!(closed).map_err(|_| SpliceEnd::TcpBroke)?;
                    }
                    Poll::Ready(Some(Ok(piece))) => self.back = BackState::Writing(body, piece),
                    Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(SpliceEnd::StreamBroke)),
                },
                BackState::Writing(mut body, mut piece) => {
                    let Poll::Ready(written) = self.tcp.poll_write_bytes(cx, &mut piece) else {
                        self.back = BackState::Writing(body, piece);
                        return Poll::Pending;
                    };
                    let written = written.map_err(|_| SpliceEnd::TcpBroke)?;
                    self.passed.received += written as u64;
                    // Only bytes that TCP has taken make room: the window bounds the bytes buffered here.
                    let released = body.flow_control().release_capacity(written);
                    released.map_err(|_| SpliceEnd::StreamBroke)?;
                    self.back = if piece.is_empty() {
                        BackState::Receiving(body)
                    } else {
                        BackState::Writing(body, piece)
                    };
                }
                BackState::Done => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// Number of reserved bytes that the stream takes now; `None` if it broke.
pub(crate) fn room(stream: &mut SendStream<Bytes>, cx: &mut Context<'_>) -> Poll<Option<usize>> {
    // h2 reports room only once: the rest must be queried.
    match stream.capacity() {
        0 => stream.poll_capacity(cx).map(|room| room.and_then(Result::ok)),
        room => Poll::Ready(Some(room)),
    }
}

/// Reads the next piece, as large as one frame; empty at the end.
fn read(tcp: &mut TcpStream, cx: &mut Context<'_>) -> Poll<std::io::Result<Bytes>> {
    let mut room = [0; PIECE_BYTES];
    let mut buffer = ReadBuf::new(&mut room);
    ready!(Pin::new(tcp).poll_read(cx, &mut buffer))?;
    Poll::Ready(Ok(Bytes::copy_from_slice(buffer.filled())))
}
