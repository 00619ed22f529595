//! An HTTP/2 client's connection: any number of concurrent requests.

mod exchange;
pub(super) mod priority_tree;
mod streamed;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use ::h2::client::SendRequest;
use bytes::Bytes;
use http::Request;

use self::exchange::{H2Exchange, StreamWatch};
use self::priority_tree::PriorityTree;
use super::metering::{H2Backlog, UnsentBody};
use super::settings;
use super::wire::coalesce::HeadPerWrite;
use super::wire::field_filter::FieldFiltered;
use super::wire::observer::{Observed, Observer, SharedObserver};
use super::wire::priority::PriorityWriter;
use crate::client::stream_limit::StreamLimit;
use crate::{Precedence, Progress, Promises, PushFilter, RequestError, Transport};
use exchange::{PromiseReceiver, Pushed};

pub use self::streamed::Incoming;

/// Starts HTTP/2 on `stream`. The first result sends requests; the second drives the connection and must be spawned. It
/// completes when the connection has ended; this end closes it when the last handle is dropped.
///
/// # Errors
/// If the stream fails.
pub async fn connect<S>(
    stream: S,
    settings: &settings::Client,
) -> Result<(Handle, impl Future<Output = Result<(), RequestError>> + use<S>), RequestError>
where
    S: Transport,
{
    connect_wanting(stream, settings, None).await
}

/// The same, with the pushed responses that are `wanted`; if none are, the server is told not to push.
///
/// # Errors
/// If the stream fails.
pub(crate) async fn connect_wanting<S>(
    stream: S,
    settings: &settings::Client,
    wanted: Option<PushFilter>,
) -> Result<(Handle, impl Future<Output = Result<(), RequestError>> + use<S>), RequestError>
where
    S: Transport,
{
    let observer = Rc::new(RefCell::new(Observer::of_client()));
    let backlog = H2Backlog::new(stream.held(), &observer);
    let stream = FieldFiltered::of_server(Observed::new(HeadPerWrite::new(stream), &observer));
    let tree = settings.dependencies.map(PriorityTree::new);
    let stream = PriorityWriter::new(stream, tree.as_ref());
    let mut builder = settings.builder();
    builder.enable_push(wanted.is_some());
    let (requests, mut connection) =
        builder.handshake(stream).await.map_err(|e| failure(e, false))?;
    let stream_limit = StreamLimit::new(requests.current_max_send_streams());
    let promises = wanted.map(|wanted| Rc::new(RefCell::new(Promises::new(wanted))));
    let (told, shared_limit) = (Rc::clone(&backlog), stream_limit.clone());
    let handle =
        Handle { requests, observer, backlog: told, stream_limit: shared_limit, tree, promises };
    let driver = async move {
        let ended = poll_fn(|cx| {
            let ended = Pin::new(&mut connection).poll(cx);
            stream_limit.set_limit(connection.max_concurrent_send_streams());
            backlog.note_written(0);
            ended
        })
        .await;
        stream_limit.close();
        ended.map_err(|error| failure(error, true))
    };
    Ok((handle, driver))
}

/// Sends requests on one connection. Clones share it.
#[derive(Clone)]
pub struct Handle {
    requests: SendRequest<Bytes>,
    observer: SharedObserver,
    backlog: Rc<H2Backlog>,
    stream_limit: StreamLimit,
    tree: Option<PriorityTree>,
    /// Pushed responses, if they are accepted.
    promises: Option<Rc<RefCell<Promises<Pushed>>>>,
}

impl Handle {
    /// Returns true if the connection takes new requests: it is open and the server has sent no GOAWAY.
    pub fn is_usable(&self) -> bool {
        !self.stream_limit.is_closed() && !self.observer.borrow().is_going_away()
    }

    /// The server's limit of concurrent streams.
    pub(crate) fn most_streams(&self) -> usize {
        self.stream_limit.limit()
    }

    /// Sends `request` and reports its response to `progress`. At the server's stream limit the request waits, the most
    /// urgent first. Dropping the future resets the stream.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn fetch(
        &self,
        request: &Request<Bytes>,
        precedence: impl Into<Precedence>,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        let precedence = precedence.into();
        if let Some(pushed) = self.claim(request) {
            progress.admitted();
            progress.sent(0, 0);
            // A promised response that the server did not push after all is requested like any other.
            if let Some(begun) = pushed.begun().await {
                return begun.run(progress).await;
            }
        }
        let head = crate::message::head(request)?;
        let body = UnsentBody::new(request.body().clone(), &self.backlog);
        self.backlog.note(0);
        let Ok(_permit) = self.stream_limit.acquire(precedence.level).await else {
            return Err(RequestError::Unanswered(io::ErrorKind::NotConnected.into()));
        };
        progress.admitted();
        let mut requests = self.requests.clone();
        poll_fn(|cx| requests.poll_ready(cx)).await.map_err(|e| failure(e, false))?;
        let (mut response, upload) =
            requests.send_request(head, body.is_empty()).map_err(|e| failure(e, false))?;
        let stream = response.stream_id().as_u32();
        // Its HEADERS are written when the driver next runs.
        let _branch = self.tree.as_ref().map(|tree| tree.open(stream, precedence));
        let promising = self.promises.as_ref().map(|promises| {
            PromiseReceiver::new(response.push_promises(), request.uri(), promises, &self.observer)
        });
        let watch = StreamWatch::new(&self.observer, stream);
        H2Exchange { watch, upload, body, sent: false, promising, progress }.run(response).await
    }

    /// The pushed response to `request`, if there is one.
    fn claim(&self, request: &Request<Bytes>) -> Option<Pushed> {
        self.promises.as_ref()?.borrow_mut().claim(request)
    }
}

/// The error reported to the caller; `begun` if the response had begun.
fn failure(error: ::h2::Error, begun: bool) -> RequestError {
    if error.is_remote() {
        return RequestError::Refused(error.to_string());
    }
    let text = error.to_string();
    match error.into_io() {
        Some(error) if begun => RequestError::Broken(error),
        Some(error) => RequestError::Unanswered(error),
        None => RequestError::Protocol(text),
    }
}
