//! The transport below HTTP.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use world::TcpStream;
use world::sim::HeldNotes;

use tls::Stream;

/// A stream below HTTP.
pub trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Receiver of notes on the bytes that HTTP has ready and has not handed down; `None` if they are unwanted.
    fn held(&self) -> Option<HeldNotes>;

    /// The address of the other end, if it has one.
    fn peer(&self) -> Option<SocketAddr> {
        None
    }

    /// Makes the stream end with an error, not cleanly, when it is dropped.
    fn abort(&mut self) {}

    /// Returns true if the stream is confidential.
    fn is_secure(&self) -> bool {
        false
    }
}

impl Transport for TcpStream {
    fn held(&self) -> Option<HeldNotes> {
        TcpStream::held(self)
    }

    fn peer(&self) -> Option<SocketAddr> {
        self.peer_addr().ok()
    }

    fn abort(&mut self) {
        self.abort_on_drop();
    }
}

impl Transport for Stream {
    fn held(&self) -> Option<HeldNotes> {
        self.tcp()?.held()
    }

    fn peer(&self) -> Option<SocketAddr> {
        Stream::peer(self)
    }

    fn abort(&mut self) {
        // In a tunnel TLS ends without close_notify, which its client recognises as an early end.
        if let Some(tcp) = self.tcp() {
            tcp.abort_on_drop();
        }
    }

    fn is_secure(&self) -> bool {
        Stream::is_secure(self)
    }
}
