//! What HTTP runs on.

use tokio::io::{AsyncRead, AsyncWrite};
use world::TcpStream;
use world::sim::HeldNotes;

use crate::tls::Stream;

/// A stream below HTTP.
pub trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Where HTTP notes how many bytes it has ready and has not handed down; `None` if nobody wants to know.
    fn held(&self) -> Option<HeldNotes>;
}

impl Transport for TcpStream {
    fn held(&self) -> Option<HeldNotes> {
        TcpStream::held(self)
    }
}

impl Transport for Stream {
    fn held(&self) -> Option<HeldNotes> {
        self.tcp().held()
    }
}
