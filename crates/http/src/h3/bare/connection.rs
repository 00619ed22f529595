//! A connection that lives as long as one of its handles or streams.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use quinn::VarInt;
use units::Time;

use super::UNSENT_BYTES;
use super::stream::Stream;
use crate::h3::account::Account;
use crate::h3::congestion::Watch;
use crate::h3::qlog::Log;
use crate::h3::quic::{SharedTally, Tally};

/// The only close code of connections: reasons are given on the streams, if at all.
const OVER: VarInt = VarInt::from_u32(0);

/// A connection. Clones share it; when the last is dropped and no stream is left, it is closed.
#[derive(Clone)]
pub struct Connection(Rc<Shared>);

/// The shared state of a connection's streams.
pub(super) struct Shared {
    quic: quinn::Connection,
    pub(super) tally: SharedTally,
}

impl Connection {
    /// A connection whose handshake is complete, with its account.
    pub(super) fn begin(
        quic: quinn::Connection,
        local: SocketAddr,
        opened_at: Time,
        watch: Watch,
        log: Log,
    ) -> Connection {
        let tally = Tally::shared(0);
        let account = Account::open(&quic, local, opened_at, &tally, watch, log);
        account.established();
        let over = quic.clone();
        drop(world::spawn(async move {
            over.closed().await;
            account.close();
        }));
        Connection(Rc::new(Shared { quic, tally }))
    }

    /// Opens a stream; none if the connection is lost, or the peer's stream limit is reached.
    pub fn open(&self) -> Option<Stream> {
        let mut cx = Context::from_waker(Waker::noop());
        match pin!(self.0.quic.open_bi()).poll(&mut cx) {
            Poll::Ready(Ok(both)) => Some(Stream::new(both, Rc::clone(&self.0))),
            Poll::Ready(Err(_)) | Poll::Pending => None,
        }
    }

    /// The next stream opened by the peer.
    ///
    /// # Errors
    /// If the connection is over.
    pub async fn accept(&self) -> io::Result<Stream> {
        Ok(Stream::new(self.0.quic.accept_bi().await?, Rc::clone(&self.0)))
    }

    /// Closes it at once, with all its streams.
    pub fn close(&self) {
        self.0.quic.close(OVER, b"");
    }
}

impl Shared {
    /// Limits streams' writes to the congestion window and a small backlog.
    pub(super) fn make_room(&self) {
        let in_flight = self.quic.stats().path.cwnd;
        self.quic.set_send_window(in_flight.saturating_add(UNSENT_BYTES));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.quic.close(OVER, b"");
    }
}
