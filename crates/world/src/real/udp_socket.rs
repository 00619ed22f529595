//! The kernel's UDP sockets.

use std::io;
use std::net::SocketAddr;

pub(crate) fn bind_udp(address: SocketAddr) -> io::Result<tokio::net::UdpSocket> {
    let socket = std::net::UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    tokio::net::UdpSocket::from_std(socket)
}
