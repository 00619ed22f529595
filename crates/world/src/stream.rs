//! TCP streams and listeners of either world.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::ambient::{self, Kind};
use crate::{real, sim};

/// A TCP connection. Nagle's algorithm is off, as in browsers and web servers.
///
/// Reads and writes go through tokio's [`AsyncRead`] and [`AsyncWrite`] traits, which every HTTP and
/// TLS library speaks. Vectored writes reach the transport as one write.
pub struct TcpStream(Stream);

enum Stream {
    Sim(sim::TcpStream),
    Real(tokio::net::TcpStream),
}

impl TcpStream {
    /// Opens a connection; completes when the transport's handshake is done.
    ///
    /// # Errors
    /// As the kernel's: refused, timed out, unreachable.
    pub async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
        match ambient::kind() {
            Kind::Sim => sim::TcpStream::connect(address).await.map(|s| TcpStream(Stream::Sim(s))),
            _ => real::connect(address).await.map(|s| TcpStream(Stream::Real(s))),
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Stream::Sim(stream) => Ok(stream.local_addr()),
            Stream::Real(stream) => stream.local_addr(),
        }
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Stream::Sim(stream) => Ok(stream.peer_addr()),
            Stream::Real(stream) => stream.peer_addr(),
        }
    }

    /// Lets the stream be writable only while less than `bytes` lie unsent in the transport
    /// (`TCP_NOTSENT_LOWAT`), so that what is written can still be reordered above it.
    ///
    /// # Errors
    /// If the kernel refuses the option.
    pub fn set_notsent_lowat(&self, bytes: u32) -> io::Result<()> {
        match &self.0 {
            Stream::Sim(stream) => {
                stream.set_notsent_lowat(bytes);
                Ok(())
            }
            Stream::Real(stream) => real::set_notsent_lowat(stream, bytes),
        }
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Stream::Sim(stream) => stream.poll_read(cx, buf),
            Stream::Real(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Stream::Sim(stream) => stream.poll_write_vectored(cx, &[IoSlice::new(data)]),
            Stream::Real(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Stream::Sim(stream) => stream.poll_write_vectored(cx, parts),
            Stream::Real(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Stream::Sim(stream) => {
                stream.shutdown();
                Poll::Ready(Ok(()))
            }
            Stream::Real(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// A socket that accepts TCP connections.
pub struct TcpListener(Listener);

enum Listener {
    Sim(sim::TcpListener),
    Real(tokio::net::TcpListener),
}

impl TcpListener {
    /// Listens on `address`. Several listeners of the real world may share an address, one a core
    /// (`SO_REUSEPORT`); port 0 picks a free one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        match ambient::kind() {
            Kind::Sim => sim::TcpListener::bind(address).map(|l| TcpListener(Listener::Sim(l))),
            _ => real::listen(address).map(|l| TcpListener(Listener::Real(l))),
        }
    }

    /// The next connection, and where it comes from.
    ///
    /// # Errors
    /// As the kernel's `accept`: out of descriptors, aborted connections.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.0 {
            Listener::Sim(listener) => {
                let (stream, peer) = listener.accept().await;
                Ok((TcpStream(Stream::Sim(stream)), peer))
            }
            Listener::Real(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok((TcpStream(Stream::Real(stream)), peer))
            }
        }
    }

    /// The address listened on.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            Listener::Sim(listener) => Ok(listener.local_addr()),
            Listener::Real(listener) => listener.local_addr(),
        }
    }
}
