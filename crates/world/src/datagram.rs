//! UDP sockets of either world.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use tokio::io::ReadBuf;

use crate::ambient::{self, Kind};
use crate::{real, sim};

/// A UDP socket.
pub struct UdpSocket(Socket);

enum Socket {
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
            Kind::Sim => sim::UdpSocket::bind(address).map(|s| UdpSocket(Socket::Sim(s))),
            _ => real::bind_udp(address).map(|s| UdpSocket(Socket::Real(s))),
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

    /// Sends one datagram.
    ///
    /// # Errors
    /// As the kernel's `sendto`. In the simulated world a datagram larger than the path's MTU is
    /// dropped on the way, without an error.
    pub async fn send_to(&self, data: &[u8], to: SocketAddr) -> io::Result<()> {
        match &self.0 {
            Socket::Sim(socket) => socket.send_to(data, to),
            Socket::Real(socket) => socket.send_to(data, to).await.map(drop),
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
            Socket::Sim(socket) => socket.poll_recv_from(cx, buf).map(Ok),
            Socket::Real(socket) => socket.poll_recv_from(cx, buf),
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
