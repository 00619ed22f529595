//! One TCP port: accepts connections and serves them.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http_stack::Handler;
use http_stack::server::Acceptor;
use tokio::sync::{Notify, Semaphore};
use world::{JoinHandle, TcpListener, TcpStream};

use super::room::{Counted, Place};
use crate::journal::Metrics;

/// Pause in accepting after the system refused a connection: out of descriptors, as a rule.
const PAUSE: Duration = Duration::from_millis(100);

/// Time for which a closing port completes handshakes under way: longer than most clients' round trips, shorter than the second after
/// which clients retransmit their SYN and find the port closed, or another proxy there.
const LAST_HANDSHAKES: Duration = Duration::from_millis(800);

/// Acceptor and handler of a port's connections.
pub(super) struct Service<H> {
    pub(super) acceptor: Acceptor,
    pub(super) handler: Rc<H>,
}

/// A listening port.
pub(super) struct Port<H> {
    inner: Rc<Inner<H>>,
    listening: JoinHandle<Closed>,
}

/// Result of closing a port: `Ok` if handshakes under way were completed, an error if the kernel cannot refuse new ones.
pub(super) type Closed = io::Result<()>;

struct Inner<H> {
    address: SocketAddr,
    service: RefCell<Rc<Service<H>>>,
    closed: Notify,
}

impl<H: Handler> Port<H> {
    /// Listens on `address`. `room` limits the number of open connections.
    pub(super) fn open(
        address: SocketAddr,
        service: Service<H>,
        room: &Rc<Semaphore>,
        metrics: &Arc<Metrics>,
    ) -> io::Result<Port<H>> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (service, closed) = (RefCell::new(Rc::new(service)), Notify::new());
        let inner = Rc::new(Inner { address, service, closed });
        let run = run(listener, Rc::clone(&inner), Rc::clone(room), Arc::clone(metrics));
        Ok(Port { inner, listening: world::spawn(run) })
    }

    /// The address, with the port that was picked if none was named.
    pub(super) fn address(&self) -> SocketAddr {
        self.inner.address
    }

    /// Sets the service of new connections.
    pub(super) fn serve(&self, service: Service<H>) {
        self.inner.service.replace(Rc::new(service));
    }

    /// Completes handshakes under way, and refuses new ones; ready when the port is closed. Begins at once, awaited or not.
    pub(super) fn close(self) -> JoinHandle<Closed> {
        self.inner.closed.notify_one();
        self.listening
    }
}

async fn run<H: Handler>(
    listener: TcpListener,
    port: Rc<Inner<H>>,
    room: Rc<Semaphore>,
    metrics: Arc<Metrics>,
) -> Closed {
    port.take_in(&listener, &room, &metrics, port.closed.notified()).await;
    // Clients in the accept queue consider themselves connected, and may have sent a request: closing the port would reset them.
    let refused = listener.refuse_handshakes();
    if refused.is_ok() {
        port.take_in(&listener, &room, &metrics, world::sleep(LAST_HANDSHAKES)).await;
    }
    while let Some(place) = Place::at_once(&room)
        && let Ok(Some((tcp, _))) = listener.accept_waiting()
    {
        port.take(tcp, place, &metrics);
    }
    refused
}

impl<H: Handler> Inner<H> {
    /// Accepts connections until `end`.
    async fn take_in(
        &self,
        listener: &TcpListener,
        room: &Rc<Semaphore>,
        metrics: &Arc<Metrics>,
        end: impl Future,
    ) {
        let mut end = pin!(end);
        loop {
            let next = async {
                // Without room, new connections wait in the kernel's accept queue.
                let place = Place::acquire(Rc::clone(room)).await;
                (place, listener.accept().await)
            };
            let mut next = pin!(next);
            let accepted = poll_fn(|cx| match end.as_mut().poll(cx) {
                Poll::Ready(_) => Poll::Ready(None),
                Poll::Pending => next.as_mut().poll(cx).map(Some),
            });
            match accepted.await {
                None => return,
                Some((place, Ok((tcp, _)))) => self.take(tcp, place, metrics),
                Some((_, Err(_))) => world::sleep(PAUSE).await,
            }
        }
    }

    /// Serves a connection in a task of its own.
    fn take(&self, tcp: TcpStream, place: Place, metrics: &Arc<Metrics>) {
        let service = Rc::clone(&self.service.borrow());
        drop(world::spawn(connection(tcp, service, place, Arc::clone(metrics))));
    }
}

async fn connection<H: Handler>(
    tcp: TcpStream,
    service: Rc<Service<H>>,
    _place: Place,
    metrics: Arc<Metrics>,
) {
    let _counted = Counted::among(metrics);
    // A failed connection is the client's to notice; its requests have been noted.
    let _ = service.acceptor.serve(tcp, Rc::clone(&service.handler)).await;
}
