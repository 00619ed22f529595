//! One UDP port: accepts HTTP/3 connections and serves them.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use http_stack::server::Common;
use http_stack::{Handler, h3};
use tokio::sync::{Notify, Semaphore};

use super::room::{Counted, Place};
use crate::journal::Metrics;

/// State shared by all connections of a core, on any port.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) common: Common,
    pub(super) room: Rc<Semaphore>,
    pub(super) metrics: Arc<Metrics>,
}

/// A listening port.
pub(super) struct QuicPort<H>(Rc<Inner<H>>);

struct Inner<H> {
    listener: h3::Listener,
    handler: RefCell<Rc<H>>,
    around: Surroundings,
    closed: Notify,
    left: Notify,
}

impl<H: Handler> QuicPort<H> {
    /// Listens on `address` as the worker that `seat` names.
    pub(super) fn open(
        address: SocketAddr,
        acceptor: &h3::Acceptor,
        handler: Rc<H>,
        seat: (&h3::Steering, u16),
        around: Surroundings,
    ) -> io::Result<QuicPort<H>> {
        let listener = h3::Listener::join(address, acceptor, seat)?;
        let (handler, closed, left) = (RefCell::new(handler), Notify::new(), Notify::new());
        let inner = Rc::new(Inner { listener, handler, around, closed, left });
        drop(world::spawn(run(Rc::clone(&inner))));
        Ok(QuicPort(inner))
    }

    /// Sets the acceptor and handler of new connections.
    pub(super) fn serve(&self, acceptor: &h3::Acceptor, handler: Rc<H>) {
        self.0.listener.take_by(acceptor);
        self.0.handler.replace(handler);
    }

    /// Accepts no more connections. The port stays open for those that it has.
    pub(super) fn close(&self) {
        self.0.closed.notify_one();
    }

    /// Closes its connections.
    pub(super) async fn cut(&self) {
        self.0.listener.close().await;
    }
}

async fn run<H: Handler>(port: Rc<Inner<H>>) {
    let listener = &port.listener;
    while let Some(Some(incoming)) = before(port.closed.notified(), listener.accept()).await {
        match Place::at_once(&port.around.room) {
            Some(place) => port.take(incoming, place),
            // There is no queue for connections without room, unlike a listener's: a refused client falls back to TCP.
            None => incoming.refuse(),
        }
    }
    let over = async {
        port.left.notified().await;
        listener.idle().await;
    };
    let mut over = pin!(over);
    while let Some(Some(incoming)) = before(over.as_mut(), listener.accept()).await {
        incoming.refuse();
    }
}

impl<H> Drop for QuicPort<H> {
    fn drop(&mut self) {
        self.0.left.notify_one();
    }
}

impl<H: Handler> Inner<H> {
    /// Serves a connection in a task of its own.
    fn take(&self, incoming: h3::Incoming, place: Place) {
        let (handler, around) = (Rc::clone(&self.handler.borrow()), self.around.clone());
        drop(world::spawn(async move {
            let (_place, _counted) = (place, Counted::among(around.metrics));
            // A failed connection is the client's to notice; its requests have been noted.
            let _ = incoming.serve_in(&around.common, handler).await;
        }));
    }
}

/// The output of `future`, unless `end` completes first.
async fn before<T>(end: impl Future, future: impl Future<Output = T>) -> Option<T> {
    let (mut end, mut future) = (pin!(end), pin!(future));
    poll_fn(|cx| match end.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => future.as_mut().poll(cx).map(Some),
    })
    .await
}
