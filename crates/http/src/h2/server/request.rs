//! A request's body on its stream.

use std::cell::Cell;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ::h2::RecvStream;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::request::Parts;

use crate::server::{Body, BodyError, RequestBody};

/// The client's bytes on a stream. Consuming them opens the window again.
struct Received {
    stream: RecvStream,
    demand: Demand,
}

/// True once a body is wanted.
pub(super) type Demand = Rc<Cell<bool>>;

/// The body that follows `head`; it notes in `demand` that it is wanted.
pub(super) fn body_of(head: &Parts, stream: RecvStream, demand: &Demand) -> RequestBody {
    let length =
        head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let demand = Rc::clone(demand);
    RequestBody::new(Box::new(Received { stream, demand }), length)
}

impl Body for Received {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let Received { stream, demand } = self;
        let next = stream.poll_data(cx);
        if next.is_pending() {
            demand.set(true);
        }
        let piece = match ready!(next) {
            // Trailers are read because they mark the end, and discarded.
            None => ready!(stream.poll_trailers(cx)).map(|_| None),
            Some(piece) => piece.and_then(|piece| {
                stream.flow_control().release_capacity(piece.len())?;
                Ok(Some(piece))
            }),
        };
        Poll::Ready(piece.map_err(broken).transpose())
    }
}

fn broken(error: ::h2::Error) -> BodyError {
    if error.is_reset() || error.is_go_away() {
        return BodyError::GivenUp(error.to_string());
    }
    match error.into_io() {
        Some(error) => BodyError::Broken(error),
        None => BodyError::Malformed("it breaks HTTP/2's rules".to_owned()),
    }
}
