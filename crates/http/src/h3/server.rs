//! An HTTP/3 server: a UDP port, its connections, and a task for each request.
//!
//! QUIC itself decides what goes into the next packet, so nothing need be held back here: replies are handed over whole and quinn lets
//! streams take turns, a packet each, those of one rank: see [`rank`].

mod answer;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::h3::error::ConnectionError;
use ::h3::server::RequestResolver;
use bytes::Bytes;
use quinn::crypto::rustls::QuicServerConfig;
use thiserror::Error;
use tokio::sync::Notify;
use units::Time;
use world::BatchSocket;

use self::answer::Answering;

use super::account::{self, Account};
use super::endpoint::{self, Draws, WorldDate};
use super::qlog::Log;
use super::quic::{self, SharedTally};
use super::settings;
use crate::server::Common;
use crate::{Handler, Scheduler, tls};

/// How long a client may take to fetch the last of what it was sent, once the server goes away: a QUIC connection that is closed
/// sends nothing again. Enough for two losses in a row over a satellite.
const LINGER: Duration = Duration::from_secs(5);

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
    pub async fn serve<H: Handler>(self, handler: Rc<H>) -> Result<(), Broken> {
        self.serve_in(&Common::default(), handler).await
    }

    /// The same, as one of the connections of `common`. Of its patience that with bodies counts; QUIC has its own with idle connections.
    ///
    /// # Errors
    /// As [`Incoming::serve`].
    pub async fn serve_in<H: Handler>(
        mut self,
        common: &Common,
        handler: Rc<H>,
    ) -> Result<(), Broken> {
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
        let peer = connection.remote_address();
        let connection = quic::Connection::new(&connection, &tally);
        let scheduler = self.settings.scheduler;
        let common = common.clone();
        let answering = Answering { handler, scheduler, peer, tally, common };
        let ended = serve(connection, &self.settings, answering).await;
        account.close();
        match ended {
            Err(error) if !error.is_h3_no_error() => Err(error.into()),
            _ => Ok(()),
        }
    }
}

async fn serve<H: Handler>(
    connection: quic::Connection,
    settings: &settings::Server,
    answering: Answering<H>,
) -> Result<(), ConnectionError> {
    let mut connection = ::h3::server::builder()
        .max_field_section_size(settings.header_list_bytes)
        .send_grease(false)
        .build(connection)
        .await?;
    let mut drain = answering.common.watch();
    let (answering, open) = (Rc::new(answering), Rc::new(Open::default()));
    let mut leaving: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
    loop {
        let step = {
            let mut accept = pin!(connection.accept());
            poll_fn(|cx| {
                if drain.poll_begun(cx).is_ready() {
                    return Poll::Ready(Step::Leave);
                }
                match leaving.as_mut().map(|leaving| leaving.as_mut().poll(cx)) {
                    Some(Poll::Ready(())) => Poll::Ready(Step::Accepted(Ok(None))),
                    _ => accept.as_mut().poll(cx).map(Step::Accepted),
                }
            })
            .await
        };
        match step {
            Step::Leave => {
                // What comes from now on is refused, so that the client may ask elsewhere (RFC 9114 section 5.2).
                connection.shutdown(0).await?;
                leaving = Some(Box::pin(Rc::clone(&open).over()));
            }
            Step::Accepted(request) => {
                let Some(request) = request? else { return Ok(()) };
                let (answering, task) = (Rc::clone(&answering), Open::count(&open));
                drop(world::spawn(async move {
                    // A request that breaks off is its client's to notice.
                    let _ = answering.answer(request).await;
                    drop(task);
                }));
            }
        }
    }
}

/// What a connection does next.
#[expect(clippy::large_enum_variant, reason = "looked at once, where it is made")]
enum Step {
    Accepted(Result<Option<RequestResolver<quic::Connection, Bytes>>, ConnectionError>),
    Leave,
}

/// The requests that are being answered.
#[derive(Default)]
struct Open {
    count: Cell<usize>,
    changed: Notify,
}

/// One of them.
struct Task(Rc<Open>);

impl Open {
    fn count(self: &Rc<Open>) -> Task {
        self.count.set(self.count.get() + 1);
        Task(Rc::clone(self))
    }

    /// Waits until there is none, and until the client must have got the last.
    async fn over(self: Rc<Open>) {
        while self.count.get() > 0 {
            self.changed.notified().await;
        }
        world::sleep(LINGER).await;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get() - 1);
        self.0.changed.notify_one();
    }
}
