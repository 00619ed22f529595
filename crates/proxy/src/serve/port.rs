//! Ports of a worker: TCP, and UDP for HTTP/3. Each accepts connections within the limit of the core and serves them.

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

use http_stack::server::{Acceptor, SharedServerState};
use http_stack::{Handler, h3};
use ipnet::IpNet;
use tokio::sync::{Notify, Semaphore};
use world::{JoinHandle, TcpListener, TcpStream};

use super::proxy_protocol;
use crate::access::within;
use crate::journal::Metrics;

/// Pause in accepting after the system refused a connection: out of descriptors, as a rule.
const PAUSE: Duration = Duration::from_millis(100);

/// Time for which a closing port completes handshakes under way: longer than most clients' round trips, shorter than the second after
/// which clients retransmit their SYN and find the port closed, or another proxy there.
const LAST_HANDSHAKES: Duration = Duration::from_millis(800);

/// Acceptor and handler of a port's connections.
pub(super) struct PortService<H> {
    pub(super) acceptor: Acceptor,
    pub(super) handler: Rc<H>,
    /// Networks whose connections begin with the PROXY protocol.
    pub(super) balancers: Vec<IpNet>,
}

/// A listening port.
pub(super) struct TcpPort<H> {
    inner: Rc<TcpPortState<H>>,
    listening: JoinHandle<CloseResult>,
}

/// Result of closing a port: `Ok` if handshakes under way were completed, an error if the kernel cannot refuse new ones.
pub(super) type CloseResult = io::Result<()>;

struct TcpPortState<H> {
    address: SocketAddr,
    service: RefCell<Rc<PortService<H>>>,
    closed: Notify,
}

impl<H: Handler> TcpPort<H> {
    /// Listens on `address`. `room` limits the number of open connections.
    pub(super) fn open(
        address: SocketAddr,
        service: PortService<H>,
        room: &Rc<Semaphore>,
        metrics: &Arc<Metrics>,
    ) -> io::Result<TcpPort<H>> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (service, closed) = (RefCell::new(Rc::new(service)), Notify::new());
        let inner = Rc::new(TcpPortState { address, service, closed });
        let run = run(listener, Rc::clone(&inner), Rc::clone(room), Arc::clone(metrics));
        Ok(TcpPort { inner, listening: world::spawn(run) })
    }

    /// The address, with the port that was picked if none was named.
    pub(super) fn address(&self) -> SocketAddr {
        self.inner.address
    }

    /// Sets the service of new connections.
    pub(super) fn serve(&self, service: PortService<H>) {
        self.inner.service.replace(Rc::new(service));
    }

    /// Completes handshakes under way, and refuses new ones; ready when the port is closed. Starts immediately, even if it is not awaited.
    pub(super) fn close(self) -> JoinHandle<CloseResult> {
        self.inner.closed.notify_one();
        self.listening
    }
}

async fn run<H: Handler>(
    listener: TcpListener,
    port: Rc<TcpPortState<H>>,
    room: Rc<Semaphore>,
    metrics: Arc<Metrics>,
) -> CloseResult {
    port.take_in(&listener, &room, &metrics, port.closed.notified()).await;
    // Clients in the accept queue consider themselves connected, and may have sent a request: closing the port would reset them.
    let refused = listener.refuse_handshakes();
    if refused.is_ok() {
        port.take_in(&listener, &room, &metrics, world::sleep(LAST_HANDSHAKES)).await;
    }
    while let Some(permit) = ConnectionPermit::at_once(&room)
        && let Ok(Some((tcp, _))) = listener.accept_waiting()
    {
        port.take(tcp, permit, &metrics);
    }
    refused
}

impl<H: Handler> TcpPortState<H> {
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
                let permit = ConnectionPermit::acquire(Rc::clone(room)).await;
                (permit, listener.accept().await)
            };
            match before(end.as_mut(), next).await {
                None => return,
                Some((permit, Ok((tcp, _)))) => self.take(tcp, permit, metrics),
                Some((_, Err(_))) => world::sleep(PAUSE).await,
            }
        }
    }

    /// Serves a connection in a task of its own.
    fn take(&self, tcp: TcpStream, permit: ConnectionPermit, metrics: &Arc<Metrics>) {
        let service = Rc::clone(&self.service.borrow());
        drop(world::spawn(connection(tcp, service, permit, Arc::clone(metrics))));
    }
}

async fn connection<H: Handler>(
    tcp: TcpStream,
    service: Rc<PortService<H>>,
    _permit: ConnectionPermit,
    metrics: Arc<Metrics>,
) {
    let _counted = CountedConnection::among(metrics);
    let tcp = match tcp.peer_addr() {
        Ok(peer) if within(&service.balancers, peer.ip()) => {
            // Boxed: most connections have none.
            match Box::pin(proxy_protocol::receive(tcp)).await {
                Ok(tcp) => tcp,
                Err(_) => return,
            }
        }
        _ => tcp,
    };
    // The client notices a failed connection; its requests are in the journal.
    let _ = service.acceptor.serve(tcp, Rc::clone(&service.handler)).await;
}

/// A permit, released on drop.
struct ConnectionPermit(Rc<Semaphore>);

impl ConnectionPermit {
    /// Waits for a free permit.
    async fn acquire(room: Rc<Semaphore>) -> ConnectionPermit {
        match room.acquire().await {
            Ok(permit) => permit.forget(),
            Err(_) => unreachable!("the room is never closed"),
        }
        ConnectionPermit(room)
    }

    /// A permit, if one is free.
    fn at_once(room: &Rc<Semaphore>) -> Option<ConnectionPermit> {
        room.try_acquire().ok()?.forget();
        Some(ConnectionPermit(Rc::clone(room)))
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// A client's connection, counted in the gauges as open.
struct CountedConnection(Arc<Metrics>);

impl CountedConnection {
    fn among(metrics: Arc<Metrics>) -> CountedConnection {
        metrics.gauges().clients.fetch_add(1, Ordering::Relaxed);
        CountedConnection(metrics)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.gauges().clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// State shared by all connections of a core, on any port.
#[derive(Clone)]
pub(super) struct ConnectionContext {
    pub(super) common: SharedServerState,
    pub(super) room: Rc<Semaphore>,
    pub(super) metrics: Arc<Metrics>,
}

/// A listening port.
pub(super) struct QuicPort<H>(Rc<QuicPortState<H>>);

struct QuicPortState<H> {
    listener: h3::Listener,
    handler: RefCell<Rc<H>>,
    around: ConnectionContext,
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
        around: ConnectionContext,
    ) -> io::Result<QuicPort<H>> {
        let listener = h3::Listener::join(address, acceptor, seat)?;
        let (handler, closed, left) = (RefCell::new(handler), Notify::new(), Notify::new());
        let inner = Rc::new(QuicPortState { listener, handler, around, closed, left });
        drop(world::spawn(run_quic(Rc::clone(&inner))));
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

async fn run_quic<H: Handler>(port: Rc<QuicPortState<H>>) {
    let listener = &port.listener;
    while let Some(Some(incoming)) = before(port.closed.notified(), listener.accept()).await {
        match ConnectionPermit::at_once(&port.around.room) {
            Some(permit) => port.take(incoming, permit),
            // Unlike a TCP listener there is no accept queue: a refused client falls back to TCP.
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

impl<H: Handler> QuicPortState<H> {
    /// Serves a connection in a task of its own.
    fn take(&self, incoming: h3::Incoming, permit: ConnectionPermit) {
        let (handler, around) = (Rc::clone(&self.handler.borrow()), self.around.clone());
        drop(world::spawn(async move {
            let (_permit, _counted) = (permit, CountedConnection::among(around.metrics));
            // The client notices a failed connection; its requests are in the journal.
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
