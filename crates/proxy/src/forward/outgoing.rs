//! Bodies on their way to clients: as they come from origins, compressed, or held until an image is encoded again.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, VARY};
use http::{HeaderMap, Method, Request, StatusCode};
use http_stack::server::{Body, BodyError};

use super::compressed::CompressedBody;
use super::entrance::Proxy;
use super::held::HeldBody;
use crate::compression::{Transcoder, mark_confirmed, vary};
use crate::upstream::{Fetched, ResponseBody};

/// Change of a body on its way.
pub(super) enum Transformation {
    /// None: it streams as it comes.
    Unchanged,
    /// Through an encoder.
    Compressed(Transcoder),
    /// It was taken in as a whole.
    Held(HeldBody),
}

impl Proxy {
    /// Changes the head of an answer to `request` whose body is to be changed, and says how.
    pub(super) async fn transform(
        &self,
        fetched: &mut Fetched,
        request: &Request<()>,
    ) -> Transformation {
        if fetched.head.status() == StatusCode::NOT_MODIFIED {
            self.confirm(fetched.head.headers_mut(), request.headers());
            return Transformation::Unchanged;
        }
        if let Some(encoder) = self.compress(fetched, request) {
            // The body of an answer to HEAD is empty whatever its head says.
            return match *request.method() {
                Method::HEAD => Transformation::Unchanged,
                _ => Transformation::Compressed(encoder),
            };
        }
        match self.shrink_image(fetched, request).await {
            Some(held) => Transformation::Held(held),
            None => Transformation::Unchanged,
        }
    }

    /// Changes the head of a 304 as that of the answer which it confirms, for the caches behind: what it names replaces what they have.
    pub(super) fn confirm(&self, fields: &mut HeaderMap, asked: &HeaderMap) {
        let (compression, images) = (&self.settings.compression, &self.settings.images);
        if images.is_some() {
            // A 304 has no need of it, and it is that of the image as the origin has it.
            fields.remove(CONTENT_TYPE);
        }
        let is_changing = compression.is_some() || images.is_some();
        if !is_changing || !(mark_confirmed(fields, asked) || fields.contains_key(VARY)) {
            return;
        }
        if compression.is_some() {
            vary(fields);
        }
        if let Some(images) = images {
            images.vary(fields);
        }
    }
}

/// A body from an origin, as the client gets it.
pub(super) enum OutgoingBody {
    /// As it is.
    Plain(ResponseBody),
    /// Compressed.
    Compressed(Box<CompressedBody>),
    /// Taken in as a whole.
    Held(HeldBody),
}

impl OutgoingBody {
    /// The body of an answer, changed.
    pub(super) fn new(body: ResponseBody, transformation: Transformation) -> OutgoingBody {
        match transformation {
            Transformation::Unchanged => OutgoingBody::Plain(body),
            Transformation::Compressed(encoder) => {
                OutgoingBody::Compressed(Box::new(CompressedBody::new(body, encoder)))
            }
            Transformation::Held(held) => OutgoingBody::Held(held),
        }
    }

    /// Returns true if all of it has been handed out.
    pub(super) fn is_ended(&self) -> bool {
        match self {
            OutgoingBody::Plain(body) => body.is_ended(),
            OutgoingBody::Compressed(body) => body.is_ended(),
            OutgoingBody::Held(body) => body.is_ended(),
        }
    }

    /// Bytes before the change, if it is changed.
    pub(super) fn unchanged_bytes(&self) -> Option<u64> {
        match self {
            OutgoingBody::Plain(_) => None,
            OutgoingBody::Compressed(body) => Some(body.uncompressed_bytes()),
            OutgoingBody::Held(body) => body.unchanged_bytes(),
        }
    }
}

impl Body for OutgoingBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self {
            OutgoingBody::Plain(body) => body.poll_next(cx),
            OutgoingBody::Compressed(body) => body.poll_next(cx),
            OutgoingBody::Held(body) => Poll::Ready(body.next()),
        }
    }
}
