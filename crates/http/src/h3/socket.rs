//! The world's datagrams, for quinn; where several workers share a port, packets for others are handed on.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use world::{BatchSocket, Writable};

use super::steering::Berth;

/// A socket of the world.
#[derive(Debug)]
pub(super) struct Socket {
    socket: BatchSocket,
    berth: Option<Berth>,
}

impl Socket {
    /// A socket used by one endpoint alone.
    pub(super) fn own(socket: BatchSocket) -> Socket {
        Socket { socket, berth: None }
    }

    /// One of the sockets of a port shared by several workers.
    pub(super) fn shared(socket: BatchSocket, berth: Berth) -> Socket {
        Socket { socket, berth: Some(berth) }
    }
}

impl AsyncUdpSocket for Socket {
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
        let Some(berth) = &self.berth else { return self.socket.poll_receive(cx, bufs, metas) };
        if let Poll::Ready(taken) = berth.poll_strays(cx, bufs, metas) {
            return Poll::Ready(Ok(taken));
        }
        let received = ready!(self.socket.poll_receive(cx, bufs, metas))?;
        berth.sort(&mut bufs[..received], &mut metas[..received]);
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
    socket: Arc<Socket>,
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
