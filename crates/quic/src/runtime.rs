//! The world's clock, tasks and datagrams, for quinn; where several workers share a port, packets for others are handed
//! over.

use std::fmt;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, UdpPoller};
use units::Time;
use world::{BatchSocket, Sleep, Writable};

use crate::steering::WorkerSeat;

/// The world of the current thread.
#[derive(Debug)]
pub(crate) struct WorldRuntime;

impl Runtime for WorldRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(WorldTimer::new(world::from_instant(at)))
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        drop(world::spawn(future));
    }

    fn wrap_udp_socket(&self, _: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "sockets are created by the world"))
    }

    fn now(&self) -> Instant {
        world::to_instant(world::now())
    }
}

/// A timer that is moved with every packet, almost always to a later time: it sleeps until the earliest deadline set
/// and then checks whether that still holds.
struct WorldTimer {
    deadline: Time,
    /// End of the current `sleep`.
    wakes: Time,
    sleep: Sleep,
}

impl WorldTimer {
    fn new(at: Time) -> WorldTimer {
        WorldTimer { deadline: at, wakes: at, sleep: world::sleep_until(at) }
    }
}

impl AsyncTimer for WorldTimer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        let at = world::from_instant(at);
        if at < self.wakes {
            *self = WorldTimer::new(at);
        } else {
            self.deadline = at;
        }
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(Pin::new(&mut self.sleep).poll(cx));
            if self.wakes == self.deadline {
                return Poll::Ready(());
            }
            *self = WorldTimer::new(self.deadline);
        }
    }
}

impl fmt::Debug for WorldTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// A socket of the world.
#[derive(Debug)]
pub(crate) struct WorldSocket {
    socket: BatchSocket,
    seat: Option<WorkerSeat>,
}

impl WorldSocket {
    /// A socket used by one endpoint alone.
    pub(crate) fn own(socket: BatchSocket) -> WorldSocket {
        WorldSocket { socket, seat: None }
    }

    /// One of the sockets of a port shared by several workers.
    pub(crate) fn shared(socket: BatchSocket, seat: WorkerSeat) -> WorldSocket {
        WorldSocket { socket, seat: Some(seat) }
    }
}

impl AsyncUdpSocket for WorldSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller { socket: self, waiting: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let Some(seat) = &self.seat else { return self.socket.poll_receive(cx, bufs, metas) };
        if let Poll::Ready(taken) = seat.poll_handed_over(cx, bufs, metas) {
            return Poll::Ready(Ok(taken));
        }
        let received = ready!(self.socket.poll_receive(cx, bufs, metas))?;
        seat.sort(&mut bufs[..received], &mut metas[..received]);
        Poll::Ready(Ok(received))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

/// One connection's wait for a shared socket.
struct Poller {
    socket: Arc<WorldSocket>,
    waiting: Option<Writable>,
}

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.waiting.is_none() {
            self.waiting = self.socket.socket.writable();
        }
        let Some(waiting) = &mut self.waiting else { return Poll::Ready(Ok(())) };
        let writable = waiting.as_mut().poll(cx);
        if writable.is_ready() {
            self.waiting = None;
        }
        writable
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller").field("socket", &self.socket).finish_non_exhaustive()
    }
}
