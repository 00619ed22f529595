//! An incoming connection, from its handshake to its end.

use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use quic::{Account, ConnectionRequest, Handshake, local_addr};

use super::Broken;
use super::answer::Answering;
use super::open::Open;
use super::session;
use crate::h3::adapter::{self, Tally};
use crate::h3::settings;
use crate::server::Common;
use crate::{Handler, Scheduler};

/// A connection request.
pub struct Incoming {
    pub(super) request: ConnectionRequest,
    pub(super) settings: Arc<settings::Server>,
}

impl Incoming {
    /// The client's address.
    pub fn client(&self) -> SocketAddr {
        self.request.client()
    }

    /// Refuses the client at once (CONNECTION_REFUSED, RFC 9000 section 20.1).
    pub fn refuse(self) {
        self.request.refuse();
    }

    /// Completes the handshake and serves the connection until the client closes it.
    ///
    /// # Errors
    /// If the handshake fails, the connection is lost or the client breaks the protocol.
    pub async fn serve<H: Handler>(self, handler: Rc<H>) -> Result<(), Broken> {
        self.serve_in(&Common::default(), handler).await
    }

    /// The same, for a connection that shares `common`.
    ///
    /// # Errors
    /// As [`Incoming::serve`]; also if the client is too slow for `common`'s patience.
    pub async fn serve_in<H: Handler>(self, common: &Common, handler: Rc<H>) -> Result<(), Broken> {
        let (mut transport, recorder) = self.settings.transport.recorded();
        transport.max_concurrent_bidi_streams(self.settings.streams.into());
        transport.max_concurrent_uni_streams(self.settings.one_way_streams.into());
        transport.send_fairness(self.settings.scheduler != Scheduler::Fifo);
        let Handshake { mut connecting, requested_at, listening, slot } =
            self.request.accept(transport)?;
        let patience = common.patience.map(|patient| patient.accept_timeout);
        // A large ClientHello (Chromium's) comes in two packets: until it is complete the client's limits are unknown,
        // and quinn never wakes tasks that wait for a stream meanwhile.
        within(patience, connecting.handshake_data()).await.ok_or(Broken::Slow)??;
        // Requests in the first flight are answered without waiting for the client's last.
        let (connection, complete) = connecting
            .into_0rtt()
            .expect("a server can send as soon as it has a client's first flight");
        let local = local_addr(&connection, listening);
        let tally = Tally::shared(self.settings.header_list_bytes);
        let account =
            Account::open(&connection, local, requested_at, tally.borrow().counts(), recorder);
        let (told, shaken) = (account.clone(), connection.clone());
        drop(world::spawn(async move {
            match within(patience, complete).await {
                Some(true) => told.established(),
                Some(false) => {}
                None => session::close(&shaken, ::h3::error::Code::H3_EXCESSIVE_LOAD),
            }
            drop(slot);
        }));
        let answering = Answering {
            handler,
            scheduler: self.settings.scheduler,
            client: connection.clone(),
            tally: Rc::clone(&tally),
            common: common.clone(),
            open: Rc::new(Open::default()),
        };
        let streams = adapter::Connection::new(&connection, &tally);
        let ended = session::serve(streams, &self.settings, answering).await;
        account.close();
        match ended {
            Err(error) if !error.is_h3_no_error() => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// The output of `future`, unless it takes longer than `span`, if given.
async fn within<T>(span: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match span {
        None => Some(future.await),
        Some(span) => world::timeout(span, future).await.ok(),
    }
}
