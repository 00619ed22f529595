//! An HTTP/1.1 client's connection: one request at a time.
//!
//! What it leaves out: pipelining, and `Expect: 100-continue` (a body follows its head at once).

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Request;
use world::sim::HeldNotes;

use super::buffer::Buffer;
use super::codec::{BodyLength, Error, Event, Limits, ResponseDecoder, encode};
use crate::{Failure, Priority, Progress, Transport};

/// What a client sets by policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Limits on a response's head.
    pub limits: Limits,
    /// Bytes read at once, and so the largest piece of a body reported at once.
    pub read_bytes: usize,
}

impl Default for Settings {
    /// 16 KiB a read: the size of a TLS record, so that a piece is reported when it is decrypted.
    fn default() -> Settings {
        Settings { limits: Limits::CLIENT, read_bytes: 16 * 1024 }
    }
}

/// A connection to a server, over plain TCP or TLS.
#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    decoder: ResponseDecoder,
    input: Buffer,
    head: Vec<u8>,
    /// Where to note what is left of a request, if somebody wants to know.
    held: Option<HeldNotes>,
    reusable: bool,
}

impl<S: Transport> Connection<S> {
    /// Wraps a stream on which nothing has been sent.
    pub fn new(stream: S, settings: Settings) -> Connection<S> {
        Connection {
            held: stream.held(),
            stream,
            decoder: ResponseDecoder::new(settings.limits),
            input: Buffer::new(settings.read_bytes),
            head: Vec::new(),
            reusable: true,
        }
    }

    /// The stream below.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Whether another request may be sent: the last exchange left the connection open and in order,
    /// and the server has neither closed it since nor sent anything unasked (RFC 9112 section 9.5).
    pub fn is_reusable(&mut self) -> bool {
        if self.reusable && self.input.is_empty() {
            let mut cx = Context::from_waker(Waker::noop());
            self.reusable = self.input.poll_fill(&mut self.stream, &mut cx).is_pending();
        }
        self.reusable && self.input.is_empty()
    }

    /// Sends `request` and reports its response to `progress`; interim responses are skipped. Head and body leave in
    /// one vectored write if the transport takes them. HTTP/1 does not transmit the `priority`.
    ///
    /// # Errors
    /// See [`Failure`]; the connection is not reusable then, nor if the future is dropped before its end.
    pub async fn fetch(
        &mut self,
        request: &Request<Bytes>,
        _priority: Priority,
        progress: &mut dyn Progress,
    ) -> Result<(), Failure> {
        self.reusable = false;
        let sent = self.send(request, progress).await;
        // A server may answer, and close, before it has read the whole request: RFC 9112 section 9.5.
        let persistent = self.receive(request, progress, sent.as_ref().err()).await?;
        self.reusable = persistent && matches!(sent, Ok(Sent::Whole)) && self.input.is_empty();
        Ok(())
    }

    async fn send(
        &mut self,
        request: &Request<Bytes>,
        progress: &mut dyn Progress,
    ) -> io::Result<Sent> {
        self.head.clear();
        encode::request_head(&mut self.head, request);
        let (head, body) = (self.head.as_slice(), request.body().as_ref());
        let mut at = 0;
        while at < head.len() + body.len() {
            let (stream, input, held) = (&mut self.stream, &mut self.input, &self.held);
            let step = poll_fn(|cx| {
                let parts = [
                    IoSlice::new(&head[at.min(head.len())..]),
                    IoSlice::new(&body[at.saturating_sub(head.len())..]),
                ];
                let parts = if body.is_empty() { &parts[..1] } else { &parts[..] };
                let written = Pin::new(&mut *stream).poll_write_vectored(cx, parts);
                if let Some(held) = held {
                    let taken = match &written {
                        Poll::Ready(Ok(taken)) => *taken,
                        _ => 0,
                    };
                    held.application((head.len() + body.len() - at - taken) as u64);
                }
                if let Poll::Ready(written) = written {
                    return Poll::Ready(written.map(Step::Wrote));
                }
                // RFC 9112 section 9.5: watch for an answer that makes the rest of the body pointless.
                match input.poll_fill(stream, cx) {
                    Poll::Ready(_) => Poll::Ready(Ok(Step::Answered)),
                    Poll::Pending => Poll::Pending,
                }
            });
            match step.await? {
                Step::Wrote(0) => return Err(io::ErrorKind::WriteZero.into()),
                Step::Wrote(bytes) => at += bytes,
                Step::Answered => return Ok(Sent::Part),
            }
        }
        let stream = &mut self.stream;
        poll_fn(|cx| Pin::new(&mut *stream).poll_flush(cx)).await?;
        progress.sent(head.len() as u64, body.len() as u64);
        Ok(Sent::Whole)
    }

    /// Reads one response; gives whether the server keeps the connection. `unsent` is why the
    /// request could not be sent, which explains a missing response best.
    async fn receive(
        &mut self,
        request: &Request<Bytes>,
        progress: &mut dyn Progress,
        unsent: Option<&io::Error>,
    ) -> Result<bool, Failure> {
        let (mut begun, mut persistent) = (false, false);
        loop {
            begun |= !self.input.is_empty();
            let (used, event) =
                self.decoder.next(self.input.filled_mut(), request.method()).map_err(protocol)?;
            let done = match event {
                Event::Head(head) if head.is_interim() => false,
                Event::Head(head) => {
                    persistent = head.persistent;
                    progress.head(head.status, used as u64);
                    head.body == BodyLength::None
                }
                Event::Data(piece) => {
                    progress.data(piece);
                    false
                }
                Event::End => true,
                Event::More => {
                    self.input.consume(used);
                    match self.read().await {
                        Ok(0) => return self.ended(begun, unsent).map(|()| false),
                        Ok(_) => continue,
                        Err(error) if begun => return Err(Failure::Broken(error)),
                        Err(error) => return Err(Failure::Unanswered(error)),
                    }
                }
            };
            self.input.consume(used);
            if done {
                return Ok(persistent);
            }
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        poll_fn(|cx| self.input.poll_fill(&mut self.stream, cx)).await
    }

    /// The server closed the connection: the end of a body that runs until then, or too early.
    fn ended(&mut self, begun: bool, unsent: Option<&io::Error>) -> Result<(), Failure> {
        match self.decoder.end() {
            Ok(()) => Ok(()),
            Err(error) if begun => {
                Err(Failure::Broken(io::Error::new(io::ErrorKind::UnexpectedEof, error)))
            }
            Err(_) => Err(Failure::Unanswered(match unsent {
                Some(error) => io::Error::new(error.kind(), error.to_string()),
                None => io::ErrorKind::UnexpectedEof.into(),
            })),
        }
    }
}

fn protocol(error: Error) -> Failure {
    Failure::Protocol(error.to_string())
}

/// How much of a request was sent.
enum Sent {
    Whole,
    /// The server answered first.
    Part,
}

/// What happened while sending.
enum Step {
    Wrote(usize),
    /// The server sent something, or closed its direction.
    Answered,
}
