//! A connection's stream below HTTP: clear text, or TLS, over TCP or in an intercepted tunnel.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use rustls::HandshakeKind;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio_rustls::{TlsStream, server};
use world::TcpStream;
use world::sim::HeldNotes;

use super::early::ServerStream;
use super::model;
use super::records::{Records, Sizer};
use super::settings::Protocol;
use crate::records::Sealing;

/// Clear text or TLS over TCP, either end.
///
/// With TLS nothing is encrypted before the transport has accepted everything encrypted earlier: so at most one write
/// waits between HTTP and TCP, and a record is never cut short because the one before it was still waiting.
pub struct Stream {
    transport: StreamLayer,
    /// Cuts what a server writes where the TLS library cannot be told to.
    sizer: Sizer,
    /// The client's handshake is under way, and its writes meanwhile are early data.
    is_early: bool,
    /// Already read, to detect the client's protocol; returned by the next reads.
    sniffed: Bytes,
    meter: Rc<Meter>,
    /// Receiver of notes on the bytes that TLS holds, if any.
    held: Option<HeldNotes>,
}

enum StreamLayer {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Early(Box<ServerStream>),
    Modelled(Box<model::Stream>),
    Inside(Box<TunnelledTls>),
}

/// TLS in a tunnel that ends in this process.
struct TunnelledTls {
    tls: server::TlsStream<DuplexStream>,
    /// The client at the tunnel's other end.
    client: Option<SocketAddr>,
}

/// Counts HTTP's reads and writes on a [`Stream`], before TLS.
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
        Stream::new(StreamLayer::Plain(tcp), Bytes::new())
    }

    /// The same stream; its next reads return `ahead` first, which was read from it before.
    #[must_use]
    pub fn after(self, ahead: Bytes) -> Stream {
        debug_assert!(self.sniffed.is_empty(), "what was read is given before more is read");
        Stream { sniffed: ahead, ..self }
    }

    /// Clear text on `tcp`, of which `sniffed` has already been read.
    pub fn sniffed(tcp: TcpStream, sniffed: Bytes) -> Stream {
        Stream::new(StreamLayer::Plain(tcp), sniffed)
    }

    pub(super) fn tls(tls: TlsStream<TcpStream>, records: Records) -> Stream {
        let is_early = tls.get_ref().1.is_handshaking();
        let stream = Stream::new(StreamLayer::Tls(Box::new(tls)), Bytes::new());
        Stream { sizer: Sizer::new(records), is_early, ..stream }.watched()
    }

    pub(super) fn early(stream: ServerStream, records: Records) -> Stream {
        let stream = Stream::new(StreamLayer::Early(Box::new(stream)), Bytes::new());
        Stream { sizer: Sizer::new(records), ..stream }.watched()
    }

    pub(crate) fn modelled(stream: model::Stream) -> Stream {
        Stream::new(StreamLayer::Modelled(Box::new(stream)), Bytes::new()).watched()
    }

    pub(super) fn inside(
        tls: server::TlsStream<DuplexStream>,
        client: Option<SocketAddr>,
        records: Records,
    ) -> Stream {
        let stream =
            Stream::new(StreamLayer::Inside(Box::new(TunnelledTls { tls, client })), Bytes::new());
        Stream { sizer: Sizer::new(records), ..stream }
    }

    fn new(transport: StreamLayer, sniffed: Bytes) -> Stream {
        let sizer = Sizer::new(Records::default());
        Stream { transport, sizer, is_early: false, sniffed, meter: Rc::default(), held: None }
    }

    /// The same, noting from now on the bytes that TLS holds.
    fn watched(mut self) -> Stream {
        self.held = self.tcp().and_then(TcpStream::held);
        self.note_held();
        self
    }

    /// Notes the records that TCP has not accepted.
    fn note_held(&mut self) {
        let Some(held) = &self.held else { return };
        match &mut self.transport {
            StreamLayer::Plain(_) | StreamLayer::Inside(_) => {}
            StreamLayer::Tls(tls) => held.tls(unsent_records(tls)),
            StreamLayer::Early(stream) => held.tls(stream.unsent()),
            StreamLayer::Modelled(stream) => held.tls(stream.unsent()),
        }
    }

    /// Waits until the transport has accepted all records. While the client sends early data, TLS would wait for its
    /// handshake, too.
    fn poll_clear(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.transport.poll_flush(cx);
        if flushed.is_pending() && self.is_early && !self.transport.wants_write() {
            return Poll::Ready(Ok(()));
        }
        self.is_early &= flushed.is_pending();
        flushed
    }

    /// Returns true if the client may send although its handshake is not done: so the negotiated parameters are not known yet.
    pub fn is_early(&self) -> bool {
        self.is_early
    }

    /// The transport below; none in a tunnel that ends in this process.
    pub fn tcp(&self) -> Option<&TcpStream> {
        match &self.transport {
            StreamLayer::Plain(tcp) => Some(tcp),
            StreamLayer::Tls(tls) => Some(tls.get_ref().0),
            StreamLayer::Early(stream) => Some(stream.tcp()),
            StreamLayer::Modelled(stream) => Some(stream.tcp()),
            StreamLayer::Inside(_) => None,
        }
    }

    /// The certificates that the server sent to this client, its own first (DER).
    pub fn server_certificates(&self) -> Vec<Vec<u8>> {
        let StreamLayer::Tls(tls) = &self.transport else { return Vec::new() };
        let sent = tls.get_ref().1.peer_certificates().unwrap_or_default();
        sent.iter().map(|certificate| certificate.to_vec()).collect()
    }

    /// The address of the other end, if it is known.
    pub fn peer(&self) -> Option<SocketAddr> {
        match &self.transport {
            StreamLayer::Inside(inside) => inside.client,
            _ => self.tcp()?.peer_addr().ok(),
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// If the socket has lost its address, or there is none.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp().ok_or(io::ErrorKind::NotConnected)?.local_addr()
    }

    /// The counter of the bytes that HTTP reads and writes; it outlives the stream.
    pub fn meter(&self) -> Rc<Meter> {
        Rc::clone(&self.meter)
    }

    /// The protocol that ALPN chose, if there is TLS and it chose one.
    pub fn protocol(&self) -> Option<Protocol> {
        match &self.transport {
            StreamLayer::Plain(_) => None,
            StreamLayer::Tls(tls) => Protocol::from_alpn(tls.get_ref().1.alpn_protocol()?),
            StreamLayer::Early(stream) => Protocol::from_alpn(stream.session().alpn_protocol()?),
            StreamLayer::Modelled(stream) => stream.protocol(),
            StreamLayer::Inside(inside) => {
                Protocol::from_alpn(inside.tls.get_ref().1.alpn_protocol()?)
            }
        }
    }

    /// Returns true for TLS, modelled TLS included.
    pub fn is_secure(&self) -> bool {
        !matches!(self.transport, StreamLayer::Plain(_))
    }

    /// Returns true if TLS resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        let kind = match &self.transport {
            StreamLayer::Plain(_) => None,
            StreamLayer::Tls(tls) => tls.get_ref().1.handshake_kind(),
            StreamLayer::Early(stream) => stream.session().handshake_kind(),
            StreamLayer::Modelled(stream) => return stream.is_resumed(),
            StreamLayer::Inside(inside) => inside.tls.get_ref().1.handshake_kind(),
        };
        kind == Some(HandshakeKind::Resumed)
    }
}

/// Bytes of the records that TLS has encrypted and the transport has not accepted. rustls reports them only when asked
/// to process received records; tokio-rustls does that after each read, so that there are none.
fn unsent_records(tls: &mut TlsStream<TcpStream>) -> u64 {
    let state = match tls {
        TlsStream::Client(tls) => tls.get_mut().1.process_new_packets(),
        TlsStream::Server(tls) => tls.get_mut().1.process_new_packets(),
    };
    // After an error only an alert is sent.
    state.map_or(0, |state| state.tls_bytes_to_write() as u64)
}

impl StreamLayer {
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            StreamLayer::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, parts),
            StreamLayer::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, parts),
            StreamLayer::Early(stream) => stream.poll_seal(cx, parts),
            StreamLayer::Modelled(stream) => stream.poll_seal(cx, parts),
            StreamLayer::Inside(inside) => Pin::new(&mut inside.tls).poll_write_vectored(cx, parts),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            StreamLayer::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            StreamLayer::Tls(tls) => Pin::new(tls).poll_flush(cx),
            StreamLayer::Early(stream) => stream.poll_flush(cx),
            StreamLayer::Modelled(stream) => stream.poll_flush(cx),
            StreamLayer::Inside(inside) => Pin::new(&mut inside.tls).poll_flush(cx),
        }
    }

    /// Returns true if records wait for TCP.
    fn wants_write(&self) -> bool {
        match self {
            StreamLayer::Tls(tls) => tls.get_ref().1.wants_write(),
            StreamLayer::Inside(inside) => inside.tls.get_ref().1.wants_write(),
            _ => false,
        }
    }
}

/// The first `limit` bytes of `parts`.
fn first<'a>(parts: &'a [IoSlice<'a>], limit: usize) -> Vec<IoSlice<'a>> {
    let mut room = limit;
    let cut = parts.iter().map(|part| {
        let taken = &part[..part.len().min(room)];
        room -= taken.len();
        IoSlice::new(taken)
    });
    cut.filter(|part| !part.is_empty()).collect()
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
            if this.is_early {
                // Nothing else drives the handshake while a request waits for its response.
                ready!(this.transport.poll_flush(cx))?;
                this.is_early = false;
            }
            ready!(match &mut this.transport {
                StreamLayer::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
                StreamLayer::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
                StreamLayer::Early(stream) => Pin::new(stream).poll_read(cx, buf),
                StreamLayer::Modelled(stream) => Pin::new(stream).poll_read(cx, buf),
                StreamLayer::Inside(inside) => Pin::new(&mut inside.tls).poll_read(cx, buf),
            })?;
        }
        let n = (buf.filled().len() - before) as u64;
        this.meter.read.set(this.meter.read.get() + n);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let StreamLayer::Plain(tcp) = &mut self.transport else {
            return self.poll_write_vectored(cx, &[IoSlice::new(data)]);
        };
        // A write of one piece is faster in the kernel than a vectored write of one.
        let n = ready!(Pin::new(tcp).poll_write(cx, data))?;
        self.meter.written.set(self.meter.written.get() + n as u64);
        Poll::Ready(Ok(n))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.transport.wants_write() {
            ready!(this.poll_clear(cx))?;
        }
        let written = if this.sizer.is_dynamic() {
            let now = world::now();
            let written = this.transport.poll_write(cx, &first(parts, this.sizer.limit(now)));
            if written.is_ready() {
                this.sizer.wrote(now);
            }
            written
        } else {
            this.transport.poll_write(cx, parts)
        };
        this.note_held();
        let n = ready!(written)?;
        this.meter.written.set(this.meter.written.get() + n as u64);
        Poll::Ready(Ok(n))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.poll_clear(cx);
        self.note_held();
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = match &mut self.transport {
            StreamLayer::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            StreamLayer::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
            StreamLayer::Early(stream) => stream.poll_shutdown(cx),
            StreamLayer::Modelled(stream) => stream.poll_shutdown(cx),
            StreamLayer::Inside(inside) => Pin::new(&mut inside.tls).poll_shutdown(cx),
        };
        self.note_held();
        shut
    }
}
