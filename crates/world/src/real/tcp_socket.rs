//! The kernel's TCP sockets.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::clock;
use super::inherited::inherited;
use super::recorder::{self, RecordedConnection};

/// Maximum number of connections that wait to be accepted (nginx's default on Linux).
const BACKLOG: u32 = 511;

/// A connection. Nagle's algorithm is off.
pub(crate) struct TcpStream {
    /// Before the socket, so that the last inspection sees an open one.
    _ticket: Option<RecordedConnection>,
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

    /// `TCP_NOTSENT_LOWAT`, if the kernel has it.
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

    /// Makes the next close send a reset.
    pub(crate) fn abort(&self) {
        // If the kernel refuses, the following close is an ordinary one.
        drop(socket2::SockRef::from(&self.socket).set_linger(Some(Duration::ZERO)));
    }

    /// The kernel closes the sockets of a process that dies, as the process itself would have.
    pub(crate) fn set_resets_if_orphaned(&self, resets: bool) {
        // If the kernel refuses, that close is an ordinary one.
        drop(socket2::SockRef::from(&self.socket).set_linger(resets.then_some(Duration::ZERO)));
    }

    /// `TCP_CONGESTION`, if the kernel has it.
    pub(crate) fn set_congestion(&self, name: &str) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            socket2::SockRef::from(&self.socket).set_tcp_congestion(name.as_bytes())
        }
        #[cfg(not(target_os = "linux"))]
        {
            let message = format!("congestion control ({name}) is chosen on Linux only");
            Err(io::Error::new(io::ErrorKind::Unsupported, message))
        }
    }

    /// `SO_ORIGINAL_DST`, otherwise the local address.
    pub(crate) fn original_destination(&self) -> io::Result<SocketAddr> {
        let local = self.socket.local_addr()?;
        #[cfg(target_os = "linux")]
        {
            let socket = socket2::SockRef::from(&self.socket);
            let asked = match local {
                SocketAddr::V4(_) => socket.original_dst_v4(),
                SocketAddr::V6(_) => socket.original_dst_v6(),
            };
            // ENOENT and ENOPROTOOPT: no translation is on record, or the kernel has none.
            Ok(asked.ok().and_then(|address| address.as_socket()).unwrap_or(local))
        }
        #[cfg(not(target_os = "linux"))]
        {
            Ok(local)
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

fn new_socket(address: SocketAddr) -> io::Result<tokio::net::TcpSocket> {
    match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4(),
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6(),
    }
}

/// A socket that accepts connections.
pub(crate) struct TcpListener {
    socket: tokio::net::TcpListener,
    /// True if others may go on listening with it.
    is_inherited: bool,
}

impl TcpListener {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
        if let Some(socket) = inherited(address)? {
            let socket = tokio::net::TcpListener::from_std(socket)?;
            return Ok(TcpListener { socket, is_inherited: true });
        }
        TcpListener::listen(new_socket(address)?, address)
    }

    /// A socket for connections to other addresses, too (`IP_TRANSPARENT`, `IPV6_TRANSPARENT`).
    pub(crate) fn bind_transparent(address: SocketAddr) -> io::Result<TcpListener> {
        let socket = new_socket(address)?;
        #[cfg(target_os = "linux")]
        match address {
            SocketAddr::V4(_) => {
                socket2::SockRef::from(&socket).set_ip_transparent_v4(true)?;
                TcpListener::listen(socket, address)
            }
            SocketAddr::V6(_) => {
                let message = "connections over IPv6 are not taken over by TPROXY";
                Err(io::Error::new(io::ErrorKind::Unsupported, message))
            }
        }
        #[cfg(not(target_os = "linux"))]
        {
            drop(socket);
            let message = "connections to other addresses are accepted on Linux only";
            Err(io::Error::new(io::ErrorKind::Unsupported, message))
        }
    }

    fn listen(socket: tokio::net::TcpSocket, address: SocketAddr) -> io::Result<TcpListener> {
        socket.set_reuseaddr(true)?;
        #[cfg(target_os = "linux")]
        socket.set_reuseport(true)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        Ok(TcpListener { socket, is_inherited: false })
    }

    pub(crate) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (socket, peer) = self.socket.accept().await?;
        Ok((TcpStream::adopt(socket, None)?, peer))
    }

    /// The next waiting connection, without waiting; asks the kernel itself, for the runtime may not know of it yet.
    pub(crate) fn accept_waiting(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        let socket = match socket2::SockRef::from(&self.socket).accept() {
            Ok((socket, _)) => std::net::TcpStream::from(socket),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        socket.set_nonblocking(true)?;
        let peer = socket.peer_addr()?;
        let socket = tokio::net::TcpStream::from_std(socket)?;
        Ok(Some((TcpStream::adopt(socket, None)?, peer)))
    }

    /// Drops the first packet of every handshake from now on; those under way may finish. If that is not possible, the queue becomes as
    /// short as possible: Linux then drops them while one connection waits to be accepted. New connections to an inherited socket wait
    /// for the next process.
    pub(crate) fn refuse_handshakes(&self) -> io::Result<()> {
        if self.is_inherited {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        {
            let socket = socket2::SockRef::from(&self.socket);
            socket.attach_filter(&DROP_SYN).inspect_err(|_| drop(socket.listen(0)))
        }
        #[cfg(not(target_os = "linux"))]
        {
            let message = "handshakes are refused on Linux only";
            Err(io::Error::new(io::ErrorKind::Unsupported, message))
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// For `SO_ATTACH_FILTER`, in classic BPF: the data passed to a TCP socket's filter begins with the TCP header (RFC 9293 section 3.1), whose byte
/// 13 has the flags. Connections inherit it from the socket that accepted them; none of their packets is a SYN without ACK.
#[cfg(target_os = "linux")]
static DROP_SYN: [socket2::SockFilter; 5] = {
    use socket2::SockFilter;

    const LOAD_BYTE: u16 = 0x30;
    const AND: u16 = 0x54;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    [
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ]
};
