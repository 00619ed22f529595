//! A connection from its handshake to its end: accepts requests until either end shuts down.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h3::error::{Code, ConnectionError};
use h3::server::RequestResolver;
use quic::{Account, ConnectionRequest, Handshake, local_addr};
use quinn::VarInt;
use tokio::sync::Notify;
use units::Time;

use super::answer::Responder;
use super::{H3ServerError, session};
use crate::h3::adapter::{self, ConnectionMeters};
use crate::h3::settings;
use crate::server::{RequestProgress, SharedServerState, StallVerdict, StallWatch};
use crate::{Handler, Scheduler};

/// Serves a connection to its end.
pub(super) async fn serve<H: Handler>(
    connection: adapter::Connection,
    settings: &settings::Server,
    answering: Responder<H>,
) -> Result<(), ConnectionError> {
    let requests = connection.requests();
    let mut connection = ::h3::server::builder()
        .max_field_section_size(settings.header_list_bytes)
        .send_grease(false)
        .build(connection)
        .await?;
    let mut drain = answering.common.watch();
    let mut stall_watch = StallWatch::over(&answering.common);
    let answering = Rc::new(answering);
    let mut leaving: Option<Pin<Box<dyn Future<Output = ()>>>> = None;
    loop {
        let step = {
            let mut accept = pin!(connection.accept());
            poll_fn(|cx| {
                if drain.poll_begun(cx).is_ready() {
                    return Poll::Ready(SessionStep::Leave);
                }
                match stall_watch.poll(|| answering.standing(), cx) {
                    StallVerdict::Wait => {}
                    StallVerdict::Leave => return Poll::Ready(SessionStep::Leave),
                    StallVerdict::End => return Poll::Ready(SessionStep::End),
                }
                match leaving.as_mut().map(|leaving| leaving.as_mut().poll(cx)) {
                    Some(Poll::Ready(())) => Poll::Ready(SessionStep::Accepted(Ok(None))),
                    _ => accept.as_mut().poll(cx).map(SessionStep::Accepted),
                }
            })
            .await
        };
        match step {
            SessionStep::Leave => {
                // Later requests are refused, so that the client may send them elsewhere (RFC 9114 section 5.2).
                requests.refuse();
                connection.shutdown(1).await?;
                leaving = Some(Box::pin(Rc::clone(&answering.open).over()));
            }
            SessionStep::End => {
                // It was told to leave, and still neither reads nor sends.
                close(&answering.client, Code::H3_EXCESSIVE_LOAD);
                return Ok(());
            }
            SessionStep::Accepted(request) => {
                let Some(request) = request? else { return Ok(()) };
                let (answering, task) =
                    (Rc::clone(&answering), OpenRequests::request(&answering.open));
                drop(world::spawn(async move {
                    // An aborted request is its client's to notice.
                    let _ = answering.answer(request).await;
                    drop(task);
                }));
            }
        }
    }
}

/// The next step of a connection.
#[expect(clippy::large_enum_variant, reason = "looked at once, where it is made")]
enum SessionStep {
    Accepted(Result<Option<RequestResolver<adapter::Connection, Bytes>>, ConnectionError>),
    Leave,
    End,
}

impl<H> Responder<H> {
    fn standing(&self) -> RequestProgress {
        RequestProgress {
            progress: self.tally.borrow().progress(),
            awaits_handler: self.open.awaits_handler(),
            is_tunnelling: self.open.is_tunnelling(),
        }
    }
}

/// Closes `client`'s connection at once.
pub(super) fn close(client: &quinn::Connection, code: Code) {
    let code = VarInt::from_u64(code.value()).expect("HTTP/3's codes are small");
    client.close(code, b"");
}

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
    pub async fn serve<H: Handler>(self, handler: Rc<H>) -> Result<(), H3ServerError> {
        self.serve_in(&SharedServerState::default(), handler).await
    }

    /// The same, for a connection that shares `common`.
    ///
    /// # Errors
    /// As [`Incoming::serve`]; also if the client is too slow for `common`'s patience.
    pub async fn serve_in<H: Handler>(
        self,
        common: &SharedServerState,
        handler: Rc<H>,
    ) -> Result<(), H3ServerError> {
        let (mut transport, recorder) = self.settings.transport.recorded();
        transport.max_concurrent_bidi_streams(self.settings.streams.into());
        transport.max_concurrent_uni_streams(self.settings.one_way_streams.into());
        transport.send_fairness(self.settings.scheduler != Scheduler::Fifo);
        let Handshake { mut connecting, requested_at, listening, slot } =
            self.request.accept(transport)?;
        let patience = common.patience.map(|patient| patient.accept_timeout);
        // A large ClientHello (Chromium's) comes in two packets: until it is complete the client's limits are unknown,
        // and quinn never wakes tasks that wait for a stream meanwhile.
        within(patience, connecting.handshake_data()).await.ok_or(H3ServerError::Slow)??;
        // Requests in the first flight are answered without waiting for the client's last.
        let (connection, complete) = connecting
            .into_0rtt()
            .expect("a server can send as soon as it has a client's first flight");
        let local = local_addr(&connection, listening);
        let tally = ConnectionMeters::shared(self.settings.header_list_bytes);
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
        let answering = Responder {
            handler,
            scheduler: self.settings.scheduler,
            client: connection.clone(),
            tally: Rc::clone(&tally),
            common: common.clone(),
            open: Rc::new(OpenRequests::default()),
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

/// Time for a client to fetch the last of its responses on shutdown: a closed QUIC connection retransmits nothing.
/// Enough for two losses in a row over a satellite.
const LINGER: Duration = Duration::from_secs(5);

/// The requests in progress.
#[derive(Default)]
pub(super) struct OpenRequests {
    requests: Cell<usize>,
    /// The requests that wait for a handler.
    handlers: Cell<usize>,
    tunnels: Cell<usize>,
    last_end: Cell<Option<Time>>,
    changed: Notify,
}

/// A counted part of them: a whole request, a handler's turn, or a tunnel, until dropped.
pub(super) struct RequestGuard(Rc<OpenRequests>, fn(&OpenRequests) -> &Cell<usize>);

impl OpenRequests {
    /// Counts a request.
    pub(super) fn request(self: &Rc<OpenRequests>) -> RequestGuard {
        self.count(|open| &open.requests)
    }

    /// Counts a wait for a handler.
    pub(super) fn handlers(self: &Rc<OpenRequests>) -> RequestGuard {
        self.count(|open| &open.handlers)
    }

    /// Counts a tunnel.
    pub(super) fn tunnel(self: &Rc<OpenRequests>) -> RequestGuard {
        self.count(|open| &open.tunnels)
    }

    fn count(self: &Rc<OpenRequests>, which: fn(&OpenRequests) -> &Cell<usize>) -> RequestGuard {
        which(self).set(which(self).get() + 1);
        RequestGuard(Rc::clone(self), which)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.get() == 0
    }

    pub(super) fn awaits_handler(&self) -> bool {
        self.handlers.get() > 0
    }

    pub(super) fn is_tunnelling(&self) -> bool {
        self.tunnels.get() > 0
    }

    /// Waits until there is none, and until the client must have received the last.
    pub(super) async fn over(self: Rc<OpenRequests>) {
        while !self.is_empty() {
            self.changed.notified().await;
        }
        if let Some(last) = self.last_end.get() {
            world::sleep_until(last + LINGER).await;
        }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let RequestGuard(open, which) = self;
        which(open).set(which(open).get() - 1);
        if open.is_empty() {
            open.last_end.set(Some(world::now()));
            open.changed.notify_one();
        }
    }
}
