//! An HTTP/2 client's connection: any number of requests at once.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use ::h2::client::{ResponseFuture, SendRequest};
use ::h2::{RecvStream, SendStream};
use bytes::Bytes;
use http::Request;

use super::backlog::{Backlog, Waiting};
use super::gate::Gate;
use super::observer::{Observed, Observer, Shared};
use super::settings;
use super::singly::Singly;
use crate::{Failure, Precedence, Progress, Transport, alt_svc};

pub(super) mod dependencies;
mod prioritised;
pub(crate) mod request;

use self::dependencies::Dependencies;
use self::prioritised::{Prioritised, Unsaid};

/// Begins HTTP/2 on `stream`. The first of what is returned sends requests; the second drives the
/// connection and must be spawned. It completes when the connection has ended, which this end does when the last
/// handle is dropped.
///
/// # Errors
/// If the stream fails.
pub async fn connect<S>(
    stream: S,
    settings: &settings::Client,
) -> Result<(Handle, impl Future<Output = Result<(), Failure>> + use<S>), Failure>
where
    S: Transport,
{
    let observer = Rc::new(RefCell::new(Observer::of_client()));
    let backlog = Backlog::new(stream.held(), &observer);
    let stream = Observed::new(Singly::new(stream), &observer);
    let tree = settings.dependencies.map(Tree::new);
    let stream = Prioritised::new(stream, tree.as_ref().map(|tree| &tree.unsaid));
    let (requests, mut connection) =
        settings.builder().handshake(stream).await.map_err(|e| failure(e, false))?;
    let gate = Gate::new(requests.current_max_send_streams());
    let handle =
        Handle { requests, observer, backlog: Rc::clone(&backlog), gate: gate.clone(), tree };
    let driver = async move {
        let ended = poll_fn(|cx| {
            let ended = Pin::new(&mut connection).poll(cx);
            gate.set_limit(connection.max_concurrent_send_streams());
            backlog.note_written(0);
            ended
        })
        .await;
        gate.close();
        ended.map_err(|error| failure(error, true))
    };
    Ok((handle, driver))
}

/// Sends requests on one connection. Clones share it.
#[derive(Clone)]
pub struct Handle {
    requests: SendRequest<Bytes>,
    observer: Shared,
    backlog: Rc<Backlog>,
    gate: Gate,
    tree: Option<Tree>,
}

/// What requests are said to depend on.
#[derive(Clone)]
struct Tree {
    dependencies: Rc<RefCell<Dependencies>>,
    unsaid: Unsaid,
}

impl Tree {
    fn new(shape: dependencies::Shape) -> Tree {
        let dependencies = Rc::new(RefCell::new(Dependencies::new(shape)));
        Tree { dependencies, unsaid: Rc::default() }
    }

    /// The request on `stream` will say its place in the tree, which it has until what is returned is dropped.
    fn open(&self, stream: u32, precedence: Precedence) -> Branch {
        let dependency = self.dependencies.borrow_mut().open(stream, precedence);
        self.unsaid.borrow_mut().insert(stream, dependency);
        Branch { tree: self.clone(), stream }
    }
}

/// A request's place in the tree.
struct Branch {
    tree: Tree,
    stream: u32,
}

impl Drop for Branch {
    fn drop(&mut self) {
        self.tree.dependencies.borrow_mut().close(self.stream);
        self.tree.unsaid.borrow_mut().remove(&self.stream);
    }
}

impl Handle {
    /// Whether the connection takes new requests: it is open and the server has sent no GOAWAY.
    pub fn is_usable(&self) -> bool {
        !self.gate.is_closed() && !self.observer.borrow().is_going_away()
    }

    /// The account of the connection's frames.
    pub fn observer(&self) -> &Shared {
        &self.observer
    }

    /// Sends `request` and reports its response to `progress`. If the server's limit of streams is
    /// reached the request waits, the most urgent first. Dropping the future resets the stream.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn fetch(
        &self,
        request: &Request<Bytes>,
        precedence: impl Into<Precedence>,
        progress: &mut dyn Progress,
    ) -> Result<(), Failure> {
        let precedence = precedence.into();
        let head = request::head(request)?;
        let body = Waiting::new(request.body().clone(), &self.backlog);
        self.backlog.note(0);
        let Ok(_pass) = self.gate.pass(precedence.level).await else {
            return Err(Failure::Unanswered(io::ErrorKind::NotConnected.into()));
        };
        progress.admitted();
        let mut requests = self.requests.clone();
        poll_fn(|cx| requests.poll_ready(cx)).await.map_err(|e| failure(e, false))?;
        let (response, upload) =
            requests.send_request(head, body.is_empty()).map_err(|e| failure(e, false))?;
        let stream = response.stream_id().as_u32();
        let watch = Watch::new(&self.observer, stream);
        // Its HEADERS are written when the driver runs next.
        let _branch = self.tree.as_ref().map(|tree| tree.open(stream, precedence));
        Exchange { watch, upload, body, sent: false, progress }.run(response).await
    }
}

/// A stream's account, for as long as its exchange lasts.
struct Watch {
    observer: Shared,
    stream: u32,
}

impl Watch {
    fn new(observer: &Shared, stream: u32) -> Watch {
        observer.borrow_mut().watch(stream);
        Watch { observer: Rc::clone(observer), stream }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.observer.borrow_mut().forget(self.stream);
    }
}

/// One request and its response.
struct Exchange<'a> {
    watch: Watch,
    upload: SendStream<Bytes>,
    /// What is left of the request's body.
    body: Waiting,
    /// Whether the request's last byte has left.
    sent: bool,
    progress: &'a mut dyn Progress,
}

impl Exchange<'_> {
    async fn run(mut self, mut response: ResponseFuture) -> Result<(), Failure> {
        let head = poll_fn(|cx| {
            self.poll_send(cx);
            Pin::new(&mut response).poll(cx)
        });
        let (head, mut body) = head.await.map_err(|e| failure(e, false))?.into_parts();
        let head_bytes = self.watch.observer.borrow().received(self.watch.stream).head_bytes;
        alt_svc::tell(&head.headers, self.progress);
        self.progress.head(head.status.as_u16(), head_bytes);
        poll_fn(|cx| {
            self.poll_send(cx);
            self.poll_receive(cx, &mut body)
        })
        .await
        .map_err(|e| failure(e, true))
    }

    /// Hands on as much of the request's body as the windows allow, and notes when its last byte has
    /// left. An error is the response's to tell.
    fn poll_send(&mut self, cx: &mut Context<'_>) {
        while !self.body.is_empty() {
            self.upload.reserve_capacity(self.body.len());
            let Poll::Ready(Some(Ok(capacity))) = self.upload.poll_capacity(cx) else {
                return;
            };
            let piece = self.body.hand_over(capacity.min(self.body.len()));
            if self.upload.send_data(piece, self.body.is_empty()).is_err() {
                self.body.give_up();
            }
        }
        if !self.sent {
            let sent = self.watch.observer.borrow_mut().poll_sent(self.watch.stream, cx);
            if let Poll::Ready(sent) = sent {
                self.sent = true;
                self.progress.sent(sent.head_bytes, sent.body_bytes);
            }
        }
    }

    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        body: &mut RecvStream,
    ) -> Poll<Result<(), ::h2::Error>> {
        while let Some(piece) = std::task::ready!(body.poll_data(cx)) {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            self.progress.data(&piece);
        }
        body.poll_trailers(cx).map_ok(drop)
    }
}

/// What went wrong, as the caller is told; `begun` if the response had begun.
fn failure(error: ::h2::Error, begun: bool) -> Failure {
    if error.is_remote() {
        return Failure::Refused(error.to_string());
    }
    let text = error.to_string();
    match error.into_io() {
        Some(error) if begun => Failure::Broken(error),
        Some(error) => Failure::Unanswered(error),
        None => Failure::Protocol(text),
    }
}
