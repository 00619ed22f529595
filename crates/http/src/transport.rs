//! What HTTP runs on.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use world::TcpStream;
use world::sim::HeldNotes;

use tls::Stream;

/// A stream below HTTP.
pub trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Where HTTP notes how many bytes it has ready and has not handed down; `None` if nobody wants to know.
    fn held(&self) -> Option<HeldNotes>;

    /// The address of the other end, if it has one.
    fn peer(&self) -> Option<SocketAddr> {
        None
    }

    /// The stream's end, when it is dropped, shall be no orderly one.
    fn abort(&mut self) {}

    /// Whether nobody else reads what passes.
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
        // In a tunnel TLS ends without saying so, which its client takes for what it is.
        if let Some(tcp) = self.tcp() {
            tcp.abort_on_drop();
        }
    }

    fn is_secure(&self) -> bool {
        Stream::is_secure(self)
    }
}
