//! Images that are encoded again: each is held until it is whole, then goes to an encoder on a thread of its own.

use std::cell::Cell;
use std::future::poll_fn;

use bytes::{Bytes, BytesMut};
use http::Request;
use http_stack::server::{Body, BodyError};
use tokio::sync::Semaphore;

use super::entrance::Proxy;
use crate::images::{ImageChoice, mark, smaller};
use crate::upstream::{Fetched, ResponseBody};

/// Images encoded at once, for each core.
const ENCODERS: usize = 1;

/// Images held at once, for each core: beyond that they pass as they are, which is better than late.
const MOST_HELD: usize = 16;

/// Room for images on one core.
pub(super) struct ImageQueue {
    encoders: Semaphore,
    held: Cell<usize>,
}

impl ImageQueue {
    pub(super) fn new() -> ImageQueue {
        ImageQueue { encoders: Semaphore::new(ENCODERS), held: Cell::new(0) }
    }

    fn enter(&self) -> Option<ImagePlace<'_>> {
        let held = self.held.get();
        (held < MOST_HELD).then(|| {
            self.held.set(held + 1);
            ImagePlace(&self.held)
        })
    }
}

/// A place in the queue, given back when dropped.
struct ImagePlace<'q>(&'q Cell<usize>);

impl Drop for ImagePlace<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Proxy {
    /// Takes in an image that is to be encoded again, and changes its head if it is smaller then. `None` for an answer that streams.
    pub(super) async fn shrink_image(
        &self,
        fetched: &mut Fetched,
        request: &Request<()>,
    ) -> Option<HeldBody> {
        let settings = self.settings.images.as_ref()?;
        match settings.choose(request, &fetched.head, fetched.length) {
            ImageChoice::Unsuitable => return None,
            ImageChoice::Unaccepted => {
                settings.vary(fetched.head.headers_mut());
                return None;
            }
            ImageChoice::Encoded => {}
        }
        settings.vary(fetched.head.headers_mut());
        let _place = self.images.enter()?;
        let (image, failure) = take_in(&mut fetched.body, fetched.length).await;
        if failure.is_some() {
            return Some(HeldBody { bytes: image, failure, unchanged_bytes: None });
        }
        let _encoder = self.images.encoders.acquire().await;
        let (original, quality) = (image.clone(), settings.quality);
        let encoded = world::blocking(move || smaller(&original, quality)).await;
        let (bytes, unchanged_bytes) = match encoded {
            None => (image, None),
            Some(encoded) => {
                mark(fetched.head.headers_mut(), encoded.len());
                fetched.length = Some(encoded.len() as u64);
                (encoded, Some(image.len() as u64))
            }
        };
        Some(HeldBody { bytes, failure: None, unchanged_bytes })
    }
}

/// All of a body of this length, or what came of it and its failure.
async fn take_in(body: &mut ResponseBody, length: Option<u64>) -> (Bytes, Option<BodyError>) {
    let mut whole = BytesMut::with_capacity(length.unwrap_or(0) as usize);
    loop {
        match poll_fn(|cx| body.poll_next(cx)).await {
            None => return (whole.freeze(), None),
            Some(Ok(piece)) => whole.extend_from_slice(&piece),
            Some(Err(failure)) => return (whole.freeze(), Some(failure)),
        }
    }
}

/// A body that is in memory. It fails where its origin's did.
pub(super) struct HeldBody {
    /// What is still to be handed out.
    bytes: Bytes,
    failure: Option<BodyError>,
    unchanged_bytes: Option<u64>,
}

impl HeldBody {
    /// Returns true if all of it has been handed out.
    pub(super) fn is_ended(&self) -> bool {
        self.bytes.is_empty() && self.failure.is_none()
    }

    /// Bytes before it was encoded again; `None` if it is as it was.
    pub(super) fn unchanged_bytes(&self) -> Option<u64> {
        self.unchanged_bytes
    }

    pub(super) fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        if !self.bytes.is_empty() {
            return Some(Ok(std::mem::take(&mut self.bytes)));
        }
        self.failure.take().map(Err)
    }
}
