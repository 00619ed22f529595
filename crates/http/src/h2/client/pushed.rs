//! Responses that the server pushes (RFC 9113 section 8.4).

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use ::h2::RecvStream;
use ::h2::client::{PushPromises, PushedResponseFuture};
use http::{Method, Response, Uri};

use super::exchange::{self, Watch};
use super::failure;
use crate::h2::observer::Shared;
use crate::{Failure, Progress, Promises};

/// A promised response.
pub(super) struct Pushed {
    watch: Watch,
    response: PushedResponseFuture,
}

impl Pushed {
    /// The response once its head has come; `None` if the server does not send it after all.
    pub(super) async fn begun(self) -> Option<Begun> {
        let Pushed { watch, response } = self;
        Some(Begun { watch, response: response.await.ok()? })
    }
}

/// A pushed response whose head has come.
pub(super) struct Begun {
    watch: Watch,
    response: Response<RecvStream>,
}

impl Begun {
    /// Reports the response until its end.
    pub(super) async fn run(self, progress: &mut dyn Progress) -> Result<(), Failure> {
        let Begun { watch, response } = self;
        let mut body = exchange::begin(response, &watch, progress);
        let received = poll_fn(|cx| exchange::poll_receive(cx, &mut body, progress)).await;
        received.map_err(|error| failure(error, true))
    }
}

/// The promises that come with the answer to one request.
pub(super) struct Promising {
    coming: PushPromises,
    /// The request's authority.
    authority: Option<String>,
    promises: Rc<RefCell<Promises<Pushed>>>,
    observer: Shared,
}

impl Promising {
    pub(super) fn new(
        coming: PushPromises,
        request: &Uri,
        promises: &Rc<RefCell<Promises<Pushed>>>,
        observer: &Shared,
    ) -> Promising {
        let authority = request.authority().map(|authority| authority.as_str().to_owned());
        let (promises, observer) = (Rc::clone(promises), Rc::clone(observer));
        Promising { coming, authority, promises, observer }
    }

    /// Keeps the promises received, or cancels them: dropping a response resets its stream.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(Some(Ok(promise))) = pin!(self.coming.push_promise()).poll(cx) {
            let (request, response) = promise.into_parts();
            let mut promises = self.promises.borrow_mut();
            if request.method() == Method::GET
                && promises.takes(request.uri(), self.authority.as_deref())
            {
                let watch = Watch::new(&self.observer, response.stream_id().as_u32());
                promises.keep(request.uri(), Pushed { watch, response });
            }
        }
    }
}
