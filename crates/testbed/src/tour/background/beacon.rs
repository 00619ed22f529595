//! Beacons: small HTTP requests whose responses are ignored, as sent by `navigator.sendBeacon` (W3C Beacon, section 3).
//!
//! All use one dedicated connection with the page's protocol, which is opened for the first beacon and reopened
//! after it was closed. A beacon is skipped if its predecessor is still in flight.

use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_stack::client::{self, Connection, Opening};
use http_stack::server::{Acceptor, Answer, Handler, Reply, RequestHead};
use http_stack::{Priority, Progress};
use proxy::origin;
use tls::Security;
use world::TcpListener;

use super::Ticks;

/// Posts bodies of `size_bytes` for ever.
pub(super) async fn send(mut ticks: Ticks, size_bytes: u64, opening: Opening) {
    let request = request(&opening, size_bytes);
    let mut connection = None;
    loop {
        ticks.tick().await;
        connection = post(connection, &opening, &request).await;
    }
}

/// Posts over the existing connection, if it is still usable; returns the one that was used. A failed beacon is
/// not retried.
async fn post(
    connection: Option<Connection>,
    opening: &Opening,
    request: &Request<Bytes>,
) -> Option<Connection> {
    let good = connection.and_then(|mut kept| kept.is_reusable().then_some(kept));
    let mut connection = match good {
        Some(connection) => connection,
        None => client::open(opening.clone(), &mut |_| ()).await.ok()?,
    };
    connection.fetch(request, Priority::Lowest, &mut Unwatched).await.ok()?;
    Some(connection)
}

fn request(opening: &Opening, size_bytes: u64) -> Request<Bytes> {
    let scheme = if opening.security == Security::None { "http" } else { "https" };
    let body = Bytes::from(vec![b'x'; size_bytes as usize]);
    Request::post(format!("{scheme}://{}/beacon", opening.host))
        .header("content-type", "text/plain;charset=UTF-8")
        .body(body)
        .expect("a request of constant parts is one")
}

/// Answers every beacon for ever.
pub(super) async fn collect(listener: TcpListener, acceptor: Acceptor) {
    let reply = Reply::new(StatusCode::NO_CONTENT, HeaderMap::new(), Bytes::new());
    // It ends with its listener: beacons fail from then on, unnoticed.
    let _ = origin::serve(listener, acceptor, Rc::new(Collector(reply))).await;
}

/// Handler with the same answer for everything.
struct Collector(Reply);

impl Handler for Collector {
    fn handle(&self, _request: RequestHead<'_>) -> Answer {
        Answer::Ready(self.0.clone())
    }
}

/// Progress that ignores the answer.
struct Unwatched;

impl Progress for Unwatched {
    fn sent(&mut self, _head_bytes: u64, _body_bytes: u64) {}
    fn head(&mut self, _status: u16, _head_bytes: u64) {}
    fn data(&mut self, _piece: &[u8]) {}
}
