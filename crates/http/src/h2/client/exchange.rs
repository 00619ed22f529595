//! One request and its response.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ::h2::client::ResponseFuture;
use ::h2::{RecvStream, SendStream};
use bytes::Bytes;
use http::Response;

use super::failure;
use super::pushed::Promising;
use crate::h2::backlog::Waiting;
use crate::h2::observer::Shared;
use crate::{Failure, Progress, alt_svc};

/// A stream's frame account, for the life of its exchange.
pub(super) struct Watch {
    observer: Shared,
    stream: u32,
}

impl Watch {
    pub(super) fn new(observer: &Shared, stream: u32) -> Watch {
        observer.borrow_mut().watch(stream);
        Watch { observer: Rc::clone(observer), stream }
    }

    fn head_bytes(&self) -> u64 {
        self.observer.borrow().received(self.stream).head_bytes
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.observer.borrow_mut().forget(self.stream);
    }
}

/// A request being sent, and its response.
pub(super) struct Exchange<'a> {
    pub(super) watch: Watch,
    pub(super) upload: SendStream<Bytes>,
    /// The unsent rest of the request's body.
    pub(super) body: Waiting,
    /// True once the request's last byte has left.
    pub(super) sent: bool,
    /// The pushes that come with the response, if they are accepted.
    pub(super) promising: Option<Promising>,
    pub(super) progress: &'a mut dyn Progress,
}

impl Exchange<'_> {
    pub(super) async fn run(mut self, mut response: ResponseFuture) -> Result<(), Failure> {
        let head = poll_fn(|cx| {
            self.poll_aside(cx);
            Pin::new(&mut response).poll(cx)
        });
        let response = head.await.map_err(|e| failure(e, false))?;
        let mut body = begin(response, &self.watch, self.progress);
        poll_fn(|cx| {
            self.poll_aside(cx);
            poll_receive(cx, &mut body, self.progress)
        })
        .await
        .map_err(|e| failure(e, true))
    }

    /// Drives everything beside the response.
    fn poll_aside(&mut self, cx: &mut Context<'_>) {
        self.poll_send(cx);
        if let Some(promising) = &mut self.promising {
            promising.poll(cx);
        }
    }

    /// Passes on as much of the request's body as the windows allow, and notes when its last byte has left. Errors are
    /// left to the response.
    fn poll_send(&mut self, cx: &mut Context<'_>) {
        while !self.body.is_empty() {
            self.upload.reserve_capacity(self.body.len());
            let Poll::Ready(Some(Ok(capacity))) = self.upload.poll_capacity(cx) else {
                return;
            };
            let piece = self.body.hand_over(capacity.min(self.body.len()));
            if self.upload.send_data(piece, self.body.is_empty()).is_err() {
                self.body.give_up();
            }
        }
        if !self.sent {
            let sent = self.watch.observer.borrow_mut().poll_sent(self.watch.stream, cx);
            if let Poll::Ready(sent) = sent {
                self.sent = true;
                self.progress.sent(sent.head_bytes, sent.body_bytes);
            }
        }
    }
}

/// Reports a response's head; returns its body.
pub(super) fn begin(
    response: Response<RecvStream>,
    watch: &Watch,
    progress: &mut dyn Progress,
) -> RecvStream {
    alt_svc::tell(response.headers(), progress);
    progress.head(response.status().as_u16(), watch.head_bytes());
    response.into_body()
}

/// Reports a response's body as it comes; ready at its end.
pub(super) fn poll_receive(
    cx: &mut Context<'_>,
    body: &mut RecvStream,
    progress: &mut dyn Progress,
) -> Poll<Result<(), ::h2::Error>> {
    while let Some(piece) = ready!(body.poll_data(cx)) {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        progress.data(&piece);
    }
    body.poll_trailers(cx).map_ok(drop)
}
