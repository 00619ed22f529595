//! The far end's connections to servers, kept alive between requests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_stack::h1::client::{Connection, Incoming, Settings};
use http_stack::{Body, BodyError, Failure};
use units::Time;
use world::TcpStream;

use crate::split;

/// Idle timeout of a connection: servers close theirs after 5 s (Apache) to 75 s (nginx).
const IDLE: Duration = Duration::from_secs(4);
/// Maximum number of idle connections to one server: as many as a browser opens.
const IDLE_TO_ONE: usize = 6;

/// Timeout for a silent server: nginx's `proxy_read_timeout`.
const SILENCE: Duration = Duration::from_secs(60);

type Idle = (Connection<TcpStream>, Time);

/// Idle connections.
#[derive(Clone, Default)]
pub(super) struct Upstream(Rc<RefCell<BTreeMap<SocketAddr, Vec<Idle>>>>);

/// A response whose body is still to come.
pub(super) struct Fetched {
    pub(super) head: Response<()>,
    pub(super) length: Option<u64>,
    body: Incoming<TcpStream>,
    home: Upstream,
    target: SocketAddr,
}

impl Upstream {
    /// Sends a request without a body to `target`. It is resent if it went by an idle connection that the server had closed meanwhile. `inform`
    /// is called with interim responses.
    pub(super) async fn fetch(
        &self,
        target: SocketAddr,
        request: &Request<()>,
        patience: Duration,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<Fetched, Failure> {
        if let Some(kept) = self.take(target) {
            match self.exchange(kept, target, request, inform).await {
                Err(Failure::Unanswered(_)) => {}
                answered => return answered,
            }
        }
        let tcp = split::connect(target, patience).await.map_err(Failure::Unanswered)?;
        self.exchange(Connection::new(tcp, Settings::default()), target, request, inform).await
    }

    async fn exchange(
        &self,
        connection: Connection<TcpStream>,
        target: SocketAddr,
        request: &Request<()>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<Fetched, Failure> {
        let exchange = connection.exchange_informed(request, None, inform);
        let exchange = world::timeout(SILENCE, exchange).await;
        let late = |elapsed| Failure::Broken(io::Error::new(io::ErrorKind::TimedOut, elapsed));
        let (head, length, body) = exchange.map_err(late)??;
        Ok(Fetched { head, length, body, home: self.clone(), target })
    }

    fn take(&self, target: SocketAddr) -> Option<Connection<TcpStream>> {
        let now = world::now();
        let mut all = self.0.borrow_mut();
        // Every lookup sweeps: no timer is needed for idle connections.
        all.retain(|_, kept| {
            kept.retain(|(_, since)| now.since(*since) < IDLE);
            !kept.is_empty()
        });
        let kept = all.get_mut(&target)?;
        loop {
            let (mut connection, _) = kept.pop()?;
            if connection.is_reusable() {
                return Some(connection);
            }
        }
    }

    fn keep(&self, target: SocketAddr, connection: Connection<TcpStream>) {
        let mut all = self.0.borrow_mut();
        let kept = all.entry(target).or_default();
        if kept.len() < IDLE_TO_ONE {
            kept.push((connection, world::now()));
        }
    }
}

impl Fetched {
    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// If it broke off.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        let next = std::future::poll_fn(|cx| self.body.poll_next(cx));
        world::timeout(SILENCE, next).await.map_err(|_| BodyError::Stalled)?.transpose()
    }

    /// Returns the connection, if it can be reused.
    pub(super) fn finish(self) {
        if let Some(connection) = self.body.into_connection() {
            self.home.keep(self.target, connection);
        }
    }
}
