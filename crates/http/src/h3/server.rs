//! An HTTP/3 server: a UDP port, its connections, and a task for each request.
//!
//! QUIC itself decides what goes into the next packet, so nothing need be held back here: replies are handed over whole and quinn lets
//! streams take turns, a packet each, those of one rank: see [`rank`].

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use ::h3::error::{ConnectionError, StreamError};
use ::h3::server::{RequestResolver, RequestStream};
use bytes::{Buf, Bytes};
use http::header::{CONTENT_LENGTH, HOST, HeaderValue};
use http::{Method, Request, Response};
use quinn::crypto::rustls::QuicServerConfig;
use thiserror::Error;
use units::Time;
use world::BatchSocket;

use super::account::{self, Account};
use super::endpoint::{self, Draws, WorldDate};
use super::qlog::Log;
use super::quic::{self, BidiStream, SharedTally};
use super::settings;
use crate::schedule::Urgency;
use crate::{Answer, Handler, Reply, RequestHead, Scheduler, tls};

/// Why a connection ended before its time.
#[derive(Debug, Error)]
pub enum Broken {
    /// QUIC's handshake failed.
    #[error("the QUIC handshake failed: {0}")]
    Handshake(#[from] quinn::ConnectionError),
    /// It broke later.
    #[error("the HTTP/3 connection failed: {0}")]
    Connection(#[from] ConnectionError),
}

/// How a server takes connections. Cheap to clone; clones share the sessions that clients may resume.
#[derive(Clone)]
pub struct Acceptor {
    crypto: Arc<QuicServerConfig>,
    settings: Arc<settings::Server>,
}

impl Acceptor {
    /// A server with this identity and these settings.
    pub fn new(tls: &tls::Settings, settings: settings::Server) -> Acceptor {
        let crypto = QuicServerConfig::try_from(tls::quic_config(tls))
            .expect("our providers have the suite of QUIC's first packets");
        Acceptor { crypto: Arc::new(crypto), settings: Arc::new(settings) }
    }
}

/// A UDP port that takes QUIC connections.
pub struct Listener {
    endpoint: quinn::Endpoint,
    config: quinn::ServerConfig,
    settings: Arc<settings::Server>,
    address: SocketAddr,
}

impl Listener {
    /// Listens at `address`; port 0 picks a free one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn bind(address: SocketAddr, acceptor: &Acceptor) -> io::Result<Listener> {
        let socket = BatchSocket::bind(address)?;
        let address = socket.local_addr()?;
        let mut draws = Draws::at(address);
        let crypto: Arc<QuicServerConfig> = Arc::clone(&acceptor.crypto);
        let mut config = quinn::ServerConfig::new(crypto, draws.token_key());
        config.time_source(Arc::new(WorldDate));
        let endpoint = endpoint::open(socket, &mut draws, Some(config.clone()))?;
        Ok(Listener { endpoint, config, settings: Arc::clone(&acceptor.settings), address })
    }

    /// The address listened at.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The next connection that somebody asks for; none if the socket has failed.
    pub async fn accept(&self) -> Option<Incoming> {
        let incoming = self.endpoint.accept().await?;
        Some(Incoming {
            incoming,
            config: self.config.clone(),
            settings: Arc::clone(&self.settings),
            address: self.address,
            asked_at: world::now(),
        })
    }
}

/// A connection that somebody asks for.
pub struct Incoming {
    incoming: quinn::Incoming,
    config: quinn::ServerConfig,
    settings: Arc<settings::Server>,
    address: SocketAddr,
    asked_at: Time,
}

impl Incoming {
    /// The client's address.
    pub fn client(&self) -> SocketAddr {
        self.incoming.remote_address()
    }

    /// Shakes hands and serves the connection until the client closes it.
    ///
    /// # Errors
    /// If the handshake fails, the connection is lost or the client breaks the protocol.
    pub async fn serve<H: Handler>(mut self, handler: Rc<H>) -> Result<(), Broken> {
        let watch = account::watch();
        let mut transport = self.settings.transport.config(watch.clone());
        let log = Log::open();
        transport.qlog_stream(log.stream());
        transport.max_concurrent_bidi_streams(self.settings.streams.into());
        transport.send_fairness(self.settings.scheduler != Scheduler::Fifo);
        self.config.transport_config(Arc::new(transport));
        let mut connecting = self.incoming.accept_with(Arc::new(self.config))?;
        // A large ClientHello (Chromium's) comes in two packets: until it is whole the client's limits are unknown, and quinn never wakes who
        // waits for a stream meanwhile.
        connecting.handshake_data().await?;
        // Requests that came with the first flight are answered without waiting for the client's last.
        let (connection, complete) = connecting
            .into_0rtt()
            .expect("a server can send as soon as it has a client's first flight");
        let local = SocketAddr::new(
            connection.local_ip().unwrap_or(self.address.ip()),
            self.address.port(),
        );
        let tally = SharedTally::default();
        let account = Account::open(&connection, local, self.asked_at, &tally, watch, log);
        let told = account.clone();
        drop(world::spawn(async move {
            if complete.await {
                told.established();
            }
        }));
        let connection = quic::Connection::new(&connection, &tally);
        let ended = serve(connection, handler, &self.settings, &tally).await;
        account.close();
        match ended {
            Err(error) if !error.is_h3_no_error() => Err(error.into()),
            _ => Ok(()),
        }
    }
}

async fn serve<H: Handler>(
    connection: quic::Connection,
    handler: Rc<H>,
    settings: &settings::Server,
    tally: &SharedTally,
) -> Result<(), ConnectionError> {
    let mut connection = ::h3::server::builder()
        .max_field_section_size(settings.header_list_bytes)
        .send_grease(false)
        .build(connection)
        .await?;
    while let Some(request) = connection.accept().await? {
        let (handler, tally, scheduler) =
            (Rc::clone(&handler), Rc::clone(tally), settings.scheduler);
        drop(world::spawn(async move {
            // A request that breaks off is its client's to notice.
            let _ = answer(request, &*handler, scheduler, &tally).await;
        }));
    }
    Ok(())
}

type Exchange = RequestStream<BidiStream, Bytes>;

async fn answer<H: Handler>(
    request: RequestResolver<quic::Connection, Bytes>,
    handler: &H,
    scheduler: Scheduler,
    tally: &SharedTally,
) -> Result<(), StreamError> {
    let (request, mut stream) = request.resolve_request().await?;
    if let Some(rank) = rank(scheduler, &request, stream.send_id().into_inner()) {
        tally.borrow_mut().rank(stream.send_id(), rank);
    }
    let body_bytes = drain(&mut stream).await?;
    let reply = match handler.handle(head(&request, body_bytes)) {
        Answer::Ready(reply) => reply,
        Answer::Later(reply) => reply.await,
    };
    let silent = request.method() == Method::HEAD || reply.head.is_bodiless();
    stream.send_response(response(&reply)).await?;
    if !silent && !reply.body.is_empty() {
        stream.send_data(reply.body).await?;
    }
    stream.finish().await
}

/// A response's rank among those of its connection, the highest first, as quinn has it; `None` if all have one. By RFC 9218's
/// rules: responses of use only as a whole have ranks of their own in the order of their requests, before those of
/// their urgency that share one.
fn rank(scheduler: Scheduler, request: &Request<()>, stream: u64) -> Option<i32> {
    const BAND: i32 = 1 << 28;
    if !scheduler.reads_signals() {
        return None;
    }
    let field = request.headers().get("priority");
    let urgency = field.map_or_else(Urgency::default, |field| Urgency::parse(field.as_bytes()));
    let place = match (scheduler, urgency.is_incremental) {
        (Scheduler::Strict, _) => 0,
        (_, true) => BAND - 1,
        (_, false) => i32::try_from(stream / 4).unwrap_or(BAND).min(BAND - 2),
    };
    Some(-(i32::from(urgency.level) * BAND) - place)
}

/// Reads the request's body to its end; gives its size.
async fn drain(stream: &mut Exchange) -> Result<u64, StreamError> {
    let mut bytes = 0;
    while let Some(mut piece) = poll_fn(|cx| stream.poll_recv_data(cx)).await? {
        bytes += piece.remaining() as u64;
        piece.advance(piece.remaining());
    }
    Ok(bytes)
}

fn head(request: &Request<()>, body_bytes: u64) -> RequestHead<'_> {
    let uri = request.uri();
    let authority = uri.authority().map(|authority| authority.as_str());
    let host = || request.headers().get(HOST)?.to_str().ok();
    RequestHead {
        method: request.method().as_str(),
        authority: authority.or_else(host).unwrap_or(""),
        target: uri.path_and_query().map_or("/", |target| target.as_str()),
        body_bytes,
    }
}

fn response(reply: &Reply) -> Response<()> {
    let mut head = reply.head.parts.clone();
    if !reply.head.is_bodiless() {
        head.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(reply.body.len()));
    }
    head
}
