//! One port: takes connections and serves them.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use http_stack::Handler;
use http_stack::server::Acceptor;
use tokio::sync::{Notify, Semaphore};
use world::{TcpListener, TcpStream};

use crate::journal::Metrics;

/// How long a port takes no connections after the machine refused it one: out of descriptors, as a rule.
const PAUSE: Duration = Duration::from_millis(100);

/// What a port does with connections.
pub(super) struct Service<H> {
    pub(super) acceptor: Acceptor,
    pub(super) handler: Rc<H>,
}

/// A port that is listened on. Clones are the same.
pub(super) struct Port<H>(Rc<Inner<H>>);

struct Inner<H> {
    address: SocketAddr,
    service: RefCell<Rc<Service<H>>>,
    closed: Notify,
}

impl<H: Handler> Port<H> {
    /// Listens on `address`. `room` is for as many connections as may be open at once.
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
        drop(world::spawn(run(listener, Rc::clone(&inner), Rc::clone(room), Arc::clone(metrics))));
        Ok(Port(inner))
    }

    /// The address, with the port that was picked if none was named.
    pub(super) fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Serves connections that come from now on like this.
    pub(super) fn serve(&self, service: Service<H>) {
        self.0.service.replace(Rc::new(service));
    }

    /// Takes no more connections.
    pub(super) fn close(self) {
        self.0.closed.notify_one();
    }
}

async fn run<H: Handler>(
    listener: TcpListener,
    port: Rc<Inner<H>>,
    room: Rc<Semaphore>,
    metrics: Arc<Metrics>,
) {
    let mut closed = pin!(port.closed.notified());
    loop {
        let next = async {
            // Where there is no room, those who come wait in the kernel's queue.
            let place = Rc::clone(&room);
            let place = acquire(place).await;
            (place, listener.accept().await)
        };
        let mut next = pin!(next);
        let accepted = poll_fn(|cx| match closed.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => next.as_mut().poll(cx).map(Some),
        });
        match accepted.await {
            None => break,
            Some((place, Ok((tcp, _)))) => port.take(tcp, place, &metrics),
            Some((_, Err(_))) => world::sleep(PAUSE).await,
        }
    }
    // Who is in the kernel's queue believes to be connected, and has asked already: with the port they would be thrown out.
    while let Some(place) = at_once(acquire(Rc::clone(&room))).await
        && let Some(Ok((tcp, _))) = at_once(listener.accept()).await
    {
        port.take(tcp, place, &metrics);
    }
}

/// What is there without waiting.
async fn at_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

impl<H: Handler> Inner<H> {
    /// Serves a connection by a task of its own.
    fn take(&self, tcp: TcpStream, place: Place, metrics: &Arc<Metrics>) {
        let service = Rc::clone(&self.service.borrow());
        drop(world::spawn(connection(tcp, service, place, Arc::clone(metrics))));
    }
}

/// A connection's place among those that are open; free again when dropped.
struct Place(Rc<Semaphore>);

async fn acquire(room: Rc<Semaphore>) -> Place {
    match room.acquire().await {
        Ok(permit) => permit.forget(),
        Err(_) => unreachable!("the room is never closed"),
    }
    Place(room)
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

async fn connection<H: Handler>(
    tcp: TcpStream,
    service: Rc<Service<H>>,
    _place: Place,
    metrics: Arc<Metrics>,
) {
    struct Counted(Arc<Metrics>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.gauges().clients.fetch_sub(1, Ordering::Relaxed);
        }
    }
    metrics.gauges().clients.fetch_add(1, Ordering::Relaxed);
    let _counted = Counted(metrics);
    // A connection that fails is the client's to notice; its requests have been noted.
    let _ = service.acceptor.serve(tcp, Rc::clone(&service.handler)).await;
}
