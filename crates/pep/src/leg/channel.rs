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
use quic::bare;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use world::TcpStream;

use super::pulse::{self, Rtt};
use super::tls::FAR_NAME;
use super::{Connector, Over, Settings, within};
use crate::race::{First, race};

/// The first pause before another attempt; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A channel: present or not.
#[derive(Default)]
pub(super) struct Channel {
    opener: RefCell<Option<Opener>>,
    /// True once it has been present.
    stood: watch::Sender<bool>,
    open: Rc<Cell<usize>>,
    pub(super) rtt: Rtt,
}

impl Channel {
    /// Starts a channel to `far`, kept up until the world ends.
    pub(super) fn start(far: SocketAddr, connector: Connector, settings: Settings) -> Rc<Channel> {
        let channel = Rc::<Channel>::default();
        let held = Rc::clone(&channel);
        drop(world::spawn(async move { held.hold(far, &connector, &settings).await }));
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
    pub(super) fn lease(&self) -> Option<Lease> {
        let mut opener = self.opener.borrow().clone()?;
        let has_room = self.open.get() < opener.standing.current_max_send_streams();
        (has_room && takes_streams(&mut opener.standing))
            .then(|| Lease { opener, _place: Place::take(&self.open) })
    }

    async fn hold(self: &Rc<Channel>, far: SocketAddr, connector: &Connector, settings: &Settings) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.stand(far, connector, settings).await {
                // The far end's successor may be there already.
                Ok(Stood::Replaced) => {
                    pause = FIRST_PAUSE;
                    continue;
                }
                Ok(Stood::Lost) => pause = FIRST_PAUSE,
                Err(_) => {}
            }
            world::sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// Connects, and returns when the connection is lost or the far end announces its shutdown.
    async fn stand(
        self: &Rc<Channel>,
        far: SocketAddr,
        connector: &Connector,
        settings: &Settings,
    ) -> io::Result<Stood> {
        match &settings.over {
            Over::Tcp => {
                let connecting = async {
                    let tcp = TcpStream::connect(far).await?;
                    super::tune(&tcp, settings)?;
                    let tls = connector.connect(tcp).await?;
                    settings.client().handshake::<_, Bytes>(tls).await.map_err(io::Error::other)
                };
                let (standing, connection) = within(settings.patience, connecting).await?;
                Ok(self.attend(Opener { standing, quic: None }, connection, settings).await)
            }
            Over::Quic(quic) => {
                let (crypto, set) = (connector.quic(), settings.quic(quic));
                let connecting = async {
                    let quic = bare::connect(far, FAR_NAME, crypto, &set).await?;
                    let opened = open(&quic, &settings.client()).await?;
                    Ok((quic, opened))
                };
                let (quic, (standing, connection)) = within(settings.patience, connecting).await?;
                let quic = Some((quic, settings.client()));
                Ok(self.attend(Opener { standing, quic }, connection, settings).await)
            }
        }
    }

    /// Makes `opener` available from the far end's first answer on, until its `connection` is lost or is to be replaced.
    async fn attend<T: AsyncRead + AsyncWrite + Unpin + 'static>(
        self: &Rc<Channel>,
        opener: Opener,
        mut connection: h2::client::Connection<T, Bytes>,
        settings: &Settings,
    ) -> Stood {
        let pings = connection.ping_pong().expect("nobody has taken them");
        let present = Present(self);
        let (channel, settings) = (Rc::clone(self), settings.clone());
        let Opener { standing: mut known, quic } = opener.clone();
        let mut carrying = Box::pin(async move {
            let came = || {
                *channel.opener.borrow_mut() = Some(opener);
                channel.stood.send_replace(true);
            };
            race(connection, pulse::watch(pings, &settings, &channel.rtt, came)).await
        });
        let mut is_over = false;
        let stood = poll_fn(|cx| {
            if let Poll::Ready(ended) = carrying.as_mut().poll(cx) {
                is_over = true;
                // QUIC's first stream carries nothing, so it ends as soon as the far end announces its shutdown.
                let is_orderly = quic.is_some() && matches!(ended, First::One(Ok(())));
                return Poll::Ready(if is_orderly { Stood::Replaced } else { Stood::Lost });
            }
            match self.is_up() && !takes_streams(&mut known) {
                true => Poll::Ready(Stood::Replaced),
                false => Poll::Pending,
            }
        });
        let stood = stood.await;
        drop(present);
        match stood {
            Stood::Replaced if !is_over => drop(world::spawn(async { drop(carrying.await) })),
            Stood::Replaced => {}
            Stood::Lost => quic.iter().for_each(|(quic, _)| quic.close()),
        }
        stood
    }
}

/// Opener of streams.
#[derive(Clone)]
struct Opener {
    /// The connection that tells if the far end is there.
    standing: SendRequest<Bytes>,
    /// Over QUIC, the source of a separate stream for each carried connection, and its HTTP/2 settings.
    quic: Option<(bare::Connection, h2::client::Builder)>,
}

/// Starts HTTP/2 on a new stream.
async fn open(
    quic: &bare::Connection,
    set: &h2::client::Builder,
) -> io::Result<(SendRequest<Bytes>, h2::client::Connection<bare::Stream, Bytes>)> {
    let stream = quic.open().ok_or(io::ErrorKind::NotConnected)?;
    set.handshake(stream).await.map_err(io::Error::other)
}

/// Reason for the end of a standing connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stood {
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
pub(crate) struct Lease {
    opener: Opener,
    _place: Place,
}

impl Lease {
    /// The sender that opens the stream.
    ///
    /// # Errors
    /// If the leg has just been lost.
    pub(crate) async fn sender(&self) -> io::Result<SendRequest<Bytes>> {
        let Some((quic, set)) = &self.opener.quic else { return Ok(self.opener.standing.clone()) };
        let (sender, connection) = open(quic, set).await?;
        // The carried connection learns of its end by itself.
        drop(world::spawn(async { drop(connection.await) }));
        Ok(sender)
    }

    /// The sender for one of the requests that share `line`.
    ///
    /// # Errors
    /// Errors of [`Lease::sender`].
    pub(crate) async fn sender_on(&self, line: &Line) -> io::Result<SendRequest<Bytes>> {
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
pub(crate) struct Line(RefCell<Option<SendRequest<Bytes>>>);

/// A counted stream.
struct Place(Rc<Cell<usize>>);

impl Place {
    fn take(open: &Rc<Cell<usize>>) -> Place {
        open.set(open.get() + 1);
        Place(Rc::clone(open))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Presence of the channel, until it is dropped.
struct Present<'a>(&'a Channel);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.opener.take();
    }
}
