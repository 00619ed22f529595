//! A port of one end: takes in who comes until the end is told to drain, and then who has knocked already.
//!
//! Two processes may listen at one address for a while: an end that is to be replaced drains while its successor takes in who comes.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use http_stack::h3::bare;
use world::{JoinHandle, TcpListener, TcpStream};

use crate::ending::{Ending, Stage};
use crate::race::{First, race};

/// How long handshakes that have begun may take to end. Who knocks meanwhile gets no answer, and knocks again a second after (RFC 6298).
const LAST_HANDSHAKES: Duration = Duration::from_millis(800);

/// Carries each connection that `listener` accepts as `carry` says, until `ending` says so and all that was taken in has ended.
pub(crate) async fn serve<F>(listener: TcpListener, ending: &Ending, carry: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + 'static,
{
    let mut port = Port { carry, carried: Vec::new() };
    port.take_in(&listener, ending.reached(Stage::Draining)).await;
    // Who waits to be accepted believes to be connected: with the port they would be thrown out.
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

/// How long it may take to tell those who were there that it is over.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The same with connections of QUIC. They come by the port, so that it stays until they have ended; who knocks meanwhile is refused.
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
                // Out of descriptors, most likely: what ends in the meantime gives some back.
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
