//! A TLS 1.3 server's stream that accepts early data and answers it at once.
//!
//! Requests in the client's first flight (RFC 8446 section 2.3) are read before the handshake completes, and responses
//! follow the server's Finished without waiting for the client's. tokio-rustls hands out a server's stream only after
//! the handshake, so this one drives rustls itself.

use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::{ServerConfig, ServerConnection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use world::TcpStream;

use crate::records::Sealing;

/// A connection whose handshake may still be under way.
pub(super) struct ServerStream {
    tcp: TcpStream,
    session: ServerConnection,
}

/// Answers the ClientHello; the rest of the handshake runs as the stream is read.
///
/// # Errors
/// If the transport fails, or the client violates the protocol.
pub(super) async fn accept(
    tcp: TcpStream,
    config: Arc<ServerConfig>,
    buffer_bytes: Option<usize>,
) -> io::Result<ServerStream> {
    let mut session = ServerConnection::new(config).map_err(io::Error::other)?;
    session.set_buffer_limit(buffer_bytes);
    let mut stream = ServerStream { tcp, session };
    std::future::poll_fn(|cx| stream.poll_hello(cx)).await?;
    Ok(stream)
}

impl ServerStream {
    pub(super) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    pub(super) fn session(&self) -> &ServerConnection {
        &self.session
    }

    /// Bytes of records that the transport has not accepted.
    pub(super) fn unsent(&mut self) -> u64 {
        // After an error only an alert is sent.
        self.session.process_new_packets().map_or(0, |state| state.tls_bytes_to_write() as u64)
    }

    fn poll_hello(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.session.wants_write() {
            if ready!(self.poll_take(cx))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        self.poll_drain(cx)
    }

    /// Reads from the transport; returns the number of bytes.
    fn poll_take(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let taken = self.session.read_tls(&mut Polled { tcp: &mut self.tcp, cx });
        let taken = match taken {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            taken => taken?,
        };
        if let Err(error) = self.session.process_new_packets() {
            // An alert gives the reason, if it gets through.
            let _ = self.poll_drain(cx);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        Poll::Ready(Ok(taken))
    }

    /// Reads plaintext that is available; `None` if there is none.
    fn ready(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(mut early) = self.session.early_data() {
            match early.read(buf)? {
                0 => {}
                read => return Ok(Some(read)),
            }
        }
        match self.session.reader().read(buf) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            read => read.map(Some),
        }
    }
}

impl AsyncRead for ServerStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if let Some(read) = this.ready(buf.initialize_unfilled())? {
                buf.advance(read);
                return Poll::Ready(Ok(()));
            }
            ready!(this.poll_take(cx))?;
            // Tickets leave as soon as the client's Finished has come.
            if let Poll::Ready(Err(error)) = this.poll_drain(cx) {
                return Poll::Ready(Err(error));
            }
        }
    }
}

impl Sealing for ServerStream {
    fn seal(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.session.writer().write_vectored(parts)
    }

    fn seal_end(&mut self) {
        self.session.send_close_notify();
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Polled { tcp: &mut self.tcp, cx }) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => drop(written?),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn transport(&mut self) -> &mut TcpStream {
        &mut self.tcp
    }
}

/// The transport as rustls wants it: `WouldBlock` where it is not ready.
struct Polled<'a, 'b> {
    tcp: &'a mut TcpStream,
    cx: &'a mut Context<'b>,
}

fn now_or_never<T>(poll: Poll<io::Result<T>>) -> io::Result<T> {
    match poll {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Read for Polled<'_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        now_or_never(Pin::new(&mut *self.tcp).poll_read(self.cx, &mut buf))?;
        Ok(buf.filled().len())
    }
}

impl Write for Polled<'_, '_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        now_or_never(Pin::new(&mut *self.tcp).poll_write(self.cx, data))
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        now_or_never(Pin::new(&mut *self.tcp).poll_write_vectored(self.cx, parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        now_or_never(Pin::new(&mut *self.tcp).poll_flush(self.cx))
    }
}
