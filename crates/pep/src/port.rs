//! Ports of an end, and its shutdown. A port accepts connections until the end is told to drain, and then completes handshakes under way.
//!
//! Two processes may listen at one address for a while: an end that is being replaced drains while its successor accepts new
//! connections.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use quic::bare;
use tokio::sync::{Notify, watch};
use world::{JoinHandle, TcpListener, TcpStream};

/// Time for handshakes under way to complete. New clients get no answer meanwhile, and retransmit their SYN after a second (RFC 6298).
const LAST_HANDSHAKES: Duration = Duration::from_millis(800);

/// Runs `carry` for each connection that `listener` accepts, until `ending` drains and all accepted connections have ended.
pub(crate) async fn serve<F>(listener: TcpListener, ending: &Ending, carry: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + 'static,
{
    let mut port = AcceptLoop { carry, carried: Vec::new() };
    port.take_in(&listener, ending.reached(ShutdownStage::Draining)).await;
    // Clients in the accept queue consider themselves connected: closing the port would reset them.
    if listener.refuse_handshakes().is_ok() {
        port.take_in(
            &listener,
            race(world::sleep(LAST_HANDSHAKES), ending.reached(ShutdownStage::Over)),
        )
        .await;
    }
    while let Ok(Some((tcp, _))) = listener.accept_waiting() {
        port.take(tcp);
    }
    drop(listener);
    for connection in port.carried {
        connection.await;
    }
}

/// Time to notify the clients that it is over.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The same with QUIC connections. They use the port, so it stays open until they have ended; new ones are refused meanwhile.
pub(crate) async fn serve_quic<F>(
    listener: bare::StreamListener,
    ending: &Ending,
    carry: impl Fn(bare::Incoming) -> F,
) where
    F: Future<Output = ()> + 'static,
{
    let mut carried: Vec<JoinHandle<()>> = Vec::new();
    while let First::One(Some(incoming)) =
        race(listener.accept(), ending.reached(ShutdownStage::Draining)).await
    {
        carried.retain(|connection| !connection.is_finished());
        carried.push(world::spawn(carry(incoming)));
    }
    let over = async {
        for connection in carried {
            connection.await;
        }
    };
    let refusing = async {
        while let Some(incoming) = listener.accept().await {
            incoming.refuse();
        }
        std::future::pending::<()>().await;
    };
    race(over, refusing).await;
    world::timeout(LAST_WORDS, listener.idle()).await.unwrap_or_default();
}

struct AcceptLoop<C> {
    carry: C,
    carried: Vec<JoinHandle<()>>,
}

impl<C: Fn(TcpStream) -> F, F: Future<Output = ()> + 'static> AcceptLoop<C> {
    async fn take_in(&mut self, listener: &TcpListener, end: impl Future) {
        let mut end = pin!(end);
        loop {
            match race(listener.accept(), &mut end).await {
                First::One(Ok((tcp, _))) => self.take(tcp),
                // Out of descriptors, most likely: connections that end meanwhile free some.
                First::One(Err(_)) => world::sleep(Duration::from_millis(100)).await,
                First::Other(_) => return,
            }
        }
    }

    fn take(&mut self, tcp: TcpStream) {
        self.carried.retain(|connection| !connection.is_finished());
        self.carried.push(world::spawn((self.carry)(tcp)));
    }
}

/// Handle to shut down an end of the proxy. Clones share it; it may be used from another thread.
#[derive(Clone, Debug)]
pub struct Ending(Arc<watch::Sender<ShutdownStage>>);

/// Stage of the shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ShutdownStage {
    Running,
    /// Nothing new is accepted.
    Draining,
    /// Remaining connections are broken off.
    Over,
}

impl Default for Ending {
    fn default() -> Ending {
        Ending(Arc::new(watch::Sender::new(ShutdownStage::Running)))
    }
}

impl Ending {
    /// Accepts nothing new from now on; existing connections may go on to their ends.
    pub fn drain(&self) {
        self.to(ShutdownStage::Draining);
    }

    /// Breaks everything off.
    pub fn end(&self) {
        self.to(ShutdownStage::Over);
    }

    fn to(&self, stage: ShutdownStage) {
        self.0.send_if_modified(|current| {
            let is_later = *current < stage;
            *current = stage.max(*current);
            is_later
        });
    }

    /// Returns true if the stage has been reached.
    pub(crate) fn has_reached(&self, stage: ShutdownStage) -> bool {
        *self.0.borrow() >= stage
    }

    /// Waits until the stage is reached.
    pub(crate) async fn reached(&self, stage: ShutdownStage) {
        let mut stages = self.0.subscribe();
        // The sender lives as long as `self`.
        drop(stages.wait_for(|current| *current >= stage).await.map(|_| ()));
    }
}

/// Time in which streams that were opened before the far end was known to go may still arrive: more than two round trips over a
/// geostationary satellite and a repair.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// A count of streams. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct StreamCount(Rc<StreamCountInner>);

#[derive(Default)]
struct StreamCountInner {
    count: Cell<usize>,
    changed: Notify,
}

/// One counted stream, until it is dropped.
pub(crate) struct CountedStream(StreamCount);

impl StreamCount {
    pub(crate) fn one(&self) -> CountedStream {
        self.0.count.set(self.0.count.get() + 1);
        CountedStream(self.clone())
    }

    /// Waits until there are no streams, and none has arrived for a while.
    pub(crate) async fn none(&self) {
        loop {
            while self.0.count.get() > 0 {
                self.0.changed.notified().await;
            }
            world::sleep(STRAGGLERS).await;
            if self.0.count.get() == 0 {
                return;
            }
        }
    }
}

impl Drop for CountedStream {
    fn drop(&mut self) {
        let StreamCountInner { count, changed } = &*self.0.0;
        count.set(count.get() - 1);
        changed.notify_one();
    }
}

/// The future that completed first, with its output.
pub(crate) enum First<A, B> {
    One(A),
    Other(B),
}

/// Runs both until one completes, and drops futures passed by value. `one` is polled first, each time.
pub(crate) async fn race<A: Future, B: Future>(one: A, other: B) -> First<A::Output, B::Output> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| {
        if let Poll::Ready(output) = Pin::as_mut(&mut one).poll(cx) {
            return Poll::Ready(First::One(output));
        }
        Pin::as_mut(&mut other).poll(cx).map(First::Other)
    })
    .await
}
