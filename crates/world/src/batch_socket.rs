//! UDP sockets for QUIC: many datagrams per call, with their ECN fields, never fragmented.
//!
//! Datagrams and their metadata have the types of `quinn-udp`, on which the real world's sockets are based; the simulated ones
//! behave like Linux's: they take up to 64 datagrams of one size in one piece, each of which then crosses the links separately.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

pub use quinn_udp::{EcnCodepoint, RecvMeta, Transmit};

use crate::ambient::{self, Kind};
use crate::{real, sim};

/// `UDP_MAX_SEGMENTS` of Linux before 6.9, as quinn-udp assumes.
const SEGMENTS: usize = 64;

/// A UDP socket for whole batches of datagrams.
#[derive(Debug)]
pub struct BatchSocket(Socket);

#[derive(Debug)]
enum Socket {
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
            Kind::Sim => sim::UdpSocket::bind(address).map(|s| BatchSocket(Socket::Sim(s))),
            _ => real::BatchSocket::bind(address).map(|s| BatchSocket(Socket::Real(s))),
        }
    }

    /// Binds to `address`, shared with other sockets bound in this way: the kernel (Linux) distributes clients among them by address, as
    /// with TCP listeners. (In the simulated world there is only one.)
    ///
    /// # Errors
    /// If the address is in exclusive use, or is not ours.
    pub fn bind_shared(address: SocketAddr) -> io::Result<BatchSocket> {
        match ambient::kind() {
            Kind::Sim => BatchSocket::bind(address),
            _ => real::BatchSocket::bind_shared(address).map(|s| BatchSocket(Socket::Real(s))),
        }
    }

    /// Binds to a free port, to talk to `peer` alone. (In the simulated world others could reach it, if they knew of it.)
    ///
    /// # Errors
    /// If there is no route to `peer`, or no free port.
    pub fn connect(peer: SocketAddr) -> io::Result<BatchSocket> {
        match ambient::kind() {
            Kind::Sim => {
                sim::UdpSocket::bind(([0; 4], 0).into()).map(|s| BatchSocket(Socket::Sim(s)))
            }
            _ => real::BatchSocket::connect(peer).map(|s| BatchSocket(Socket::Real(s))),
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Socket::Sim(socket) => Ok(socket.local_addr()),
            Socket::Real(socket) => socket.local_addr(),
        }
    }

    /// Sends the datagrams of `transmit`. In the simulated world those larger than the path's MTU are dropped on the way.
    ///
    /// # Errors
    /// As the kernel's `sendmsg`; [`io::ErrorKind::WouldBlock`] if it takes no more now.
    pub fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match &self.0 {
            Socket::Sim(socket) => socket.transmit(transmit),
            Socket::Real(socket) => socket.try_send(transmit),
        }
    }

    /// Waits until the socket may take more; `None` if it always does, like the simulated one.
    pub fn writable(&self) -> Option<Writable> {
        match &self.0 {
            Socket::Sim(_) => None,
            Socket::Real(socket) => Some(socket.writable()),
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
            Socket::Sim(socket) => socket.poll_receive(cx, bufs, metas).map(Ok),
            Socket::Real(socket) => socket.poll_receive(cx, bufs, metas),
        }
    }

    /// Maximum number of datagrams sent in one piece.
    pub fn max_transmit_segments(&self) -> usize {
        match &self.0 {
            Socket::Sim(_) => SEGMENTS,
            Socket::Real(socket) => socket.max_transmit_segments(),
        }
    }

    /// Maximum number of datagrams received in one piece.
    pub fn max_receive_segments(&self) -> usize {
        match &self.0 {
            Socket::Sim(_) => 1,
            Socket::Real(socket) => socket.max_receive_segments(),
        }
    }

    /// True if datagrams might be fragmented on their way.
    pub fn may_fragment(&self) -> bool {
        match &self.0 {
            Socket::Sim(_) => false,
            Socket::Real(socket) => socket.may_fragment(),
        }
    }
}
