//! A server that works on so many requests at once, each from its arrival to the last byte of its response: Apache's threads, which mod_spdy has ten of.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_stack::Push;
use http_stack::server::{Answer, Body, BodyError, Handler, RequestBody, RequestHead, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A handler whose requests wait for a thread.
pub(super) struct Threads<H> {
    handler: Rc<H>,
    free: Option<Arc<Semaphore>>,
}

impl<H> Threads<H> {
    /// `handler` with the threads that are free; `None` is one for each request.
    pub(super) fn new(handler: Rc<H>, free: Option<Arc<Semaphore>>) -> Threads<H> {
        Threads { handler, free }
    }

    /// The same answer once there is a thread for it.
    fn wait(&self, answer: Answer) -> Answer {
        let Some(free) = self.free.clone() else { return answer };
        Answer::later(async move {
            let thread = free.acquire_owned().await.ok();
            let response = match answer {
                Answer::Ready(reply) => Response::Whole(reply),
                Answer::Later(response) => response.await,
            };
            keep(thread, response)
        })
    }
}

/// The thread is free again when the response's body is at its end, or given up.
fn keep(thread: Option<OwnedSemaphorePermit>, response: Response) -> Response {
    match response {
        Response::Streamed { head, length, body } => {
            Response::Streamed { head, length, body: Box::new(Busy { body, thread }) }
        }
        whole => whole,
    }
}

impl<H: Handler> Handler for Threads<H> {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.wait(self.handler.handle(request))
    }

    fn receive(&self, request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        self.handler.receive(request, body).map(|answer| self.wait(answer))
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        self.handler.pushes(request)
    }
}

/// A body that a thread is busy with.
struct Busy {
    body: Box<dyn Body>,
    thread: Option<OwnedSemaphorePermit>,
}

impl Body for Busy {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        if matches!(next, Poll::Ready(None | Some(Err(_)))) {
            self.thread = None;
        }
        next
    }
}
