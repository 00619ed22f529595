//! (placeholder on a working branch: the simulated world replaces this file)
#![allow(missing_docs)]
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::task::{Context, Poll};
use tokio::io::ReadBuf;
pub enum TcpStream {}
impl TcpStream {
    pub async fn connect(_: SocketAddr) -> io::Result<TcpStream> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub fn local_addr(&self) -> SocketAddr {
        match *self {}
    }
    pub fn peer_addr(&self) -> SocketAddr {
        match *self {}
    }
    pub fn set_notsent_lowat(&self, _: u32) {
        match *self {}
    }
    pub fn poll_read(&mut self, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
    pub fn poll_write_vectored(
        &mut self,
        _: &mut Context<'_>,
        _: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match *self {}
    }
    pub fn shutdown(&mut self) {
        match *self {}
    }
}
pub enum TcpListener {}
impl TcpListener {
    pub fn bind(_: SocketAddr) -> io::Result<TcpListener> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub async fn accept(&self) -> (TcpStream, SocketAddr) {
        match *self {}
    }
    pub fn local_addr(&self) -> SocketAddr {
        match *self {}
    }
}
pub enum UdpSocket {}
impl UdpSocket {
    pub fn bind(_: SocketAddr) -> io::Result<UdpSocket> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub fn local_addr(&self) -> SocketAddr {
        match *self {}
    }
    pub fn send_to(&self, _: &[u8], _: SocketAddr) -> io::Result<()> {
        match *self {}
    }
    pub fn poll_recv_from(&self, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<SocketAddr> {
        match *self {}
    }
}
pub(crate) mod clock {
    pub(crate) fn now() -> units::Time {
        unreachable!()
    }
    pub(crate) enum Timer {}
    impl Timer {
        pub(crate) fn new(_: units::Time) -> Timer {
            unreachable!()
        }
        pub(crate) fn poll(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<()> {
            match *self {}
        }
    }
}
pub(crate) mod executor {
    pub(crate) fn spawn(_: std::pin::Pin<Box<dyn Future<Output = ()>>>) {
        unreachable!()
    }
}
