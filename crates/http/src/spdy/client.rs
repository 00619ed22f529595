//! A SPDY client's connection: any number of concurrent requests.

mod exchange;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ::spdy::{
    CloseReason, Config, Event, Message, OpenError, Recall, ResetReason, Role, Session, StreamId,
    Version, message,
};
use bytes::Bytes;
use http::Request;

use self::exchange::SpdyExchange;
use super::SessionWire;
use crate::client::stream_limit::StreamLimit;
use crate::{Precedence, Progress, Promises, PushFilter, RequestError, Transport};
use exchange::{Inboxes, SpdyClosure};

/// Starts SPDY on `stream`. The first result sends requests; the second drives the connection and must be spawned. It
/// completes when the connection has ended; this end closes it when the last handle is dropped.
pub fn connect<S: Transport>(
    stream: S,
    version: Version,
    config: Config,
) -> (Handle, impl Future<Output = Result<(), RequestError>> + use<S>) {
    connect_wanting(stream, version, config, None, None)
}

/// The same, with the pushed streams that are `wanted`, by default none, and header blocks cached in `recall`.
pub(crate) fn connect_wanting<S: Transport>(
    stream: S,
    version: Version,
    config: Config,
    wanted: Option<PushFilter>,
    recall: Option<&Recall>,
) -> (Handle, impl Future<Output = Result<(), RequestError>> + use<S>) {
    let promises = wanted.map(Promises::new);
    // The number of requests that a server accepts.
    let streams = if promises.is_some() { Config::SERVER.streams } else { config.streams };
    let config = Config { streams, ..config };
    let session = Session::recalling(Role::Client, version, config, recall);
    let stream_limit = StreamLimit::new(session.allowed_streams() as usize);
    let state = SpdyClientState {
        session,
        inboxes: Inboxes::default(),
        promises,
        driver: None,
        heads: VecDeque::new(),
    };
    let shared = Rc::new(RefCell::new(state));
    let handle = Handle {
        shared: SharedClientState(Rc::clone(&shared)),
        stream_limit: stream_limit.clone(),
    };
    let mut driver =
        Driver { wire: SessionWire::new(stream, config.chunk_bytes), shared, stream_limit };
    (handle, async move { poll_fn(|cx| driver.poll(cx)).await })
}

/// The shared state of requests and the driver.
struct SpdyClientState {
    session: Session,
    inboxes: Inboxes,
    /// Pushed streams, if they are accepted.
    promises: Option<Promises<StreamId>>,
    driver: Option<Waker>,
    /// Ends of requests' heads in the session's output.
    heads: VecDeque<u64>,
}

impl SpdyClientState {
    /// Delivers events to the requests.
    fn deliver(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Opened { stream, associated, fields, fin, wire_bytes, .. } => {
                    self.on_promise(associated, Message { stream, fields, fin, wire_bytes });
                }
                event => self.inboxes.deliver(event, &mut self.session),
            }
        }
    }

    /// Keeps a promise, or cancels it.
    fn on_promise(&mut self, request: StreamId, promise: Message) {
        let (version, stream) = (self.session.version(), promise.stream);
        let uri = super::promised(version, &promise.fields);
        if let (Some(promises), Some(uri)) = (&mut self.promises, uri)
            && promises.takes(&uri, self.inboxes.authority(request))
        {
            promises.keep(&uri, stream);
            let is_answered = message::read_status(version, &promise.fields).is_ok();
            self.inboxes.open_pushed(stream, is_answered.then_some(promise));
        } else {
            self.session.reset(stream, ResetReason::CANCEL);
        }
    }

    /// Wakes the driver to send queued output.
    fn send_queued(&mut self) {
        if !self.session.output().is_empty() {
            self.wake_driver();
        }
    }

    fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }
}

/// A reference to the connection. The driver notices when the last is dropped.
#[derive(Clone)]
struct SharedClientState(Rc<RefCell<SpdyClientState>>);

impl Drop for SharedClientState {
    fn drop(&mut self) {
        self.0.borrow_mut().wake_driver();
    }
}

/// Sends requests on one connection. Clones share it.
#[derive(Clone)]
pub struct Handle {
    shared: SharedClientState,
    stream_limit: StreamLimit,
}

impl Handle {
    /// Returns true if the connection takes new requests: it is open and the server has sent no GOAWAY.
    pub fn is_usable(&self) -> bool {
        !self.stream_limit.is_closed()
    }

    /// Sends `request` and reports its response to `progress`. At the server's stream limit the request waits, the most
    /// urgent first. Dropping the future resets the stream.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn fetch(
        &self,
        request: &Request<Bytes>,
        precedence: impl Into<Precedence>,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        let precedence = precedence.into();
        if let Some(stream) = self.claim(request) {
            progress.admitted();
            progress.sent(0, 0);
            return SpdyExchange::new(&self.shared.0, stream, (0, 0), progress).run().await;
        }
        let Ok(_permit) = self.stream_limit.acquire(precedence.level).await else {
            return Err(RequestError::Unanswered(io::ErrorKind::NotConnected.into()));
        };
        progress.admitted();
        let (stream, head_bytes) = self.open(request, precedence)?;
        let body_bytes = request.body().len() as u64;
        SpdyExchange::new(&self.shared.0, stream, (head_bytes, body_bytes), progress).run().await
    }

    /// The pushed response to `request`, if there is one.
    fn claim(&self, request: &Request<Bytes>) -> Option<StreamId> {
        self.shared.0.borrow_mut().promises.as_mut()?.claim(request)
    }

    fn open(
        &self,
        request: &Request<Bytes>,
        precedence: Precedence,
    ) -> Result<(StreamId, u64), RequestError> {
        let state = &mut *self.shared.0.borrow_mut();
        let fields = super::of_request(state.session.version(), request)?;
        let body = request.body();
        // Version 2 has 0 to 3; the frame's encoder clamps it.
        let priority = ::spdy::Priority::new(precedence.spdy);
        let opened = state.session.open(&fields, priority, body.is_empty());
        let opened = opened.map_err(unopened)?;
        // Each request's head is written separately, as in Chrome: without Nagle's algorithm it is then a segment.
        state.heads.push_back(state.session.output().queued());
        if !body.is_empty() {
            let sent = state.session.send(opened.stream, body.clone(), true);
            sent.expect("a stream that was just opened takes data");
        }
        state.inboxes.open(opened.stream, request.uri().authority().cloned());
        state.send_queued();
        Ok((opened.stream, opened.wire_bytes as u64))
    }
}

fn unopened(error: OpenError) -> RequestError {
    match error {
        OpenError::Fields(error) => RequestError::Unsendable(error.to_string()),
        error => RequestError::Unanswered(io::Error::other(error)),
    }
}

/// Drives the connection for all its requests.
struct Driver<S> {
    wire: SessionWire<S>,
    shared: Rc<RefCell<SpdyClientState>>,
    stream_limit: StreamLimit,
}

impl<S: Transport> Driver<S> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RequestError>> {
        let ended = self.poll_session(cx);
        if ended.is_ready() {
            self.stream_limit.close();
            self.shared.borrow_mut().inboxes.close(SpdyClosure::Transport);
        }
        ended
    }

    fn poll_session(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RequestError>> {
        let is_unused = Rc::strong_count(&self.shared) == 1;
        let state = &mut *self.shared.borrow_mut();
        state.driver = Some(cx.waker().clone());
        let read = self.wire.poll_read(&mut state.session, cx);
        state.deliver();
        if is_unused {
            state.session.go_away(CloseReason::OK);
        }
        state.heads.drain(..).for_each(|end| self.wire.end_write_at(end));
        let written = self.wire.poll_write(&mut state.session, cx);
        // The write may have sent a request's last byte.
        state.deliver();
        self.stream_limit.set_limit(state.session.allowed_streams() as usize);
        if !state.session.is_open() {
            self.stream_limit.close();
        }
        if let Poll::Ready(written) = written {
            written.map_err(RequestError::Broken)?;
            // The GOAWAY with the reason, or for the end, has been written.
            if is_unused || state.session.has_failed() {
                return self.wire.poll_shutdown(cx).map_err(RequestError::Broken);
            }
        }
        read.map_err(RequestError::Broken)
    }
}
