//! One exchange with streamed bodies, for intermediaries.
//!
//! A piece of the response's body counts as consumed when it is handed out, and the request's body is polled for a
//! piece when the windows have released the one before: either side is limited to the other's pace, one window later.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::h2::{RecvStream, SendStream};
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{Request, Response, StatusCode};

use super::priority_tree::PriorityNode;
use super::{Handle, failure};
use crate::client::stream_limit::StreamPermit;
use crate::client::streamed::ContinueWait;
use crate::server::{Body, BodyError, RequestBody};
use crate::{Precedence, RequestError};

/// A response whose head has come. Dropping it before its end resets its stream.
pub struct Incoming {
    body: RecvStream,
    upload: H2Upload,
    is_ended: bool,
    _permit: StreamPermit,
    _branch: Option<PriorityNode>,
}

/// The rest of a request's body.
struct H2Upload {
    stream: SendStream<Bytes>,
    source: Option<RequestBody>,
    /// A piece from the source that the windows have not released.
    piece: Bytes,
    continue_wait: ContinueWait,
}

impl Handle {
    /// Sends `request`, whose URI is absolute, with `body`, and returns the response when its head has come, with the
    /// size of its body if the head tells it. Waits for a stream as [`Handle::fetch`] does. With `Expect: 100-continue`
    /// the body waits until the server wants it. `inform` receives interim responses except 100.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn exchange(
        &self,
        request: &Request<()>,
        body: Option<RequestBody>,
        precedence: impl Into<Precedence>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<(Response<()>, Option<u64>, Incoming), RequestError> {
        let precedence = precedence.into();
        let length = body.as_ref().map_or(Some(0), RequestBody::length);
        let head = crate::message::streamed_head(request, length)?;
        let Ok(permit) = self.stream_limit.acquire(precedence.level).await else {
            return Err(RequestError::Unanswered(io::ErrorKind::NotConnected.into()));
        };
        let mut requests = self.requests.clone();
        poll_fn(|cx| requests.poll_ready(cx)).await.map_err(|e| failure(e, false))?;
        let (mut response, stream) =
            requests.send_request(head, body.is_none()).map_err(|e| failure(e, false))?;
        let id = response.stream_id().as_u32();
        let branch = self.tree.as_ref().map(|tree| tree.open(id, precedence));
        let continue_wait =
            body.as_ref().map(|_| ContinueWait::of(request.headers())).unwrap_or_default();
        let mut upload = H2Upload { stream, source: body, piece: Bytes::new(), continue_wait };
        let head = poll_fn(|cx| {
            if let Poll::Ready(Some(told)) = response.poll_informational(cx) {
                let told = told.map_err(|error| failure(error, false))?;
                match told.status() {
                    StatusCode::CONTINUE => drop(upload.continue_wait.end()),
                    _ => inform(told),
                }
                // One at a time: the receiver may be slower.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Poll::Ready(Err(error)) = upload.poll(cx) {
                let message = format!("the request's body broke off: {error}");
                return Poll::Ready(Err(RequestError::Unsendable(message)));
            }
            Pin::new(&mut response).poll(cx).map_err(|error| failure(error, false))
        })
        .await?;
        if upload.continue_wait.end() {
            // The server does not want the body. The unfinished stream is reset at the end of the response.
            upload.give_up();
        }
        let (parts, body) = head.into_parts();
        let told =
            parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let is_ended = body.is_end_stream();
        let length = if is_ended { Some(0) } else { told };
        let incoming = Incoming { body, upload, is_ended, _permit: permit, _branch: branch };
        Ok((Response::from_parts(parts, ()), length, incoming))
    }
}

impl Incoming {
    /// Returns true once the response has ended.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }
}

impl H2Upload {
    /// Passes on as much as is available and the windows allow; ready when that is all, or the rest is unwanted.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        ready!(self.continue_wait.poll_over(cx));
        loop {
            while !self.piece.is_empty() {
                self.stream.reserve_capacity(self.piece.len());
                let Some(Ok(capacity)) = ready!(self.stream.poll_capacity(cx)) else {
                    // The server's view of the rest shows in the response.
                    self.give_up();
                    return Poll::Ready(Ok(()));
                };
                let piece = self.piece.split_to(capacity.min(self.piece.len()));
                if self.stream.send_data(piece, false).is_err() {
                    self.give_up();
                }
            }
            let Some(source) = &mut self.source else { return Poll::Ready(Ok(())) };
            match ready!(source.poll_next(cx)) {
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => {
                    self.stream.send_reset(::h2::Reason::CANCEL);
                    self.give_up();
                    return Poll::Ready(Err(error));
                }
                None => {
                    self.give_up();
                    // The same: errors show in the response.
                    drop(self.stream.send_data(Bytes::new(), true));
                }
            }
        }
    }

    fn give_up(&mut self) {
        self.source = None;
        self.piece.clear();
    }
}

impl Body for Incoming {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.is_ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(Err(error)) = self.upload.poll(cx) {
            self.is_ended = true;
            return Poll::Ready(Some(Err(error)));
        }
        let piece = match ready!(self.body.poll_data(cx)) {
            Some(Ok(piece)) => piece,
            Some(Err(error)) => {
                self.is_ended = true;
                return Poll::Ready(Some(Err(broken(error))));
            }
            None => {
                self.is_ended = true;
                return Poll::Ready(None);
            }
        };
        let taken = self.body.flow_control().release_capacity(piece.len());
        Poll::Ready(Some(taken.map(|()| piece).map_err(broken)))
    }
}

fn broken(error: ::h2::Error) -> BodyError {
    if error.is_remote() && error.is_reset() {
        return BodyError::GivenUp(error.to_string());
    }
    match error.is_io() {
        true => BodyError::Broken(error.into_io().expect("it was just found to be one")),
        false => BodyError::Malformed(error.to_string()),
    }
}
