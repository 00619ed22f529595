//! Writes on streams that make their own records.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use world::TcpStream;

/// A stream that puts writes into records and hands them to TCP. No record is made before the transport has accepted
/// all earlier ones.
pub(super) trait Sealing {
    /// Makes records of `parts` or a prefix of them; returns the number of bytes.
    fn seal(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Makes the record that ends the stream.
    fn seal_end(&mut self);

    /// Hands all records to the transport.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// The transport.
    fn transport(&mut self) -> &mut TcpStream;

    /// Seals as much of `parts` as there is room for, whether or not the transport accepts all of it now.
    fn poll_seal(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        let sealed = self.seal(parts)?;
        match self.poll_drain(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(sealed)),
        }
    }

    /// Ready when the transport has accepted everything.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(self.transport()).poll_flush(cx)
    }

    /// Ends the stream.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.seal_end();
        ready!(self.poll_drain(cx))?;
        Pin::new(self.transport()).poll_shutdown(cx)
    }
}
