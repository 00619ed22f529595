//! Accepting connections of any protocol.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, DuplexStream, ReadBuf};
use world::TcpStream;

use crate::h2::FlowMeter;
use crate::h2::frame::PREFACE;
use crate::server::SharedServerState;
use crate::timer_wheel::Wheel;
use crate::{Handler, h1, h2, socks, spdy};
use tls::{Protocol, Security, Stream};

/// Timeout of clients that have sent nothing yet when the server shuts down.
const DRAIN: Duration = Duration::from_secs(1);

/// Buffer between a tunnel and the server of its content, each way: two TLS records.
const TUNNEL_BYTES: usize = 32 << 10;

/// Settings with which a server accepts connections. Cheap to clone.
#[derive(Clone)]
pub struct Acceptor {
    /// Its TLS; without, clear text.
    pub tls: Option<tls::Server>,
    /// Shared state of its HTTP/1 connections.
    pub h1: Rc<h1::server::Core>,
    /// HTTP/2's settings.
    pub h2: h2::settings::Server,
    /// SPDY's settings.
    pub spdy: spdy::Config,
    /// The SPDY version spoken in clear text with a client that says 3 (3 and 3.1 look alike), if SPDY is. The default is none.
    pub spdy_in_clear: Option<spdy::Version>,
    /// Settings of SOCKS in clear text. The default is off.
    pub socks: socks::server::SocksAccess,
    /// Common state of its HTTP/2 and SPDY connections.
    pub common: SharedServerState,
    /// Limit of unsent data in TCP before it accepts more: data there can no longer be reordered. `None` leaves it to
    /// the send buffer's size. The default is 16 KiB, as H2O and Cloudflare set it.
    pub notsent_lowat_bytes: Option<u32>,
}

impl Acceptor {
    /// An acceptor with the usual settings, for HTTP/1.1, HTTP/2 and SPDY.
    pub fn new(security: Security) -> Acceptor {
        Acceptor::with_tls(security, &tls::Settings::default())
    }

    /// The same with other TLS settings.
    pub fn with_tls(security: Security, settings: &tls::Settings) -> Acceptor {
        let tls = tls::Server::of(security, settings);
        let wheel = Wheel::new();
        Acceptor {
            tls,
            h1: Rc::new(h1::server::Core::new(h1::server::Settings::default(), wheel.clone())),
            h2: h2::settings::Server::default(),
            spdy: spdy::Config::SERVER,
            spdy_in_clear: None,
            socks: socks::server::SocksAccess::None,
            common: SharedServerState { wheel, ..SharedServerState::default() },
            notsent_lowat_bytes: Some(16 * 1024),
        }
    }
}

/// The end of a connection.
#[derive(Debug)]
pub enum Served {
    /// The transport or the TLS handshake failed.
    Unaccepted(io::Error),
    /// An HTTP/1 connection ended.
    H1(h1::server::Ended),
    /// An HTTP/2 connection ended: orderly, or broken.
    H2(Result<(), h2::server::H2ServerError>),
    /// A SPDY connection ended: orderly, or broken.
    Spdy(Result<(), spdy::server::SpdyServerError>),
    /// A connection through this server, requested by SOCKS, ended.
    Socks(socks::server::Ended),
}

/// A client's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// HTTP.
    Http(Protocol),
    /// SOCKS.
    Socks,
}

impl Acceptor {
    /// Performs the handshake on `tcp` and detects the client's protocol: by ALPN, or in clear text by its first bytes:
    /// HTTP/2's preface, SPDY's control frames and SOCKS's greeting resemble no HTTP/1 request.
    ///
    /// # Errors
    /// If the transport or the handshake fails.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<(Stream, Spoken)> {
        if let Some(bytes) = self.notsent_lowat_bytes {
            tcp.set_notsent_lowat(bytes)?;
        }
        let Some(tls) = &self.tls else {
            return self.sniff(tcp).await;
        };
        let stream = tls.accept(tcp).await?;
        let protocol = stream.protocol().unwrap_or(Protocol::H1);
        Ok((stream, Spoken::Http(protocol)))
    }

    /// Begins a graceful shutdown: every connection finishes its work, takes nothing new and ends. The owner has to stop accepting.
    pub fn drain(&self) {
        self.h1.drain().begin();
        self.common.drain.begin();
    }

    /// Serves one connection to its end; returns how it ended.
    pub fn serve<H: Handler>(
        &self,
        tcp: TcpStream,
        handler: Rc<H>,
    ) -> impl Future<Output = Served> {
        // Boxed before the other future is created, which would reserve space for `tcp` for its whole life.
        let accepting = Box::pin(self.in_time(self.accept(tcp)));
        async move { self.serve_accepted(accepting, handler, &FlowMeter::default()).await }
    }

    /// Like [`Acceptor::serve`]; `meter` tells how long flow control of HTTP/2 or SPDY limited the connection.
    pub fn serve_metered<H: Handler>(
        &self,
        tcp: TcpStream,
        handler: Rc<H>,
        meter: &FlowMeter,
    ) -> impl Future<Output = Served> {
        self.serve_accepted(Box::pin(self.in_time(self.accept(tcp))), handler, meter)
    }

    /// Server side of an intercepted tunnel: the client's handshake runs by `tls`, in a task of its own. `client` is
    /// the address reported to handlers.
    pub fn serve_inside<H: Handler>(
        &self,
        tls: tls::Server,
        client: Option<SocketAddr>,
        handler: Rc<H>,
    ) -> DuplexStream {
        let (near, far) = tokio::io::duplex(TUNNEL_BYTES);
        let acceptor = self.clone();
        drop(world::spawn(async move {
            let accepting = async {
                let stream = tls.accept_inside(far, client).await?;
                let protocol = stream.protocol().unwrap_or(Protocol::H1);
                Ok((stream, Spoken::Http(protocol)))
            };
            let accepting = Box::pin(acceptor.in_time(accepting));
            // A failing connection is the client's to notice, as over TCP.
            acceptor.serve_accepted(accepting, handler, &FlowMeter::default()).await
        }));
        near
    }

    /// Serves the connection that `accepting` returns. Each stage's future is boxed: a connection holds that of its own
    /// protocol, not the largest of all.
    async fn serve_accepted<H: Handler>(
        &self,
        accepting: Pin<Box<impl Future<Output = io::Result<(Stream, Spoken)>>>>,
        handler: Rc<H>,
        meter: &FlowMeter,
    ) -> Served {
        let (stream, protocol) = match accepting.await {
            Err(error) => return Served::Unaccepted(error),
            Ok((stream, Spoken::Socks)) => {
                let served = socks::server::serve(stream, handler, &self.h1, &self.socks);
                return Served::Socks(Box::pin(served).await);
            }
            Ok((stream, Spoken::Http(protocol))) => (stream, protocol),
        };
        match protocol {
            Protocol::H10 | Protocol::H1 => {
                Served::H1(Box::pin(h1::server::serve(stream, handler, &self.h1)).await)
            }
            Protocol::H2 => {
                let served = h2::serve_in(&self.common, stream, handler, &self.h2, meter);
                Served::H2(Box::pin(served).await)
            }
            Protocol::Spdy(version) => {
                let served =
                    spdy::serve_in(&self.common, stream, handler, version, self.spdy, meter);
                Served::Spdy(Box::pin(served).await)
            }
            Protocol::H3 => Served::Unaccepted(io::Error::new(
                io::ErrorKind::InvalidInput,
                "ALPN negotiated HTTP/3 over TCP: an acceptor of TCP must not offer it",
            )),
        }
    }

    /// The output of `accepting`, unless it times out.
    async fn in_time<T>(&self, accepting: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let Some((timer, patient)) = self.common.timer() else { return accepting.await };
        timer.set(patient.accept_timeout);
        let mut drain = self.common.watch();
        let mut accepting = pin!(accepting);
        poll_fn(|cx| {
            if let Poll::Ready(accepted) = accepting.as_mut().poll(cx) {
                return Poll::Ready(accepted);
            }
            if drain.poll_begun(cx).is_ready() {
                timer.set(DRAIN);
            }
            timer.poll_expired(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
        })
        .await
    }

    /// Reads until the first bytes identify the client's protocol.
    async fn sniff(&self, mut tcp: TcpStream) -> io::Result<(Stream, Spoken)> {
        let mut bytes = [0; PREFACE.len()];
        let mut buf = ReadBuf::new(&mut bytes);
        loop {
            let before = buf.filled().len();
            poll_fn(|cx| Pin::new(&mut tcp).poll_read(cx, &mut buf)).await?;
            let filled = buf.filled();
            let is_over = filled.len() == before;
            match self.recognise(filled) {
                None if !is_over => continue,
                spoken => {
                    let stream = Stream::sniffed(tcp, Bytes::copy_from_slice(filled));
                    return Ok((stream, spoken.unwrap_or(Spoken::Http(Protocol::H1))));
                }
            }
        }
    }

    /// The protocol of a client whose first bytes are `first`; `None` if more are needed.
    fn recognise(&self, first: &[u8]) -> Option<Spoken> {
        let protocol = match (first, self.spdy_in_clear) {
            ([], _) | ([0x80], Some(_)) => return None,
            ([byte, ..], _)
                if self.socks.is_open() && socks::Version::of_first_byte(*byte).is_some() =>
            {
                return Some(Spoken::Socks);
            }
            // A control frame and its version.
            ([0x80, 2, ..], Some(_)) => Protocol::Spdy(spdy::Version::V2),
            ([0x80, 3, ..], Some(version)) => Protocol::Spdy(version),
            _ if first == PREFACE => Protocol::H2,
            _ if PREFACE.starts_with(first) => return None,
            _ => Protocol::H1,
        };
        Some(Spoken::Http(protocol))
    }
}
