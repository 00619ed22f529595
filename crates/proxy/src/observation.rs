//! Observation of the exchanges that a proxy forwards: for recorders, which keep them whole.
//!
//! A journal's entry says what became of a request; an observer sees the messages themselves, piece by piece, as they pass.
//! Times are since 1970.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_stack::server::{Body, BodyError, RequestBody};

use crate::upstream::OpenedConnection;

/// Observer of all forwarded exchanges. Shared by all cores.
pub trait ExchangeObserver: fmt::Debug + Send + Sync {
    /// Called for each request before it is sent to its origin. `at` is the arrival of its head; its URI is absolute.
    fn begin(&self, at: Duration, request: &Request<()>) -> Box<dyn ObservedExchange>;
}

/// Observer of one exchange. Dropped without an end if the client gives up.
pub trait ObservedExchange {
    /// The next bytes of the request's body.
    fn request_piece(&mut self, piece: &[u8]);

    /// The response's head.
    fn response(&mut self, response: &ObservedResponse<'_>);

    /// The next bytes of the response's body, with its content coding.
    fn response_piece(&mut self, piece: &[u8]);

    /// The end of the response, or of the attempt to get one: then `problem` says what went wrong.
    fn end(&mut self, at: Duration, problem: Option<&str>);
}

/// The beginning of a response.
#[derive(Clone, Copy, Debug)]
pub struct ObservedResponse<'a> {
    /// Status, version and fields as the origin sent them.
    pub head: &'a Response<()>,
    /// Time at which there was a connection.
    pub connected: Duration,
    /// Arrival of the head.
    pub at: Duration,
    /// The connection, if it was opened for this request.
    pub opened: Option<&'a OpenedConnection>,
}

/// The observer of an exchange, if there is one: held by the bodies of its request and its response.
#[derive(Clone, Default)]
pub(crate) struct Observed(Option<Rc<RefCell<Box<dyn ObservedExchange>>>>);

impl Observed {
    pub(crate) fn new(exchange: Option<Box<dyn ObservedExchange>>) -> Observed {
        Observed(exchange.map(|exchange| Rc::new(RefCell::new(exchange))))
    }

    /// Calls `tell` if somebody observes.
    pub(crate) fn tell(&self, tell: impl FnOnce(&mut dyn ObservedExchange)) {
        if let Some(exchange) = &self.0 {
            tell(&mut **exchange.borrow_mut());
        }
    }

    /// The same body, which is observed as it passes.
    pub(crate) fn request_body(&self, body: RequestBody) -> RequestBody {
        if self.0.is_none() {
            return body;
        }
        let length = body.length();
        RequestBody::new(Box::new(ObservedRequestBody { body, observed: self.clone() }), length)
    }
}

struct ObservedRequestBody {
    body: RequestBody,
    observed: Observed,
}

impl Body for ObservedRequestBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        if let Poll::Ready(Some(Ok(piece))) = &next {
            self.observed.tell(|exchange| exchange.request_piece(piece));
        }
        next
    }
}
