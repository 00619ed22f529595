//! One request and its response, and the responses that the server pushes with it.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::{PushPromises, PushedResponseFuture, ResponseFuture};
use h2::{RecvStream, SendStream};
use http::{Method, Response, Uri};

use super::{exchange, failure};
use crate::h2::metering::UnsentBody;
use crate::h2::wire::observer::SharedObserver;
use crate::message::report_coding;
use crate::{Progress, Promises, RequestError, alt_svc};

/// A stream's frame account, for the life of its exchange.
pub(super) struct StreamWatch {
    observer: SharedObserver,
    stream: u32,
}

impl StreamWatch {
    pub(super) fn new(observer: &SharedObserver, stream: u32) -> StreamWatch {
        observer.borrow_mut().watch(stream);
        StreamWatch { observer: Rc::clone(observer), stream }
    }

    fn head_bytes(&self) -> u64 {
        self.observer.borrow().received(self.stream).head_bytes
    }
}

impl Drop for StreamWatch {
    fn drop(&mut self) {
        self.observer.borrow_mut().forget(self.stream);
    }
}

/// A request being sent, and its response.
pub(super) struct H2Exchange<'a> {
    pub(super) watch: StreamWatch,
    pub(super) upload: SendStream<Bytes>,
    /// The unsent rest of the request's body.
    pub(super) body: UnsentBody,
    /// True once the request's last byte has left.
    pub(super) sent: bool,
    /// The pushes that come with the response, if they are accepted.
    pub(super) promising: Option<PromiseReceiver>,
    pub(super) progress: &'a mut dyn Progress,
}

impl H2Exchange<'_> {
    pub(super) async fn run(mut self, mut response: ResponseFuture) -> Result<(), RequestError> {
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
    watch: &StreamWatch,
    progress: &mut dyn Progress,
) -> RecvStream {
    alt_svc::tell(response.headers(), progress);
    report_coding(response.headers(), progress);
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

// Responses that the server pushes (RFC 9113 section 8.4).

/// A promised response.
pub(super) struct Pushed {
    watch: StreamWatch,
    response: PushedResponseFuture,
}

impl Pushed {
    /// The response once its head has come; `None` if the server does not send it after all.
    pub(super) async fn begun(self) -> Option<PushedResponse> {
        let Pushed { watch, response } = self;
        Some(PushedResponse { watch, response: response.await.ok()? })
    }
}

/// A pushed response whose head has come.
pub(super) struct PushedResponse {
    watch: StreamWatch,
    response: Response<RecvStream>,
}

impl PushedResponse {
    /// Reports the response until its end.
    pub(super) async fn run(self, progress: &mut dyn Progress) -> Result<(), RequestError> {
        let PushedResponse { watch, response } = self;
        let mut body = exchange::begin(response, &watch, progress);
        let received = poll_fn(|cx| exchange::poll_receive(cx, &mut body, progress)).await;
        received.map_err(|error| failure(error, true))
    }
}

/// The promises that come with the answer to one request.
pub(super) struct PromiseReceiver {
    coming: PushPromises,
    /// The request's authority.
    authority: Option<String>,
    promises: Rc<RefCell<Promises<Pushed>>>,
    observer: SharedObserver,
}

impl PromiseReceiver {
    pub(super) fn new(
        coming: PushPromises,
        request: &Uri,
        promises: &Rc<RefCell<Promises<Pushed>>>,
        observer: &SharedObserver,
    ) -> PromiseReceiver {
        let authority = request.authority().map(|authority| authority.as_str().to_owned());
        let (promises, observer) = (Rc::clone(promises), Rc::clone(observer));
        PromiseReceiver { coming, authority, promises, observer }
    }

    /// Keeps the promises received, or cancels them: dropping a response resets its stream.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(Ok(promise))) = pin!(self.coming.push_promise()).poll(cx) {
            let (request, response) = promise.into_parts();
            let mut promises = self.promises.borrow_mut();
            if request.method() == Method::GET
                && promises.takes(request.uri(), self.authority.as_deref())
            {
                let watch = StreamWatch::new(&self.observer, response.stream_id().as_u32());
                promises.keep(request.uri(), Pushed { watch, response });
            }
        }
    }
}
