//! Interim responses (RFC 9110 section 15.2) on their way from an origin to the client, while the response proper is awaited.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http_stack::server::Later;
use http_stack::{Answer, Response};

/// Maximum number forwarded; more are useless.
const MOST: u32 = 100;

/// Interim responses from an origin. Clones share the same queue.
#[derive(Clone, Default)]
pub(super) struct Interims(Rc<Said>);

#[derive(Default)]
struct Said {
    count: Cell<u32>,
    waiting: RefCell<VecDeque<http::Response<()>>>,
}

impl fmt::Debug for Interims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interims").field("count", &self.0.count.get()).finish_non_exhaustive()
    }
}

impl Interims {
    /// Queues one for the client.
    pub(super) fn put(&self, head: http::Response<()>) {
        let Said { count, waiting } = &*self.0;
        if count.get() < MOST {
            count.set(count.get() + 1);
            waiting.borrow_mut().push_back(head);
        }
    }

    fn take(&self) -> Option<http::Response<()>> {
        self.0.waiting.borrow_mut().pop_front()
    }

    /// The answer of `work`, preceded by the interim responses that arrive meanwhile.
    pub(super) fn before(self, work: impl Future<Output = Response> + 'static) -> Answer {
        Answer::Later(Box::pin(Relay { interims: self, work: Some(Box::pin(work)) }))
    }
}

/// An answer under way, and the interim responses before it.
struct Relay {
    interims: Interims,
    /// `None` once the answer is given.
    work: Option<Later>,
}

impl Future for Relay {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let mut work = self.work.take().expect("an answer is given once");
        let made = work.as_mut().poll(cx);
        let Some(head) = self.interims.take() else {
            if made.is_pending() {
                self.work = Some(work);
            }
            return made;
        };
        let work = match made {
            Poll::Pending => work,
            Poll::Ready(response) => Box::pin(ready(response)),
        };
        let then = Box::pin(Relay { interims: self.interims.clone(), work: Some(work) });
        Poll::Ready(Response::Interim { head, then })
    }
}
