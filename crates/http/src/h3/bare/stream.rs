//! A connection's stream, for reading and writing bytes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::Shared;

/// The fate of the written bytes after the end: acknowledged, unwanted, or lost with the connection.
type Told = Pin<Box<dyn Future<Output = io::Result<()>>>>;

/// Both directions of a stream. Dropping it ends the sending direction and stops the receiving one.
pub struct Stream {
    send: quinn::SendStream,
    receive: quinn::RecvStream,
    ended: Option<Told>,
    connection: Rc<Shared>,
}

impl Stream {
    pub(super) fn new(
        (send, receive): (quinn::SendStream, quinn::RecvStream),
        connection: Rc<Shared>,
    ) -> Stream {
        Stream { send, receive, ended: None, connection }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(AsyncRead::poll_read(Pin::new(&mut self.receive), cx, buf))?;
        let read = (buf.filled().len() - before) as u64;
        self.connection.tally.borrow_mut().received_bytes += read;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.connection.make_room();
        let written = ready!(AsyncWrite::poll_write(Pin::new(&mut self.send), cx, bytes))?;
        self.connection.tally.borrow_mut().sent_bytes += written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends the stream, and waits until all bytes are acknowledged or unwanted: a closed connection retransmits nothing.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ended.is_none() {
            // It has ended before: the wait is for that end.
            drop(self.send.finish());
            let stopped = self.send.stopped();
            self.ended = Some(Box::pin(async move { Ok(stopped.await.map(drop)?) }));
        }
        self.ended.as_mut().expect("it was put there").as_mut().poll(cx)
    }
}
