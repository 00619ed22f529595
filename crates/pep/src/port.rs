//! A port of one end: accepts connections until the end is told to drain, and then completes handshakes under way.
//!
//! Two processes may listen at one address for a while: an end that is being replaced drains while its successor accepts new
//! connections.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use quic::bare;
use world::{JoinHandle, TcpListener, TcpStream};

use crate::ending::{Ending, Stage};
use crate::race::{First, race};

/// Time for handshakes under way to complete. New clients get no answer meanwhile, and retransmit their SYN after a second (RFC 6298).
const LAST_HANDSHAKES: Duration = Duration::from_millis(800);

/// Runs `carry` for each connection that `listener` accepts, until `ending` drains and all accepted connections have ended.
pub(crate) async fn serve<F>(listener: TcpListener, ending: &Ending, carry: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + 'static,
{
    let mut port = Port { carry, carried: Vec::new() };
    port.take_in(&listener, ending.reached(Stage::Draining)).await;
    // Clients in the accept queue consider themselves connected: closing the port would reset them.
    if listener.refuse_handshakes().is_ok() {
        port.take_in(&listener, race(world::sleep(LAST_HANDSHAKES), ending.reached(Stage::Over)))
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
    listener: bare::Listener,
    ending: &Ending,
    carry: impl Fn(bare::Incoming) -> F,
) where
    F: Future<Output = ()> + 'static,
{
    let mut carried: Vec<JoinHandle<()>> = Vec::new();
    while let First::One(Some(incoming)) =
        race(listener.accept(), ending.reached(Stage::Draining)).await
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

struct Port<C> {
    carry: C,
    carried: Vec<JoinHandle<()>>,
}

impl<C: Fn(TcpStream) -> F, F: Future<Output = ()> + 'static> Port<C> {
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
