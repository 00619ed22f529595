//! What a server hands to its handler, and what the handler hands back.

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
    /// Called when a request has arrived whole: its body, which was counted and dropped, included. Of a `CONNECT` the head
    /// is the whole.
    fn handle(&self, request: RequestHead<'_>) -> Answer;

    /// Called when the head of a request with a body has arrived. Who wants the body answers and reads it meanwhile: it
    /// comes no faster than it is read. Who gives it back, as is usual, is asked by [`Handler::handle`] at its end.
    ///
    /// # Errors
    /// The body, if it is not wanted.
    fn receive(&self, _request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        Err(body)
    }

    /// What is pushed with the answer to `request`, in this order, where protocol and client take pushed responses.
    /// Called before [`Handler::handle`] for the same request.
    fn pushes(&self, _request: RequestHead<'_>) -> Vec<Push> {
        Vec::new()
    }
}

/// An answer, now or later.
pub enum Answer {
    /// It is there: nothing is allocated or spawned to send it.
    Ready(Reply),
    /// It takes time.
    Later(Later),
}

/// A response to come.
pub type Later = Pin<Box<dyn Future<Output = Response>>>;

impl Answer {
    /// What `response` will give.
    pub fn later(response: impl Future<Output = impl Into<Response>> + 'static) -> Answer {
        Answer::Later(Box::pin(async move { response.await.into() }))
    }
}
