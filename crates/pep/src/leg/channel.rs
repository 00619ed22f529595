//! One standing connection from the near end to the far end, re-established whenever it is lost or its far end announces its
//! shutdown: streams may end on the old connection, while its successor carries new ones.
//!
//! Over QUIC, the HTTP/2 connection on the first stream tells if the far end is there and stays; each carried connection has an HTTP/2
//! connection of its own on a further stream.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Ping, PingPong};
use quic::bare;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use world::TcpStream;

use super::tls::FAR_NAME;
use super::{LegConnector, LegSettings, LegTransport, within};
use crate::port::{First, race};

/// The first pause before another attempt; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A channel: present or not.
#[derive(Default)]
pub(super) struct LegChannel {
    opener: RefCell<Option<StreamOpener>>,
    /// True once it has been present.
    stood: watch::Sender<bool>,
    open: Rc<Cell<usize>>,
    pub(super) rtt: LeastRtt,
}

impl LegChannel {
    /// Starts a channel to `far`, kept up until the world ends.
    pub(super) fn start(
        far: SocketAddr,
        connector: LegConnector,
        settings: LegSettings,
    ) -> Rc<LegChannel> {
        let channel = Rc::<LegChannel>::default();
        let held = Rc::clone(&channel);
        drop(world::spawn(async move { held.maintain(far, &connector, &settings).await }));
        channel
    }

    /// Returns true if the far end is there.
    pub(super) fn is_up(&self) -> bool {
        self.opener.borrow().is_some()
    }

    /// Waits until it is present for the first time.
    pub(super) async fn stood(&self) {
        let mut stood = self.stood.subscribe();
        // The sender lives as long as `self`.
        drop(stood.wait_for(|stood| *stood).await.map(|_| ()));
    }

    /// A lease for the next stream; `None` if the far end is gone, announced its shutdown, or takes no more streams.
    pub(super) fn lease(&self) -> Option<StreamLease> {
        let mut opener = self.opener.borrow().clone()?;
        let has_room = self.open.get() < opener.standing.current_max_send_streams();
        (has_room && takes_streams(&mut opener.standing))
            .then(|| StreamLease { opener, _place: StreamSlot::take(&self.open) })
    }

    async fn maintain(
        self: &Rc<LegChannel>,
        far: SocketAddr,
        connector: &LegConnector,
        settings: &LegSettings,
    ) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connect_and_serve(far, connector, settings).await {
                // The far end's successor may be there already.
                Ok(ChannelEnd::Replaced) => {
                    pause = FIRST_PAUSE;
                    continue;
                }
                Ok(ChannelEnd::Lost) => pause = FIRST_PAUSE,
                Err(_) => {}
            }
            world::sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Connects, and returns when the connection is lost or the far end announces its shutdown.
    async fn connect_and_serve(
        self: &Rc<LegChannel>,
        far: SocketAddr,
        connector: &LegConnector,
        settings: &LegSettings,
    ) -> io::Result<ChannelEnd> {
        match &settings.over {
            LegTransport::Tcp => {
                let connecting = async {
                    let tcp = TcpStream::connect(far).await?;
                    super::tune(&tcp, settings)?;
                    let tls = connector.connect(tcp).await?;
                    settings.client().handshake::<_, Bytes>(tls).await.map_err(io::Error::other)
                };
                let (standing, connection) = within(settings.patience, connecting).await?;
                Ok(self
                    .supervise(StreamOpener { standing, quic: None }, connection, settings)
                    .await)
            }
            LegTransport::Quic(quic) => {
                let (crypto, set) = (connector.quic(), settings.quic(quic));
                let connecting = async {
                    let quic = bare::connect(far, FAR_NAME, crypto, &set).await?;
                    let opened = open(&quic, &settings.client()).await?;
                    Ok((quic, opened))
                };
                let (quic, (standing, connection)) = within(settings.patience, connecting).await?;
                let quic = Some((quic, settings.client()));
                Ok(self.supervise(StreamOpener { standing, quic }, connection, settings).await)
            }
        }
    }

    /// Makes `opener` available from the far end's first answer on, until its `connection` is lost or is to be replaced.
    async fn supervise<T: AsyncRead + AsyncWrite + Unpin + 'static>(
        self: &Rc<LegChannel>,
        opener: StreamOpener,
        mut connection: h2::client::Connection<T, Bytes>,
        settings: &LegSettings,
    ) -> ChannelEnd {
        let pings = connection.ping_pong().expect("nothing else has taken the pings");
        let present = PresenceGuard(self);
        let (channel, settings) = (Rc::clone(self), settings.clone());
        let StreamOpener { standing: mut known, quic } = opener.clone();
        let mut carrying = Box::pin(async move {
            let on_answer = || {
                *channel.opener.borrow_mut() = Some(opener);
                channel.stood.send_replace(true);
            };
            race(connection, watch_peer(pings, &settings, &channel.rtt, on_answer)).await
        });
        let mut is_over = false;
        let stood = poll_fn(|cx| {
            if let Poll::Ready(ended) = carrying.as_mut().poll(cx) {
                is_over = true;
                // QUIC's first stream carries nothing, so it ends as soon as the far end announces its shutdown.
                let is_orderly = quic.is_some() && matches!(ended, First::One(Ok(())));
                return Poll::Ready(if is_orderly {
                    ChannelEnd::Replaced
                } else {
                    ChannelEnd::Lost
                });
            }
            match self.is_up() && !takes_streams(&mut known) {
                true => Poll::Ready(ChannelEnd::Replaced),
                false => Poll::Pending,
            }
        });
        let stood = stood.await;
        drop(present);
        match stood {
            ChannelEnd::Replaced if !is_over => drop(world::spawn(async { drop(carrying.await) })),
            ChannelEnd::Replaced => {}
            ChannelEnd::Lost => quic.iter().for_each(|(quic, _)| quic.close()),
        }
        stood
    }
}

/// Opener of streams.
#[derive(Clone)]
struct StreamOpener {
    /// The connection that tells if the far end is there.
    standing: SendRequest<Bytes>,
    /// Over QUIC, the source of a separate stream for each carried connection, and its HTTP/2 settings.
    quic: Option<(bare::StreamConnection, h2::client::Builder)>,
}

/// Starts HTTP/2 on a new stream.
async fn open(
    quic: &bare::StreamConnection,
    set: &h2::client::Builder,
) -> io::Result<(SendRequest<Bytes>, h2::client::Connection<bare::Stream, Bytes>)> {
    let stream = quic.open().ok_or(io::ErrorKind::NotConnected)?;
    set.handshake(stream).await.map_err(io::Error::other)
}

/// Reason for the end of a standing connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChannelEnd {
    /// It was lost.
    Lost,
    /// The far end takes no more streams (GOAWAY, RFC 9113 section 6.8); existing ones go on.
    Replaced,
}

/// Returns true unless the far end announced its shutdown.
fn takes_streams(sender: &mut SendRequest<Bytes>) -> bool {
    matches!(sender.poll_ready(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())))
}

/// A place on the leg for one stream.
pub(crate) struct StreamLease {
    opener: StreamOpener,
    _place: StreamSlot,
}

impl StreamLease {
    /// The sender that opens the stream.
    ///
    /// # Errors
    /// If the leg has just been lost.
    pub(crate) async fn sender(&self) -> io::Result<SendRequest<Bytes>> {
        let Some((quic, set)) = &self.opener.quic else { return Ok(self.opener.standing.clone()) };
        let (sender, connection) = open(quic, set).await?;
        // The carried connection notices its own end.
        drop(world::spawn(async { drop(connection.await) }));
        Ok(sender)
    }

    /// The sender for one of the requests that share `line`.
    ///
    /// # Errors
    /// Errors of [`StreamLease::sender`].
    pub(crate) async fn sender_on(&self, line: &SharedStream) -> io::Result<SendRequest<Bytes>> {
        let mut kept = line.0.borrow().clone();
        if let Some(sender) = kept.as_mut().filter(|_| self.opener.quic.is_some())
            && takes_streams(sender)
        {
            return Ok(sender.clone());
        }
        let sender = self.sender().await?;
        line.0.replace(Some(sender.clone()));
        Ok(sender)
    }
}

/// Stream shared over QUIC by the requests of one client's connection, whose HTTP/2 compresses each head by those before it.
#[derive(Default)]
pub(crate) struct SharedStream(RefCell<Option<SendRequest<Bytes>>>);

/// A counted stream.
struct StreamSlot(Rc<Cell<usize>>);

impl StreamSlot {
    fn take(open: &Rc<Cell<usize>>) -> StreamSlot {
        open.set(open.get() + 1);
        StreamSlot(Rc::clone(open))
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Presence of the channel, until it is dropped.
struct PresenceGuard<'a>(&'a LegChannel);

impl Drop for PresenceGuard<'_> {
    fn drop(&mut self) {
        self.0.opener.take();
    }
}

/// Watches the other end by PING (RFC 9113 section 6.7): sends one every `settings.keep_alive`, the first at once; completes when an answer
/// fails to come. Notes the shortest round trip in `rtt`, and calls `on_answer` at the first answer: a near end that the far end does not
/// let in learns of it only after its handshake (RFC 8446 section 4.4.2).
pub(super) async fn watch_peer(
    mut pings: PingPong,
    settings: &super::LegSettings,
    rtt: &LeastRtt,
    on_answer: impl FnOnce(),
) {
    let mut on_answer = Some(on_answer);
    loop {
        let asked = world::now();
        match world::timeout(settings.dead_after, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => rtt.note(world::now().since(asked)),
            Ok(Err(_)) | Err(_) => return,
        }
        if let Some(on_answer) = on_answer.take() {
            on_answer();
        }
        world::sleep(settings.keep_alive).await;
    }
}

/// The shortest round trip seen.
#[derive(Debug, Default)]
pub(crate) struct LeastRtt(Cell<Option<Duration>>);

impl LeastRtt {
    fn note(&self, sample: Duration) {
        self.0.set(Some(self.0.get().map_or(sample, |least| least.min(sample))));
    }

    /// The shortest round trip; zero before the first answer.
    pub(crate) fn least(&self) -> Duration {
        self.0.get().unwrap_or_default()
    }
}
