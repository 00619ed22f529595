//! A client's side of a connection, step by step: bytes of requests out, responses in.
//!
//! Concurrency and ordering are up to the users: [`client`](super::client), [`pipeline`](super::pipeline).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Method, Request};
use world::sim::HeldNotes;

use super::buffer::Buffer;
use super::client::Settings;
use super::codec::{BodyLength, Error, Event, ResponseDecoder, encode};
use crate::{Failure, Progress, Transport};

/// A stream to a server, and the bytes read of its responses.
#[derive(Debug)]
pub(super) struct Wire<S> {
    pub(super) stream: S,
    pub(super) decoder: ResponseDecoder,
    pub(super) input: Buffer,
    /// Receiver of notes on the unsent bytes of a request, if any.
    held: Option<HeldNotes>,
}

/// A request's outgoing bytes.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub(super) head: Vec<u8>,
    pub(super) body: Bytes,
    at: usize,
    /// True if an earlier chunk has not been ended yet.
    pub(super) is_within: bool,
}

/// Progress of reading one response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// True if a byte of it has arrived.
    begun: bool,
    persistent: bool,
}

impl Outgoing {
    /// Sets the bytes of `request`, none of them sent, reusing the memory.
    pub(super) fn fill(&mut self, request: &Request<Bytes>) {
        self.head.clear();
        encode::request_head(&mut self.head, request);
        self.body = request.body().clone();
        self.at = 0;
    }

    /// Clears it; the memory is kept.
    pub(super) fn restart(&mut self) {
        self.head.clear();
        self.body = Bytes::new();
        self.at = 0;
    }

    fn left(&self) -> usize {
        self.head.len() + self.body.len() - self.at
    }

    pub(super) fn is_sent(&self) -> bool {
        self.left() == 0
    }
}

impl<S: Transport> Wire<S> {
    pub(super) fn new(stream: S, settings: Settings) -> Wire<S> {
        Wire {
            held: stream.held(),
            stream,
            decoder: ResponseDecoder::new(settings.limits),
            input: Buffer::new(settings.read_bytes),
        }
    }

    /// Writes once. Head and body leave in one vectored write if the transport accepts them.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Outgoing,
    ) -> Poll<io::Result<()>> {
        let Outgoing { head, body, at, .. } = &*out;
        let parts = [
            IoSlice::new(&head[(*at).min(head.len())..]),
            IoSlice::new(&body[at.saturating_sub(head.len())..]),
        ];
        let parts = if body.is_empty() { &parts[..1] } else { &parts[..] };
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        if let Poll::Ready(Ok(taken)) = &written {
            out.at += taken;
        }
        if let Some(held) = &self.held {
            held.application(out.left() as u64);
        }
        match ready!(written)? {
            0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            _ => Poll::Ready(Ok(())),
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Reads once; 0 at the stream's end.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.input.poll_fill(&mut self.stream, cx)
    }

    /// Reads one response to its end; returns true if the server keeps the connection. Interim responses are skipped.
    /// `unsent` is the reason that the request could not be sent, which explains a missing response best.
    pub(super) fn poll_response(
        &mut self,
        cx: &mut Context<'_>,
        method: &Method,
        reading: &mut Reading,
        progress: &mut dyn Progress,
        unsent: Option<&io::Error>,
    ) -> Poll<Result<bool, Failure>> {
        loop {
            reading.begun |= !self.input.is_empty();
            let (used, event) =
                self.decoder.next(self.input.filled_mut(), method).map_err(protocol)?;
            let done = match event {
                Event::Head(head) if head.is_interim() => false,
                Event::Head(head) => {
                    reading.persistent = head.persistent;
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
                    match ready!(self.poll_fill(cx)) {
                        Ok(0) => return Poll::Ready(self.ended(*reading, unsent).map(|()| false)),
                        Ok(_) => continue,
                        Err(error) if reading.begun => {
                            return Poll::Ready(Err(Failure::Broken(error)));
                        }
                        Err(error) => return Poll::Ready(Err(Failure::Unanswered(error))),
                    }
                }
            };
            self.input.consume(used);
            if done {
                return Poll::Ready(Ok(reading.persistent));
            }
        }
    }

    /// Handles the server's close: the end of a body delimited by it, or a premature end.
    fn ended(&mut self, reading: Reading, unsent: Option<&io::Error>) -> Result<(), Failure> {
        match self.decoder.end() {
            Ok(()) => Ok(()),
            Err(error) if reading.begun => {
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
