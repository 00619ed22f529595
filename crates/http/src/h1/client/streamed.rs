//! One exchange with streamed bodies, for intermediaries.
//!
//! The response is available before the request's body has been sent, and the two bodies progress concurrently. The
//! server is read only on demand, and the request's body is polled for a piece only after the transport has accepted
//! the one before: either side is limited to the other's pace. A body of known length is sent by length, any other
//! chunked (RFC 9112 section 6).
//!
//! Left out: trailers, which are checked and discarded.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::UPGRADE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};

use super::Connection;
use super::RequestOutput;
use crate::client::streamed::ContinueWait;
use crate::h1::codec::{self, BodyLength, CodecEvent, encode};
use crate::server::{Body, BodyError, RequestBody};
use crate::{RequestError, Transport};

/// A response whose head has come; it owns the connection until its end.
pub struct Incoming<S> {
    connection: Connection<S>,
    method: Method,
    upload: RequestUpload,
    download: DownloadState,
    /// True if the server keeps the connection.
    persistent: bool,
    /// True if any byte of the response has come.
    is_begun: bool,
}

/// Progress of the response's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DownloadState {
    Coming,
    Ended,
    Failed,
}

/// Progress of the request.
struct RequestUpload {
    /// The rest of the body, if the request has one that has not ended.
    body: Option<RequestBody>,
    framing: encode::Framing,
    /// True if the transport has accepted all of it.
    is_flushed: bool,
    continue_wait: ContinueWait,
}

impl<S: Transport> Connection<S> {
    /// Sends `request` with `body`, and returns the response when its head has come, with the size of its body if the
    /// head tells it. The fields of `request` that frame a message are replaced. With `Expect: 100-continue` the body
    /// waits until the server wants it. With `Upgrade`, the answer may be 101.
    ///
    /// # Errors
    /// See [`RequestError`]; the connection is gone then.
    pub async fn exchange(
        self,
        request: &Request<()>,
        body: Option<RequestBody>,
    ) -> Result<(Response<()>, Option<u64>, Incoming<S>), RequestError> {
        self.exchange_informed(request, body, &mut |_| {}).await
    }

    /// The same; `inform` receives interim responses except 100.
    ///
    /// # Errors
    /// As above.
    pub async fn exchange_informed(
        mut self,
        request: &Request<()>,
        body: Option<RequestBody>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<(Response<()>, Option<u64>, Incoming<S>), RequestError> {
        let framing = encode::Framing::of(request.method(), body.as_ref().map(RequestBody::length));
        self.reusable = false;
        self.out.begin(|head| encode::request_head_framed(head, request, framing));
        let is_persistent = request.version() != Version::HTTP_10;
        if request.headers().contains_key(UPGRADE) {
            self.wire.decoder.may_switch();
        }
        let continue_wait =
            body.as_ref().map(|_| ContinueWait::of(request.headers())).unwrap_or_default();
        let mut exchange = Incoming {
            connection: self,
            method: request.method().clone(),
            upload: RequestUpload { body, framing, is_flushed: false, continue_wait },
            download: DownloadState::Coming,
            persistent: is_persistent,
            is_begun: false,
        };
        let (head, length) = poll_fn(|cx| exchange.poll_head(cx, inform)).await?;
        Ok((head, length, exchange))
    }
}

impl<S: Transport> Incoming<S> {
    /// Returns true once the response has ended.
    pub fn is_ended(&self) -> bool {
        self.download != DownloadState::Coming
    }

    /// The connection, if it is reusable now that this response has ended.
    pub fn into_connection(self) -> Option<Connection<S>> {
        let Incoming { mut connection, upload, download, persistent, .. } = self;
        let is_done = download == DownloadState::Ended && upload.is_done() && persistent;
        connection.reusable = is_done && connection.wire.input.is_empty();
        connection.reusable.then_some(connection)
    }

    /// The stream after a 101 and the bytes already received in the protocol that the server has switched to.
    pub fn into_switched(self) -> (S, Bytes) {
        self.connection.into_stream()
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Poll<Result<HeadAndLength, RequestError>> {
        // RFC 9112 section 9.5: a response may come although the request could not be sent.
        let unsent = match self.poll_upload(cx) {
            Poll::Ready(Err(Unsent::Source(error))) => {
                let message = format!("the request's body broke off: {error}");
                return Poll::Ready(Err(RequestError::Unsendable(message)));
            }
            Poll::Ready(Err(Unsent::Transport(error))) => Some(error),
            _ => None,
        };
        loop {
            let wire = &mut self.connection.wire;
            self.is_begun |= !wire.input.is_empty();
            let begun = self.is_begun;
            let next = wire.decoder.next(wire.input.filled_mut(), &self.method);
            let (used, event) = next.map_err(|error| RequestError::Protocol(error.to_string()))?;
            let head = match event {
                CodecEvent::Head(head) if head.is_interim() => {
                    match head.status {
                        100 => drop(self.upload.continue_wait.end()),
                        _ => inform(response(&head)?),
                    }
                    wire.input.consume(used);
                    // One at a time: the receiver may be slower.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                CodecEvent::Head(head) => {
                    if self.upload.continue_wait.end() {
                        // The server does not want the body, and still waits for it.
                        self.upload.body = None;
                        self.persistent = false;
                    }
                    self.persistent &= head.persistent && head.status != 101;
                    if head.body == BodyLength::None {
                        self.download = DownloadState::Ended;
                    }
                    let length = match head.body {
                        BodyLength::None => Some(0),
                        BodyLength::Exactly(bytes) => Some(bytes),
                        BodyLength::Chunked | BodyLength::UntilClose => None,
                    };
                    (response(&head)?, length)
                }
                CodecEvent::More => {
                    wire.input.consume(used);
                    match ready!(wire.poll_fill(cx)) {
                        Ok(1..) => continue,
                        Ok(0) if !begun => {
                            let error =
                                unsent.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                            return Poll::Ready(Err(RequestError::Unanswered(error)));
                        }
                        Ok(0) => {
                            let error = io::ErrorKind::UnexpectedEof.into();
                            return Poll::Ready(Err(RequestError::Broken(error)));
                        }
                        Err(error) if begun => {
                            return Poll::Ready(Err(RequestError::Broken(error)));
                        }
                        Err(error) => return Poll::Ready(Err(RequestError::Unanswered(error))),
                    }
                }
                CodecEvent::Data(_) | CodecEvent::End => {
                    unreachable!("a decoder between messages finds heads")
                }
            };
            wire.input.consume(used);
            return Poll::Ready(Ok(head));
        }
    }

    /// Sends as much of the request as its source has and the transport accepts; ready when all of it is sent.
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
            if self.upload.continue_wait.poll_over(cx).is_pending() {
                ready!(wire.poll_flush(cx)).map_err(Unsent::Transport)?;
                return Poll::Pending;
            }
            let Poll::Ready(piece) = body.poll_next(cx) else {
                // Written bytes must not stay in TLS while the source is slow.
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

impl RequestUpload {
    fn is_done(&self) -> bool {
        self.body.is_none() && self.is_flushed
    }
}

/// The reason that a request could not be sent.
enum Unsent {
    /// Its body ended early.
    Source(BodyError),
    /// The transport failed.
    Transport(io::Error),
}

impl<S: Transport> Body for Incoming<S> {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.download != DownloadState::Coming {
            return Poll::Ready(None);
        }
        if let Poll::Ready(Err(Unsent::Source(error))) = self.poll_upload(cx) {
            self.download = DownloadState::Failed;
            return Poll::Ready(Some(Err(error)));
        }
        let next = ready!(self.poll_piece(cx));
        match &next {
            None => self.download = DownloadState::Ended,
            Some(Err(_)) => self.download = DownloadState::Failed,
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
                CodecEvent::Data(piece) => Some(Some(Ok(Bytes::copy_from_slice(piece)))),
                CodecEvent::End => Some(None),
                CodecEvent::More => None,
                CodecEvent::Head(_) => unreachable!("a decoder within a body finds no head"),
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

/// A response's head, and the length of its body if known.
type HeadAndLength = (Response<()>, Option<u64>);

/// A head in the common form.
fn response(head: &codec::Response<'_>) -> Result<Response<()>, RequestError> {
    let wrong =
        |what: &str| RequestError::Protocol(format!("the response's head has a malformed {what}"));
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

/// The buffer of a request's outgoing bytes, used piece by piece.
impl RequestOutput {
    fn begin(&mut self, write_head: impl FnOnce(&mut Vec<u8>)) {
        self.restart();
        write_head(&mut self.head);
    }

    /// Sets the next piece of a body, none of it sent.
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

    /// Sets the end of a body.
    fn end(&mut self, framing: encode::Framing) {
        self.restart();
        if framing == encode::Framing::Chunked {
            self.end_chunk();
            encode::last_chunk(&mut self.head, &HeaderMap::new());
        }
    }

    /// Ends the previous chunk, if any.
    fn end_chunk(&mut self) {
        if std::mem::take(&mut self.is_within) {
            self.head.extend_from_slice(encode::CHUNK_END);
        }
    }
}
