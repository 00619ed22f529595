//! TCP streams and listeners of either world.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::ambient::{self, WorldKind};
use crate::{real, sim};

/// A TCP connection. Nagle's algorithm is off, as in browsers and web servers.
///
/// Reads and writes go through tokio's [`AsyncRead`] and [`AsyncWrite`] traits, which every HTTP and
/// TLS library speaks. Vectored writes reach the transport as one write.
pub struct TcpStream {
    backend: StreamBackend,
    /// Address of the other end that a load balancer has told; boxed, since it is rare.
    told_peer: Option<Box<SocketAddr>>,
}

enum StreamBackend {
    Sim(sim::TcpStream),
    Real(real::TcpStream),
}

impl From<StreamBackend> for TcpStream {
    fn from(backend: StreamBackend) -> TcpStream {
        TcpStream { backend, told_peer: None }
    }
}

impl TcpStream {
    /// Opens a connection; completes when the transport's handshake is done.
    ///
    /// # Errors
    /// As the kernel's: refused, timed out, unreachable.
    pub async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
        match ambient::kind() {
            WorldKind::Sim => {
                sim::TcpStream::connect(address).await.map(|s| StreamBackend::Sim(s).into())
            }
            _ => real::TcpStream::connect(address).await.map(|s| StreamBackend::Real(s).into()),
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.backend {
            StreamBackend::Sim(stream) => Ok(stream.local_addr()),
            StreamBackend::Real(stream) => stream.local_addr(),
        }
    }

    /// The address of the other end, or that of the client behind it ([`TcpStream::report_peer`]).
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        if let Some(told) = &self.told_peer {
            return Ok(**told);
        }
        match &self.backend {
            StreamBackend::Sim(stream) => Ok(stream.peer_addr()),
            StreamBackend::Real(stream) => stream.peer_addr(),
        }
    }

    /// Makes the stream writable only while less than `bytes` lie unsent in the transport
    /// (`TCP_NOTSENT_LOWAT`), so that data can still be reordered above it.
    ///
    /// # Errors
    /// If the kernel refuses the option.
    pub fn set_notsent_lowat(&self, bytes: u32) -> io::Result<()> {
        match &self.backend {
            StreamBackend::Sim(stream) => {
                stream.set_notsent_lowat(bytes);
                Ok(())
            }
            StreamBackend::Real(stream) => stream.set_notsent_lowat(bytes),
        }
    }
}

/// For intermediaries between two connections.
impl TcpStream {
    /// Sets the address that [`TcpStream::peer_addr`] returns: that of the client of a load balancer, which has told it.
    pub fn report_peer(&mut self, client: SocketAddr) {
        self.told_peer = Some(Box::new(client));
    }

    /// Aborts the connection: the peer sees a reset, not an end (RFC 9293 section 3.10.5). Unacknowledged data is lost.
    pub fn abort(self) {
        match &self.backend {
            StreamBackend::Sim(stream) => stream.abort(),
            StreamBackend::Real(stream) => stream.abort(),
        }
    }

    /// Aborts the connection when the stream is dropped: nothing can be read or written any more.
    pub fn abort_on_drop(&self) {
        match &self.backend {
            StreamBackend::Sim(stream) => stream.abort(),
            StreamBackend::Real(stream) => stream.abort(),
        }
    }

    /// Sets whether the peer sees a reset instead of an end if this process dies before it closes the connection. No effect in the simulated
    /// world, where processes do not die.
    pub fn set_resets_if_orphaned(&self, resets: bool) {
        match &self.backend {
            StreamBackend::Sim(_) => {}
            StreamBackend::Real(stream) => stream.set_resets_if_orphaned(resets),
        }
    }

    /// Chooses the congestion control of this connection (`TCP_CONGESTION`).
    ///
    /// If the kernel has none of this name or reserves it for root (`net.ipv4.tcp_allowed_congestion_control`). In the simulated world all
    /// connections of a node are configured by the plan: there it is [unsupported](io::ErrorKind::Unsupported).
    pub fn set_congestion(&self, name: &str) -> io::Result<()> {
        match &self.backend {
            StreamBackend::Sim(_) => Err(unsimulated("a connection's own congestion control")),
            StreamBackend::Real(stream) => stream.set_congestion(name),
        }
    }

    /// Original destination of an accepted connection that the kernel redirected here: by `REDIRECT` (`SO_ORIGINAL_DST`) or by `TPROXY`
    /// (then it is the local address, as for a connection that was not redirected).
    ///
    /// # Errors
    /// If the kernel does not tell. (In the simulated world it is the local address: see [`sim::SimPlan::lead`].)
    pub fn original_destination(&self) -> io::Result<SocketAddr> {
        match &self.backend {
            StreamBackend::Sim(stream) => Ok(stream.local_addr()),
            StreamBackend::Real(stream) => stream.original_destination(),
        }
    }
}

fn unsimulated(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("{what} is not simulated"))
}

/// For time series.
impl TcpStream {
    /// Recorder of the data held above the transport. `None` if it is not recorded: in the real world, and unless
    /// the simulated one [records series](sim::Plan::record_series).
    pub fn held(&self) -> Option<sim::HeldNotes> {
        match &self.backend {
            StreamBackend::Sim(stream) => stream.held(),
            StreamBackend::Real(_) => None,
        }
    }
}

/// Shared bytes in and out: data already in memory need not be copied into the simulated network.
impl TcpStream {
    /// Writes all of `data`. The simulated world shares it; the kernel copies it.
    ///
    /// # Errors
    /// As the kernel's `write`.
    pub async fn write_bytes(&mut self, mut data: Bytes) -> io::Result<()> {
        while !data.is_empty() {
            if poll_fn(|cx| self.poll_write_bytes(cx, &mut data)).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    /// Writes a prefix of `data` and removes it from it; returns its length.
    ///
    /// # Errors
    /// As the kernel's `write`.
    pub fn poll_write_bytes(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Bytes,
    ) -> Poll<io::Result<usize>> {
        match &mut self.backend {
            StreamBackend::Sim(stream) => stream.poll_write_bytes(cx, data),
            StreamBackend::Real(stream) => stream.poll_write(cx, data).map_ok(|written| {
                data.advance(written);
                written
            }),
        }
    }

    /// Reads available data, at most `max` bytes; empty at the end of the stream.
    ///
    /// # Errors
    /// As the kernel's `read`.
    pub async fn read_bytes(&mut self, max: usize) -> io::Result<Bytes> {
        match &mut self.backend {
            StreamBackend::Sim(stream) => poll_fn(|cx| stream.poll_read_bytes(cx, max)).await,
            StreamBackend::Real(stream) => {
                let mut buffer = vec![0; max];
                let mut unfilled = ReadBuf::new(&mut buffer);
                poll_fn(|cx| stream.poll_read(cx, &mut unfilled)).await?;
                let read = unfilled.filled().len();
                buffer.truncate(read);
                Ok(buffer.into())
            }
        }
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.backend {
            StreamBackend::Sim(stream) => stream.poll_read(cx, buf),
            StreamBackend::Real(stream) => stream.poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.backend {
            StreamBackend::Sim(stream) => stream.poll_write_vectored(cx, &[IoSlice::new(data)]),
            StreamBackend::Real(stream) => stream.poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.backend {
            StreamBackend::Sim(stream) => stream.poll_write_vectored(cx, parts),
            StreamBackend::Real(stream) => stream.poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.backend {
            StreamBackend::Sim(stream) => {
                stream.shutdown();
                Poll::Ready(Ok(()))
            }
            StreamBackend::Real(stream) => stream.poll_shutdown(cx),
        }
    }
}

/// A socket that accepts TCP connections.
pub struct TcpListener(ListenerBackend);

enum ListenerBackend {
    Sim(sim::TcpListener),
    Real(real::TcpListener),
}

impl TcpListener {
    /// Listens on `address`. Several listeners of the real world may share an address, one per core
    /// (`SO_REUSEPORT`); port 0 picks a free one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        match ambient::kind() {
            WorldKind::Sim => {
                sim::TcpListener::bind(address).map(|l| TcpListener(ListenerBackend::Sim(l)))
            }
            _ => real::TcpListener::bind(address).map(|l| TcpListener(ListenerBackend::Real(l))),
        }
    }

    /// Listens on `address`, which may be another host's, for connections redirected here: by the kernel, by routes or `TPROXY`
    /// (`IP_TRANSPARENT`), or by a simulated world's [plan](sim::Plan::lead).
    ///
    /// # Errors
    /// As [`TcpListener::bind`]; in the real world without the capability `CAP_NET_ADMIN`.
    pub fn bind_transparent(address: SocketAddr) -> io::Result<TcpListener> {
        match ambient::kind() {
            WorldKind::Sim => sim::TcpListener::bind_transparent(address)
                .map(|l| TcpListener(ListenerBackend::Sim(l))),
            _ => real::TcpListener::bind_transparent(address)
                .map(|listener| TcpListener(ListenerBackend::Real(listener))),
        }
    }

    /// The next connection, and its peer's address.
    ///
    /// # Errors
    /// As the kernel's `accept`: out of descriptors, aborted connections.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.0 {
            ListenerBackend::Sim(listener) => {
                let (stream, peer) = listener.accept().await;
                Ok((StreamBackend::Sim(stream).into(), peer))
            }
            ListenerBackend::Real(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((StreamBackend::Real(stream).into(), peer))
            }
        }
    }

    /// The next connection in the accept queue; `None` if there is none. Does not wait.
    ///
    /// # Errors
    /// As [`TcpListener::accept`].
    pub fn accept_waiting(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        match &self.0 {
            ListenerBackend::Sim(listener) => Ok(listener
                .accept_waiting()
                .map(|(stream, peer)| (StreamBackend::Sim(stream).into(), peer))),
            ListenerBackend::Real(listener) => Ok(listener
                .accept_waiting()?
                .map(|(stream, peer)| (StreamBackend::Real(stream).into(), peer))),
        }
    }

    /// Begins to close the port: no new handshakes begin, and those under way may be completed and accepted. A listener that is dropped
    /// without this aborts connections that its clients believe to be open. In the kernel, SYNs get no reply meanwhile, and a reset
    /// once the port is closed.
    ///
    /// # Errors
    /// If the kernel has no socket filters: new handshakes can then only be limited.
    pub fn refuse_handshakes(&self) -> io::Result<()> {
        match &self.0 {
            ListenerBackend::Sim(listener) => {
                listener.refuse_handshakes();
                Ok(())
            }
            ListenerBackend::Real(listener) => listener.refuse_handshakes(),
        }
    }

    /// The address listened on.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.0 {
            ListenerBackend::Sim(listener) => Ok(listener.local_addr()),
            ListenerBackend::Real(listener) => listener.local_addr(),
        }
    }
}
