//! Writing on streams that make their own records.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use world::TcpStream;

/// A stream that makes records of what is written and hands them to TCP. Nothing becomes a record before the transport took all records made
/// earlier.
pub(super) trait Sealing {
    /// Makes records of `parts` or their beginning; gives how many bytes that were.
    fn seal(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Makes the record that says that nothing follows.
    fn seal_end(&mut self);

    /// Hands all records to the transport.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// The transport.
    fn transport(&mut self) -> &mut TcpStream;

    /// Takes what becomes of `parts` as far as there is room, whether or not the transport takes all of it now.
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

    /// Ready when the transport has taken all.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        Pin::new(self.transport()).poll_flush(cx)
    }

    /// Says that nothing follows.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.seal_end();
        ready!(self.poll_drain(cx))?;
        Pin::new(self.transport()).poll_shutdown(cx)
    }
}
