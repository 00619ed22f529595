//! The kernel's TCP sockets.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::clock;
use super::recorder::{self, Ticket};

/// As many connections as may wait to be accepted (nginx's default on Linux).
const BACKLOG: u32 = 511;

/// A connection. Nagle's algorithm is off.
pub(crate) struct TcpStream {
    /// Before the socket, so that the last look is at an open one.
    _ticket: Option<Ticket>,
    socket: tokio::net::TcpStream,
}

impl TcpStream {
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
        let asked_at = clock::now();
        let socket = tokio::net::TcpStream::connect(address).await?;
        TcpStream::adopt(socket, Some(asked_at))
    }

    fn adopt(
        socket: tokio::net::TcpStream,
        asked_at: Option<units::Time>,
    ) -> io::Result<TcpStream> {
        socket.set_nodelay(true)?;
        Ok(TcpStream { _ticket: recorder::connected(&socket, asked_at)?, socket })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// `TCP_NOTSENT_LOWAT`, where the kernel has it.
    pub(crate) fn set_notsent_lowat(&self, bytes: u32) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            socket2::SockRef::from(&self.socket).set_tcp_notsent_lowat(bytes)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = bytes;
            let message = "TCP_NOTSENT_LOWAT is set on Linux only";
            Err(io::Error::new(io::ErrorKind::Unsupported, message))
        }
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }

    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, data)
    }

    pub(crate) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, parts)
    }

    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// A socket that accepts connections.
pub(crate) struct TcpListener(tokio::net::TcpListener);

impl TcpListener {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        let socket = match address {
            SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
            SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
        };
        socket.set_reuseaddr(true)?;
        #[cfg(target_os = "linux")]
        socket.set_reuseport(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG).map(TcpListener)
    }

    pub(crate) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (socket, peer) = self.0.accept().await?;
        Ok((TcpStream::adopt(socket, None)?, peer))
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
