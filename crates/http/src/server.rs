//! The interface between a server and its handler.

mod body;
mod common;
mod drain;
mod feed;
mod fields;
mod pace;
mod paced;
mod request;
mod response;
mod source;
mod tunnel;
mod vigil;

use std::future::Future;
use std::pin::Pin;

pub use self::body::{Body, BodyError, Duplex, RequestBody};
pub use self::common::{Common, Patient};
pub use self::drain::Drain;
pub(crate) use self::drain::Watch;
pub(crate) use self::feed::{Demand, Feed, feed};
pub use self::fields::Fields;
pub use self::pace::Pace;
pub(crate) use self::pace::Patience;
pub(crate) use self::paced::Paced;
pub use self::request::RequestHead;
pub use self::response::{Head, Push, Reply, Response};
pub(crate) use self::response::{interim, is_bodiless, refusal, strip_framing};
pub(crate) use self::source::Source;
pub(crate) use self::tunnel::{Up, directions};
pub(crate) use self::vigil::{Standing, Verdict, Vigil};
pub use crate::acceptor::{Acceptor, Served};

/// Answers requests. One handler serves all connections of a core.
pub trait Handler: 'static {
    /// Called when a request has arrived completely, including its body, which was counted and dropped. A `CONNECT` is
    /// complete with its head.
    fn handle(&self, request: RequestHead<'_>) -> Answer;

    /// Called when the head of a request with a body has arrived. A handler that wants the body answers and reads it meanwhile,
    /// with backpressure. If the handler returns the body, as is usual, [`Handler::handle`] is called at the body's end.
    ///
    /// # Errors
    /// The body, if it is unwanted.
    fn receive(&self, _request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        Err(body)
    }

    /// Responses to push with the answer to `request`, in this order, if protocol and client support pushes. Called
    /// before [`Handler::handle`] for the same request.
    fn pushes(&self, _request: RequestHead<'_>) -> Vec<Push> {
        Vec::new()
    }
}

/// An answer, now or later.
pub enum Answer {
    /// Ready: nothing is allocated or spawned to send it.
    Ready(Reply),
    /// Delayed.
    Later(Later),
}

/// A response to come.
pub type Later = Pin<Box<dyn Future<Output = Response>>>;

impl Answer {
    /// The answer that `response` will return.
    pub fn later(response: impl Future<Output = impl Into<Response>> + 'static) -> Answer {
        Answer::Later(Box::pin(async move { response.await.into() }))
    }
}
