//! One standing connection from the near end to the far end, made anew whenever it is lost, or its far end says that it goes: what
//! that one carries may end there, while its successor carries what comes next.
//!
//! Over QUIC the HTTP/2 connection on the first stream says whether the far end is there and stays; what is carried has HTTP/2 connections
//! of its own on further streams.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use http_stack::h3::bare;
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
    /// Whether it has been present.
    stood: watch::Sender<bool>,
    open: Rc<Cell<usize>>,
    pub(super) rtt: Rtt,
}

impl Channel {
    /// A channel to `far`, kept up until the world ends.
    pub(super) fn start(far: SocketAddr, connector: Connector, settings: Settings) -> Rc<Channel> {
        let channel = Rc::<Channel>::default();
        let held = Rc::clone(&channel);
        drop(world::spawn(async move { held.hold(far, &connector, &settings).await }));
        channel
    }

    /// Whether the far end is there.
    pub(super) fn is_up(&self) -> bool {
        self.opener.borrow().is_some()
    }

    /// Waits until it is present for the first time.
    pub(super) async fn stood(&self) {
        let mut stood = self.stood.subscribe();
        // The sender lives as long as `self`.
        drop(stood.wait_for(|stood| *stood).await.map(|_| ()));
    }

    /// What the next stream is opened by; `None` while the far end is gone, says that it goes, or takes no more streams.
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
                // Its successor may be there already.
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

    /// Connects, and stays until the connection is lost or the far end says that it goes.
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

    /// Lets streams be opened by `opener`, from the far end's first answer on, until its `connection` is lost or is to be replaced.
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
                // Nothing is carried on QUIC's first stream, so it ends as soon as the far end says that it goes.
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

/// What streams are opened by.
#[derive(Clone)]
struct Opener {
    /// The connection that says whether the far end is there.
    standing: SendRequest<Bytes>,
    /// Over QUIC, what gives each stream a connection of its own, and how that is set.
    quic: Option<(bare::Connection, h2::client::Builder)>,
}

/// HTTP/2 on a new stream.
async fn open(
    quic: &bare::Connection,
    set: &h2::client::Builder,
) -> io::Result<(SendRequest<Bytes>, h2::client::Connection<bare::Stream, Bytes>)> {
    let stream = quic.open().ok_or(io::ErrorKind::NotConnected)?;
    set.handshake(stream).await.map_err(io::Error::other)
}

/// Why a connection stands no more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stood {
    /// It was lost.
    Lost,
    /// The far end takes no more streams (GOAWAY, RFC 9113 section 6.8); those that there are go on.
    Replaced,
}

/// Whether the far end has not said that it goes.
fn takes_streams(sender: &mut SendRequest<Bytes>) -> bool {
    matches!(sender.poll_ready(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())))
}

/// A place on the leg for one stream.
pub(crate) struct Lease {
    opener: Opener,
    _place: Place,
}

impl Lease {
    /// What the stream is opened by.
    ///
    /// # Errors
    /// If the leg was lost in this very moment.
    pub(crate) async fn sender(&self) -> io::Result<SendRequest<Bytes>> {
        let Some((quic, set)) = &self.opener.quic else { return Ok(self.opener.standing.clone()) };
        let (sender, connection) = open(quic, set).await?;
        // How it ends is told to what it carries.
        drop(world::spawn(async { drop(connection.await) }));
        Ok(sender)
    }

    /// The same, for one of the requests that share `line`.
    ///
    /// # Errors
    /// As [`Lease::sender`].
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

/// What requests of one client's connection share over QUIC: a stream, whose HTTP/2 compresses each head by those before it.
#[derive(Default)]
pub(crate) struct Line(RefCell<Option<SendRequest<Bytes>>>);

/// One of the streams that are counted.
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

/// While it lives, the channel may be there.
struct Present<'a>(&'a Channel);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.opener.take();
    }
}
