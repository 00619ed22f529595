//! A connection's stream below HTTP: clear text, or TLS.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use rustls::HandshakeKind;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsStream;
use world::TcpStream;
use world::sim::HeldNotes;

use super::settings::Protocol;

/// Clear text or TLS over TCP, either end.
///
/// With TLS nothing is encrypted before the transport took all that was encrypted earlier: so at most
/// one write waits between HTTP and TCP, and a record is never cut short because the one before
/// it was still waiting.
pub struct Stream {
    transport: Transport,
    /// Read already, to find out what the client speaks; given to the next reads.
    sniffed: Bytes,
    meter: Rc<Meter>,
    /// Where to note what TLS holds, if somebody wants to know.
    held: Option<HeldNotes>,
}

enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Counts what HTTP reads and writes on a [`Stream`], before TLS.
#[derive(Debug, Default)]
pub struct Meter {
    read: Cell<u64>,
    written: Cell<u64>,
}

impl Meter {
    /// Bytes that HTTP has read.
    pub fn read_bytes(&self) -> u64 {
        self.read.get()
    }

    /// Bytes that HTTP has written.
    pub fn written_bytes(&self) -> u64 {
        self.written.get()
    }
}

impl Stream {
    /// Clear text on `tcp`.
    pub fn plain(tcp: TcpStream) -> Stream {
        Stream::new(Transport::Plain(tcp), Bytes::new())
    }

    /// Clear text on `tcp`, of which `sniffed` was read already.
    pub(crate) fn sniffed(tcp: TcpStream, sniffed: Bytes) -> Stream {
        Stream::new(Transport::Plain(tcp), sniffed)
    }

    pub(super) fn tls(tls: TlsStream<TcpStream>) -> Stream {
        let held = tls.get_ref().0.held();
        let mut stream =
            Stream { held, ..Stream::new(Transport::Tls(Box::new(tls)), Bytes::new()) };
        stream.note_held();
        stream
    }

    fn new(transport: Transport, sniffed: Bytes) -> Stream {
        Stream { transport, sniffed, meter: Rc::default(), held: None }
    }

    /// Notes the records that TCP has not taken.
    fn note_held(&mut self) {
        if let (Some(held), Transport::Tls(tls)) = (&self.held, &mut self.transport) {
            held.tls(unsent_records(tls));
        }
    }

    /// The transport below.
    pub fn tcp(&self) -> &TcpStream {
        match &self.transport {
            Transport::Plain(tcp) => tcp,
            Transport::Tls(tls) => tls.get_ref().0,
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp().local_addr()
    }

    /// What counts the bytes that HTTP reads and writes; it outlives the stream.
    pub fn meter(&self) -> Rc<Meter> {
        Rc::clone(&self.meter)
    }

    /// The protocol that ALPN chose, if there is TLS and it chose one.
    pub fn protocol(&self) -> Option<Protocol> {
        match &self.transport {
            Transport::Plain(_) => None,
            Transport::Tls(tls) => Protocol::from_alpn(tls.get_ref().1.alpn_protocol()?),
        }
    }

    /// Whether TLS resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        match &self.transport {
            Transport::Plain(_) => false,
            Transport::Tls(tls) => tls.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed),
        }
    }
}

/// Bytes of the records that TLS has encrypted and the transport has not taken. rustls tells them only when it is asked to look for
/// records that arrived; tokio-rustls has it look after each read, so that there are none.
fn unsent_records(tls: &mut TlsStream<TcpStream>) -> u64 {
    let state = match tls {
        TlsStream::Client(tls) => tls.get_mut().1.process_new_packets(),
        TlsStream::Server(tls) => tls.get_mut().1.process_new_packets(),
    };
    // After an error nothing but an alert is sent.
    state.map_or(0, |state| state.tls_bytes_to_write() as u64)
}

impl Transport {
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Transport::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, parts),
            Transport::Tls(tls) => {
                if tls.get_ref().1.wants_write() {
                    ready!(Pin::new(&mut *tls).poll_flush(cx))?;
                }
                Pin::new(tls).poll_write_vectored(cx, parts)
            }
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        if !this.sniffed.is_empty() {
            let n = this.sniffed.len().min(buf.remaining());
            buf.put_slice(&this.sniffed[..n]);
            this.sniffed.advance(n);
        } else {
            ready!(match &mut this.transport {
                Transport::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
                Transport::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
            })?;
        }
        let n = (buf.filled().len() - before) as u64;
        this.meter.read.set(this.meter.read.get() + n);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(data)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let written = this.transport.poll_write(cx, parts);
        this.note_held();
        let n = ready!(written)?;
        this.meter.written.set(this.meter.written.get() + n as u64);
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.transport {
            Transport::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Transport::Tls(tls) => Pin::new(tls).poll_flush(cx),
        };
        self.note_held();
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = match &mut self.transport {
            Transport::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Transport::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        };
        self.note_held();
        shut
    }
}
