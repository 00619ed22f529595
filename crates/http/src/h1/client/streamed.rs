//! One exchange whose bodies come and go piece by piece, for whoever passes messages on.
//!
//! The response can be had before the request's body has been sent, and each body goes on while the other is used. Nothing is
//! read from the server before somebody asks for it, and no piece of the request's body is asked for before the transport took
//! the one before: either side's haste ends at the other's pace. A body of known length goes by length, any other chunked
//! (RFC 9112 section 6).
//!
//! What it leaves out: trailers, which are checked and discarded.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::UPGRADE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};

use super::Connection;
use crate::client::hold::Hold;
use crate::h1::codec::{self, BodyLength, Event, encode};
use crate::h1::exchange::Outgoing;
use crate::server::{Body, BodyError, RequestBody};
use crate::{Failure, Transport};

/// A response whose head has come; the connection belongs to it until its end.
pub struct Incoming<S> {
    connection: Connection<S>,
    method: Method,
    upload: Upload,
    download: Download,
    /// Whether the server keeps the connection.
    persistent: bool,
    /// Whether anything of an answer has come.
    is_begun: bool,
}

/// How far the response's body has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Download {
    Coming,
    Ended,
    Failed,
}

/// How far the request has gone.
struct Upload {
    /// What is left of the body, if the request has one and it is not at its end.
    body: Option<RequestBody>,
    framing: encode::Framing,
    /// Whether the transport took all of it.
    is_flushed: bool,
    hold: Hold,
}

impl<S: Transport> Connection<S> {
    /// Sends `request`, whose body is `body`, and gives the response when its head is there, with the size of its body where
    /// the head tells it. The fields of `request` that frame a message are replaced. With `Expect: 100-continue` the body waits until the
    /// server wants it. If there is `Upgrade`, the answer may be 101.
    ///
    /// # Errors
    /// See [`Failure`]; the connection is gone then.
    pub async fn exchange(
        self,
        request: &Request<()>,
        body: Option<RequestBody>,
    ) -> Result<(Response<()>, Option<u64>, Incoming<S>), Failure> {
        self.exchange_informed(request, body, &mut |_| {}).await
    }

    /// The same, where `inform` is told of interim responses but 100.
    ///
    /// # Errors
    /// As above.
    pub async fn exchange_informed(
        mut self,
        request: &Request<()>,
        body: Option<RequestBody>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<(Response<()>, Option<u64>, Incoming<S>), Failure> {
        let framing = encode::Framing::of(request.method(), body.as_ref().map(RequestBody::length));
        self.reusable = false;
        self.out.begin(|head| encode::request_head_framed(head, request, framing));
        let is_persistent = request.version() != Version::HTTP_10;
        if request.headers().contains_key(UPGRADE) {
            self.wire.decoder.may_switch();
        }
        let hold = body.as_ref().map(|_| Hold::of(request.headers())).unwrap_or_default();
        let mut exchange = Incoming {
            connection: self,
            method: request.method().clone(),
            upload: Upload { body, framing, is_flushed: false, hold },
            download: Download::Coming,
            persistent: is_persistent,
            is_begun: false,
        };
        let (head, length) = poll_fn(|cx| exchange.poll_head(cx, inform)).await?;
        Ok((head, length, exchange))
    }
}

impl<S: Transport> Incoming<S> {
    /// Whether nothing more comes.
    pub fn is_ended(&self) -> bool {
        self.download != Download::Coming
    }

    /// The connection, if another request may be sent on it now that this response is at its end.
    pub fn into_connection(self) -> Option<Connection<S>> {
        let Incoming { mut connection, upload, download, persistent, .. } = self;
        let is_done = download == Download::Ended && upload.is_done() && persistent;
        connection.reusable = is_done && connection.wire.input.is_empty();
        connection.reusable.then_some(connection)
    }

    /// What the server speaks from now on after it has answered 101: the stream, and what it has said already.
    pub fn into_switched(self) -> (S, Bytes) {
        self.connection.into_stream()
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Poll<Result<HeadAndLength, Failure>> {
        // RFC 9112 section 9.5: an answer may come although the request could not be sent.
        let unsent = match self.poll_upload(cx) {
            Poll::Ready(Err(Unsent::Source(error))) => {
                let message = format!("the request's body broke off: {error}");
                return Poll::Ready(Err(Failure::Unsendable(message)));
            }
            Poll::Ready(Err(Unsent::Transport(error))) => Some(error),
            _ => None,
        };
        loop {
            let wire = &mut self.connection.wire;
            self.is_begun |= !wire.input.is_empty();
            let begun = self.is_begun;
            let next = wire.decoder.next(wire.input.filled_mut(), &self.method);
            let (used, event) = next.map_err(|error| Failure::Protocol(error.to_string()))?;
            let head = match event {
                Event::Head(head) if head.is_interim() => {
                    match head.status {
                        100 => drop(self.upload.hold.end()),
                        _ => inform(response(&head)?),
                    }
                    wire.input.consume(used);
                    // One at a time: whoever is told of it may be slower.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Event::Head(head) => {
                    if self.upload.hold.end() {
                        // The server does not want the body, and waits for it all the same.
                        self.upload.body = None;
                        self.persistent = false;
                    }
                    self.persistent &= head.persistent && head.status != 101;
                    if head.body == BodyLength::None {
                        self.download = Download::Ended;
                    }
                    let length = match head.body {
                        BodyLength::None => Some(0),
                        BodyLength::Exactly(bytes) => Some(bytes),
                        BodyLength::Chunked | BodyLength::UntilClose => None,
                    };
                    (response(&head)?, length)
                }
                Event::More => {
                    wire.input.consume(used);
                    match ready!(wire.poll_fill(cx)) {
                        Ok(1..) => continue,
                        Ok(0) if !begun => {
                            let error =
                                unsent.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                            return Poll::Ready(Err(Failure::Unanswered(error)));
                        }
                        Ok(0) => {
                            let error = io::ErrorKind::UnexpectedEof.into();
                            return Poll::Ready(Err(Failure::Broken(error)));
                        }
                        Err(error) if begun => return Poll::Ready(Err(Failure::Broken(error))),
                        Err(error) => return Poll::Ready(Err(Failure::Unanswered(error))),
                    }
                }
                Event::Data(_) | Event::End => {
                    unreachable!("a decoder between messages finds heads")
                }
            };
            wire.input.consume(used);
            return Poll::Ready(Ok(head));
        }
    }

    /// Sends as much of the request as its source has and the transport takes; ready when that is all of it.
    fn poll_upload(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Unsent>> {
        let Connection { wire, out, .. } = &mut self.connection;
        loop {
            while !out.is_sent() {
                ready!(wire.poll_write(cx, out)).map_err(Unsent::Transport)?;
            }
            let Some(body) = &mut self.upload.body else {
                if !self.upload.is_flushed {
                    ready!(wire.poll_flush(cx)).map_err(Unsent::Transport)?;
                    self.upload.is_flushed = true;
                }
                return Poll::Ready(Ok(()));
            };
            if self.upload.hold.poll_over(cx).is_pending() {
                ready!(wire.poll_flush(cx)).map_err(Unsent::Transport)?;
                return Poll::Pending;
            }
            let Poll::Ready(piece) = body.poll_next(cx) else {
                // What was written must not lie in TLS while the source is slow.
                let flushed = wire.poll_flush(cx);
                return match flushed {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(Unsent::Transport(error))),
                    _ => Poll::Pending,
                };
            };
            match piece.transpose().map_err(Unsent::Source)? {
                Some(piece) => out.continue_with(self.upload.framing, piece),
                None => {
                    out.end(self.upload.framing);
                    self.upload.body = None;
                }
            }
        }
    }
}

impl Upload {
    fn is_done(&self) -> bool {
        self.body.is_none() && self.is_flushed
    }
}

/// Why a request could not be sent.
enum Unsent {
    /// Its body broke off.
    Source(BodyError),
    /// The transport failed.
    Transport(io::Error),
}

impl<S: Transport> Body for Incoming<S> {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.download != Download::Coming {
            return Poll::Ready(None);
        }
        if let Poll::Ready(Err(Unsent::Source(error))) = self.poll_upload(cx) {
            self.download = Download::Failed;
            return Poll::Ready(Some(Err(error)));
        }
        let next = ready!(self.poll_piece(cx));
        match &next {
            None => self.download = Download::Ended,
            Some(Err(_)) => self.download = Download::Failed,
            Some(Ok(_)) => {}
        }
        Poll::Ready(next)
    }
}

impl<S: Transport> Incoming<S> {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let wire = &mut self.connection.wire;
        loop {
            let (used, event) = match wire.decoder.next(wire.input.filled_mut(), &self.method) {
                Ok(step) => step,
                Err(error) => return Poll::Ready(Some(Err(malformed(error)))),
            };
            let piece = match event {
                Event::Data(piece) => Some(Some(Ok(Bytes::copy_from_slice(piece)))),
                Event::End => Some(None),
                Event::More => None,
                Event::Head(_) => unreachable!("a decoder within a body finds no head"),
            };
            wire.input.consume(used);
            if let Some(piece) = piece {
                return Poll::Ready(piece);
            }
            match ready!(wire.poll_fill(cx)) {
                Ok(1..) => {}
                Ok(0) => {
                    return Poll::Ready(match wire.decoder.end() {
                        Ok(()) => None,
                        Err(error) => {
                            Some(Err(io::Error::new(io::ErrorKind::UnexpectedEof, error).into()))
                        }
                    });
                }
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
    }
}

fn malformed(error: codec::Error) -> BodyError {
    BodyError::Malformed(error.to_string())
}

/// A response's head, and the length of its body if that is known.
type HeadAndLength = (Response<()>, Option<u64>);

/// A head as other protocols have it.
fn response(head: &codec::Response<'_>) -> Result<Response<()>, Failure> {
    let wrong =
        |what: &str| Failure::Protocol(format!("the response's head has a malformed {what}"));
    let mut fields = HeaderMap::with_capacity(16);
    for (name, value) in head.fields.iter() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("field"))?;
        let value = HeaderValue::from_bytes(value).map_err(|_| wrong("field"))?;
        fields.append(name, value);
    }
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(head.status).map_err(|_| wrong("status"))?;
    *response.version_mut() = match head.version {
        codec::Version::V10 => Version::HTTP_10,
        codec::Version::V11 => Version::HTTP_11,
    };
    *response.headers_mut() = fields;
    Ok(response)
}

/// The memory of a request's bytes on their way out, used piece by piece.
impl Outgoing {
    fn begin(&mut self, write_head: impl FnOnce(&mut Vec<u8>)) {
        self.restart();
        write_head(&mut self.head);
    }

    /// The next piece of a body, none of it sent.
    fn continue_with(&mut self, framing: encode::Framing, piece: Bytes) {
        self.restart();
        if framing == encode::Framing::Chunked {
            if piece.is_empty() {
                return;
            }
            self.end_chunk();
            encode::chunk_size(&mut self.head, piece.len());
            self.is_within = true;
        }
        self.body = piece;
    }

    /// What ends a body.
    fn end(&mut self, framing: encode::Framing) {
        self.restart();
        if framing == encode::Framing::Chunked {
            self.end_chunk();
            encode::last_chunk(&mut self.head, &HeaderMap::new());
        }
    }

    /// Ends the chunk that went before, if there is one.
    fn end_chunk(&mut self) {
        if std::mem::take(&mut self.is_within) {
            self.head.extend_from_slice(encode::CHUNK_END);
        }
    }
}
