//! The kernel's UDP sockets, and those with all features that QUIC needs.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

pub(crate) fn bind_udp(address: SocketAddr) -> io::Result<tokio::net::UdpSocket> {
    let socket = std::net::UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    tokio::net::UdpSocket::from_std(socket)
}

// The kernel's UDP sockets with all features that QUIC needs, by `quinn-udp`: segmentation and merging of datagrams, ECN, no fragments.

/// Receive buffer of a port to which all clients send: 16 ms of traffic at 1 Gbit/s. The kernel grants it up to
/// `net.core.rmem_max`.
const SHARED_RECEIVE_BYTES: usize = 2 << 20;

/// A socket and its kernel's capabilities.
#[derive(Debug)]
pub(crate) struct BatchSocket {
    socket: Arc<UdpSocket>,
    state: UdpSocketState,
}

impl BatchSocket {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<BatchSocket> {
        BatchSocket::adopt(super::bind_udp(address)?)
    }

    pub(crate) fn bind_shared(address: SocketAddr) -> io::Result<BatchSocket> {
        let domain = Domain::for_address(address);
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        #[cfg(target_os = "linux")]
        socket.set_reuse_port(true)?;
        // If it is refused, the port has the default buffer.
        let _ = socket.set_recv_buffer_size(SHARED_RECEIVE_BYTES);
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        BatchSocket::adopt(UdpSocket::from_std(socket.into())?)
    }

    pub(crate) fn connect(peer: SocketAddr) -> io::Result<BatchSocket> {
        let any: SocketAddr =
            if peer.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
        let socket = std::net::UdpSocket::bind(any)?;
        socket.connect(peer)?;
        socket.set_nonblocking(true)?;
        BatchSocket::adopt(UdpSocket::from_std(socket)?)
    }

    fn adopt(socket: UdpSocket) -> io::Result<BatchSocket> {
        let state = UdpSocketState::new((&socket).into())?;
        Ok(BatchSocket { socket: Arc::new(socket), state })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub(crate) fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.socket
            .try_io(Interest::WRITABLE, || self.state.send(self.socket.as_ref().into(), transmit))
    }

    pub(crate) fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_recv_ready(cx))?;
            let received = self.socket.try_io(Interest::READABLE, || {
                self.state.recv(self.socket.as_ref().into(), bufs, metas)
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return Poll::Ready(received),
            }
        }
    }

    pub(crate) fn writable(&self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>> {
        let socket = Arc::clone(&self.socket);
        Box::pin(async move { socket.writable().await })
    }

    pub(crate) fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    pub(crate) fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    pub(crate) fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}
