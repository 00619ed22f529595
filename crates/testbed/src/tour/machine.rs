//! A machine that serves hosts of a page, one of them or all, and its limited threads.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_stack::Push;
use http_stack::server::{Answer, Body, BodyError, Handler, RequestBody, RequestHead, Response};
use proxy::{OriginServer, VirtualHosts};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Handler of its requests.
pub(crate) enum Machine {
    /// One host.
    Host(OriginServer),
    /// All hosts, told apart by name.
    Hosts(VirtualHosts),
}

impl Handler for Machine {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        match self {
            Machine::Host(origin) => origin.handle(request),
            Machine::Hosts(hosts) => hosts.handle(request),
        }
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        match self {
            Machine::Host(origin) => origin.pushes(request),
            Machine::Hosts(hosts) => hosts.pushes(request),
        }
    }
}

// A server with a limited number of concurrent requests, each from its arrival to the last byte of its
// response: Apache's threads, ten with mod_spdy.

/// A handler whose requests wait for a thread.
pub(super) struct Threads<H> {
    handler: Rc<H>,
    free: Option<Arc<Semaphore>>,
}

impl<H> Threads<H> {
    /// `handler` with the free threads; `None` is one for each request.
    pub(super) fn new(handler: Rc<H>, free: Option<Arc<Semaphore>>) -> Threads<H> {
        Threads { handler, free }
    }

    /// Delays the answer until there is a thread for it.
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

/// Holds the thread until the response's body ends, or is dropped.
fn keep(thread: Option<OwnedSemaphorePermit>, response: Response) -> Response {
    match response {
        Response::Streamed { head, length, body } => {
            Response::Streamed { head, length, body: Box::new(ThreadBody { body, thread }) }
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

/// A body that occupies a thread.
struct ThreadBody {
    body: Box<dyn Body>,
    thread: Option<OwnedSemaphorePermit>,
}

impl Body for ThreadBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        if matches!(next, Poll::Ready(None | Some(Err(_)))) {
            self.thread = None;
        }
        next
    }
}
