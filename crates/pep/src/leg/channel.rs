//! One standing connection from the near end to the far end, made anew whenever it is lost, or its far end says that it goes: what
//! that one carries may end there, while its successor carries what comes next.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::sync::watch;
use world::TcpStream;

use super::pulse::{self, Rtt};
use super::{Connector, Settings};
use crate::race::race;

/// The first pause before another attempt; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A channel: present or not.
#[derive(Default)]
pub(super) struct Channel {
    sender: RefCell<Option<SendRequest<Bytes>>>,
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
        self.sender.borrow().is_some()
    }

    /// Waits until it is present for the first time.
    pub(super) async fn stood(&self) {
        let mut stood = self.stood.subscribe();
        // The sender lives as long as `self`.
        drop(stood.wait_for(|stood| *stood).await.map(|_| ()));
    }

    /// What the next stream is opened by; `None` while the far end is gone, says that it goes, or takes no more streams.
    pub(super) fn lease(&self) -> Option<Lease> {
        let mut sender = self.sender.borrow().clone()?;
        let has_room = self.open.get() < sender.current_max_send_streams();
        (has_room && takes_streams(&mut sender))
            .then(|| Lease { sender, _place: Place::take(&self.open) })
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
        let connecting = async {
            let tcp = TcpStream::connect(far).await?;
            super::tune(&tcp, settings)?;
            let tls = connector.connect(tcp).await?;
            settings.client().handshake::<_, Bytes>(tls).await.map_err(io::Error::other)
        };
        let (sender, mut connection) = world::timeout(settings.patience, connecting)
            .await
            .map_err(|elapsed| io::Error::new(io::ErrorKind::TimedOut, elapsed))??;
        let pings = connection.ping_pong().expect("nobody has taken them");
        let present = Present(self);
        let (channel, settings, mut known) = (Rc::clone(self), settings.clone(), sender.clone());
        let mut carrying = Box::pin(async move {
            let came = || {
                *channel.sender.borrow_mut() = Some(sender);
                channel.stood.send_replace(true);
            };
            race(connection, pulse::watch(pings, &settings, &channel.rtt, came)).await;
        });
        let stood = poll_fn(|cx| {
            if carrying.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Stood::Lost);
            }
            match self.is_up() && !takes_streams(&mut known) {
                true => Poll::Ready(Stood::Replaced),
                false => Poll::Pending,
            }
        });
        let stood = stood.await;
        drop(present);
        if stood == Stood::Replaced {
            drop(world::spawn(carrying));
        }
        Ok(stood)
    }
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
    /// What the stream is opened by.
    pub(crate) sender: SendRequest<Bytes>,
    _place: Place,
}

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
        self.0.sender.take();
    }
}
