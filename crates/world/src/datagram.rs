//! UDP sockets of either world: one datagram a call, or, for QUIC, many.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;

use crate::ambient::{self, WorldKind};
use crate::{real, sim};

pub use quinn_udp::{EcnCodepoint, RecvMeta, Transmit};

/// A UDP socket.
pub struct UdpSocket(UdpBackend);

enum UdpBackend {
    Sim(sim::UdpSocket),
    Real(tokio::net::UdpSocket),
}

impl UdpSocket {
    /// Binds to `address`; port 0 picks a free one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
        match ambient::kind() {
            WorldKind::Sim => sim::UdpSocket::bind(address).map(|s| UdpSocket(UdpBackend::Sim(s))),
            _ => real::bind_udp(address).map(|s| UdpSocket(UdpBackend::Real(s))),
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            UdpBackend::Sim(socket) => Ok(socket.local_addr()),
            UdpBackend::Real(socket) => socket.local_addr(),
        }
    }

    /// Sends one datagram.
    ///
    /// # Errors
    /// As the kernel's `sendto`. In the simulated world a datagram larger than the path's MTU is
    /// dropped on the way, without an error.
    pub async fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        match &self.0 {
            UdpBackend::Sim(socket) => socket.send_to(data, to),
            UdpBackend::Real(socket) => socket.send_to(data, to).await.map(drop),
        }
    }

    /// Receives one datagram into `buf`; truncates it if it does not fit.
    ///
    /// # Errors
    /// As the kernel's `recvfrom`.
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        match &self.0 {
            UdpBackend::Sim(socket) => socket.poll_recv_from(cx, buf).map(Ok),
            UdpBackend::Real(socket) => socket.poll_recv_from(cx, buf),
        }
    }

    /// Receives one datagram into `buf`; returns its length and its sender.
    ///
    /// # Errors
    /// As the kernel's `recvfrom`.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut buf = ReadBuf::new(buf);
        let from = std::future::poll_fn(|cx| self.poll_recv_from(cx, &mut buf)).await?;
        Ok((buf.filled().len(), from))
    }
}

// UDP sockets for QUIC: many datagrams per call, with their ECN fields, never fragmented.
//
// Datagrams and their metadata have the types of `quinn-udp`, on which the real world's sockets are based; the simulated ones
// behave like Linux's: they take up to 64 datagrams of one size in one piece, each of which then crosses the links separately.

/// `UDP_MAX_SEGMENTS` of Linux before 6.9, as quinn-udp assumes.
const SEGMENTS: usize = 64;

/// A UDP socket for whole batches of datagrams.
#[derive(Debug)]
pub struct BatchSocket(BatchBackend);

#[derive(Debug)]
enum BatchBackend {
    Sim(sim::UdpSocket),
    Real(real::BatchSocket),
}

/// Completes when a socket may take more.
pub type Writable = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

impl BatchSocket {
    /// Binds to `address`, to receive from any peer.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn bind(address: SocketAddr) -> io::Result<BatchSocket> {
        match ambient::kind() {
            WorldKind::Sim => {
                sim::UdpSocket::bind(address).map(|s| BatchSocket(BatchBackend::Sim(s)))
            }
            _ => real::BatchSocket::bind(address).map(|s| BatchSocket(BatchBackend::Real(s))),
        }
    }

    /// Binds to `address`, shared with other sockets bound in this way: the kernel (Linux) distributes clients among them by address, as
    /// with TCP listeners. (In the simulated world there is only one.)
    ///
    /// # Errors
    /// If the address is in exclusive use, or is not ours.
    pub fn bind_shared(address: SocketAddr) -> io::Result<BatchSocket> {
        match ambient::kind() {
            WorldKind::Sim => BatchSocket::bind(address),
            _ => {
                real::BatchSocket::bind_shared(address).map(|s| BatchSocket(BatchBackend::Real(s)))
            }
        }
    }

    /// Binds to a free port, to talk to `peer` alone. (In the simulated world others could reach it, if they knew of it.)
    ///
    /// # Errors
    /// If there is no route to `peer`, or no free port.
    pub fn connect(peer: SocketAddr) -> io::Result<BatchSocket> {
        match ambient::kind() {
            WorldKind::Sim => {
                sim::UdpSocket::bind(([0; 4], 0).into()).map(|s| BatchSocket(BatchBackend::Sim(s)))
            }
            _ => real::BatchSocket::connect(peer).map(|s| BatchSocket(BatchBackend::Real(s))),
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            BatchBackend::Sim(socket) => Ok(socket.local_addr()),
            BatchBackend::Real(socket) => socket.local_addr(),
        }
    }

    /// Sends the datagrams of `transmit`. In the simulated world those larger than the path's MTU are dropped on the way.
    ///
    /// # Errors
    /// As the kernel's `sendmsg`; [`io::ErrorKind::WouldBlock`] if it takes no more now.
    pub fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match &self.0 {
            BatchBackend::Sim(socket) => socket.transmit(transmit),
            BatchBackend::Real(socket) => socket.try_send(transmit),
        }
    }

    /// Waits until the socket may take more; `None` if it always does, like the simulated one.
    pub fn writable(&self) -> Option<Writable> {
        match &self.0 {
            BatchBackend::Sim(_) => None,
            BatchBackend::Real(socket) => Some(socket.writable()),
        }
    }

    /// Receives datagrams into `bufs`, and their metadata into `metas`; returns the number of buffers filled.
    ///
    /// # Errors
    /// As the kernel's `recvmsg`.
    pub fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        match &self.0 {
            BatchBackend::Sim(socket) => socket.poll_receive(cx, bufs, metas).map(Ok),
            BatchBackend::Real(socket) => socket.poll_receive(cx, bufs, metas),
        }
    }

    /// Maximum number of datagrams sent in one piece.
    pub fn max_transmit_segments(&self) -> usize {
        match &self.0 {
            BatchBackend::Sim(_) => SEGMENTS,
            BatchBackend::Real(socket) => socket.max_transmit_segments(),
        }
    }

    /// Maximum number of datagrams received in one piece.
    pub fn max_receive_segments(&self) -> usize {
        match &self.0 {
            BatchBackend::Sim(_) => 1,
            BatchBackend::Real(socket) => socket.max_receive_segments(),
        }
    }

    /// True if datagrams might be fragmented on their way.
    pub fn may_fragment(&self) -> bool {
        match &self.0 {
            BatchBackend::Sim(_) => false,
            BatchBackend::Real(socket) => socket.may_fragment(),
        }
    }
}
