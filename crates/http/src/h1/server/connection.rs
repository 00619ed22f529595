//! One connection, from its first request to its end.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http::StatusCode;
use world::sim::HeldNotes;

use super::core::Core;
use super::outbox::Outbox;
use crate::h1::buffer::Buffer;
use crate::h1::codec::{BodyLength, Error, Event, Request, RequestDecoder, Version};
use crate::wheel::Timer;
use crate::{Answer, Handler, Reply, RequestHead, Transport};

/// Why a connection ended.
#[derive(Debug)]
pub enum Ended {
    /// Client or server asked for it (`Connection: close`), or the client closed between requests.
    Orderly,
    /// No request came in time.
    Idle,
    /// A request or the taking of its response stalled.
    Stalled,
    /// A request was refused.
    Refused(Error),
    /// The transport failed, or ended in the middle of a request.
    Broken(io::Error),
}

/// Answers the requests on `stream` until the connection ends; says why it did.
pub async fn serve<S, H>(stream: S, handler: Rc<H>, core: &Core) -> Ended
where
    S: Transport,
    H: Handler,
{
    let mut connection = Connection {
        held: stream.held(),
        stream,
        core,
        decoder: RequestDecoder::new(core.settings.limits),
        input: None,
        outbox: core.outbox(),
        timer: core.timer(),
        waiting: Waiting::Request,
        pending: None,
        answered: 0,
    };
    connection.timer.set(core.settings.idle_timeout);
    match connection.run(&*handler).await {
        Ok(()) => connection.linger(Ended::Orderly).await,
        Err(ended) => ended,
    }
}

struct Connection<'c, S> {
    stream: S,
    core: &'c Core,
    decoder: RequestDecoder,
    /// Lent by the core while there is something in it.
    input: Option<Buffer>,
    outbox: Outbox,
    /// Where to note what is in the outbox, if somebody wants to know.
    held: Option<HeldNotes>,
    timer: Timer,
    waiting: Waiting,
    /// A request whose body has not all arrived.
    pending: Option<Pending>,
    /// Requests that were answered.
    answered: u32,
}

/// What the client is given time for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// The first byte of a request.
    Request,
    /// The rest of a head.
    Head,
    /// More of a body.
    Body,
}

/// A request's head, kept until its body has arrived.
struct Pending {
    method: String,
    authority: String,
    target: String,
    exchange: Exchange,
    body_bytes: u64,
}

/// What a request says about the form of its response.
#[derive(Clone, Copy)]
struct Exchange {
    version: Version,
    persistent: bool,
    bodiless: bool,
}

/// What to do when what was read has been worked off.
enum Turn {
    /// More bytes are needed.
    Read,
    /// The outbox should be sent first.
    Send,
    /// An answer that takes time.
    Later(Pin<Box<dyn Future<Output = Reply>>>, Exchange),
    /// The response that was put into the outbox is the last.
    Close,
    /// A request is malformed.
    Refuse(Error),
}

impl<S: Transport> Connection<'_, S> {
    /// Answers requests until the last response was sent.
    async fn run<H: Handler>(&mut self, handler: &H) -> Result<(), Ended> {
        loop {
            match self.advance(handler) {
                Turn::Read => {
                    self.send().await?;
                    self.wait();
                    self.read().await?;
                }
                Turn::Send => self.send().await?,
                Turn::Later(answer, exchange) => {
                    self.send().await?;
                    let reply = answer.await;
                    if self.respond(&reply, exchange) == Persistence::Closes {
                        return self.send().await;
                    }
                }
                Turn::Close => return self.send().await,
                Turn::Refuse(error) => {
                    self.refuse(error.status()).await?;
                    return Err(self.linger(Ended::Refused(error)).await);
                }
            }
        }
    }

    /// Works off what was read, as far as it goes without waiting.
    fn advance<H: Handler>(&mut self, handler: &H) -> Turn {
        let Some(mut input) = self.input.take() else { return Turn::Read };
        let turn = self.decode(&mut input, handler);
        if input.is_empty() {
            self.core.return_input(input);
        } else {
            self.input = Some(input);
        }
        turn
    }

    fn decode<H: Handler>(&mut self, input: &mut Buffer, handler: &H) -> Turn {
        loop {
            if self.outbox.is_full() {
                return Turn::Send;
            }
            let (used, event) = match self.decoder.next(input.filled()) {
                Ok(step) => step,
                Err(error) => return Turn::Refuse(error),
            };
            if matches!(event, Event::Head(_)) {
                self.waiting = Waiting::Request;
            }
            let answered = match event {
                Event::More => {
                    input.consume(used);
                    return Turn::Read;
                }
                Event::Head(request) if request.body == BodyLength::None => {
                    let exchange = Exchange::of(&request);
                    Some((handler.handle(head_of(&request)), exchange))
                }
                Event::Head(request) => {
                    self.pending = Some(Pending::of(&request));
                    // RFC 9110 section 10.1.1: not if the body is already coming.
                    if request.expects_continue && input.filled().len() == used {
                        self.outbox.text(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    None
                }
                Event::Data(data) => {
                    let pending = self.pending.as_mut().expect("a body follows its head");
                    pending.body_bytes += data.len() as u64;
                    None
                }
                Event::End => {
                    let pending = self.pending.take().expect("a body follows its head");
                    Some((handler.handle(pending.head()), pending.exchange))
                }
            };
            input.consume(used);
            let Some((answer, exchange)) = answered else { continue };
            let reply = match answer {
                Answer::Ready(reply) => reply,
                Answer::Later(answer) => return Turn::Later(answer, exchange),
            };
            if self.respond(&reply, exchange) == Persistence::Closes {
                return Turn::Close;
            }
        }
    }

    /// Sets the timer for what is missing. A head's time runs from its first byte.
    fn wait(&mut self) {
        let before = self.waiting;
        self.waiting = match (&self.pending, &self.input) {
            (Some(_), _) => Waiting::Body,
            (None, Some(_)) => Waiting::Head,
            (None, None) => Waiting::Request,
        };
        if self.waiting != Waiting::Head {
            self.timer.set(self.core.settings.idle_timeout);
        } else if before != Waiting::Head {
            self.timer.set(self.core.settings.head_timeout);
        }
    }

    /// Puts a response into the outbox.
    fn respond(&mut self, reply: &Reply, exchange: Exchange) -> Persistence {
        let head = &reply.head.h1[..];
        // The prepared head ends with an empty line; a field of this connection goes before it.
        let open = &head[..head.len().saturating_sub(2)];
        self.answered += 1;
        let is_last = self.core.settings.requests.is_some_and(|most| self.answered >= most);
        let persistent = exchange.persistent && !is_last;
        match (exchange.version, persistent) {
            (Version::V11, true) => self.outbox.text(head),
            (Version::V10, true) => {
                // RFC 9112 appendix C.2.2: HTTP/1.0 clients want to be told.
                self.outbox.text(open);
                self.outbox.text(b"connection: keep-alive\r\n\r\n");
            }
            (_, false) => {
                self.outbox.text(open);
                self.outbox.text(b"connection: close\r\n\r\n");
            }
        }
        if !exchange.bodiless && !reply.head.is_bodiless() {
            self.outbox.body(&reply.body);
        }
        if persistent { Persistence::Persists } else { Persistence::Closes }
    }

    /// Refuses what the client sent, once what was answered before has left.
    async fn refuse(&mut self, status: StatusCode) -> Result<(), Ended> {
        let reason = status.canonical_reason().unwrap_or_default();
        let text = format!(
            "HTTP/1.1 {} {reason}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            status.as_str()
        );
        self.outbox.text(text.as_bytes());
        self.send().await
    }

    /// Sends all that is in the outbox. The peer must take some of it in time.
    async fn send(&mut self) -> Result<(), Ended> {
        if self.outbox.is_empty() {
            return Ok(());
        }
        self.timer.set(self.core.settings.idle_timeout);
        poll_fn(|cx| self.poll_send(cx)).await
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        let done = loop {
            if self.outbox.is_empty() {
                break Pin::new(&mut self.stream).poll_flush(cx);
            }
            match self.outbox.poll_write(&mut self.stream, cx) {
                Poll::Ready(Ok(_)) if self.outbox.is_empty() => {}
                Poll::Ready(Ok(_)) => self.timer.set(self.core.settings.idle_timeout),
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        if let Some(held) = &self.held {
            held.application(self.outbox.len() as u64);
        }
        self.or_stalled(done, cx)
    }

    /// What the transport said, or that it did not in time.
    fn or_stalled<T>(
        &self,
        said: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, Ended>> {
        match said {
            Poll::Ready(result) => Poll::Ready(result.map_err(Ended::Broken)),
            Poll::Pending => self.timer.poll_expired(cx).map(|()| Err(Ended::Stalled)),
        }
    }

    /// Reads once.
    async fn read(&mut self) -> Result<(), Ended> {
        match poll_fn(|cx| self.poll_read(cx)).await {
            Ok(0) => Err(self.closed_by_client().await),
            Ok(_) => Ok(()),
            Err(Ended::Stalled) if self.waiting == Waiting::Request => Err(Ended::Idle),
            Err(Ended::Stalled) if self.waiting == Waiting::Head => {
                // RFC 9110 section 15.5.9.
                self.timer.set(self.core.settings.linger_timeout);
                self.refuse(StatusCode::REQUEST_TIMEOUT).await?;
                Err(Ended::Stalled)
            }
            Err(ended) => Err(ended),
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, Ended>> {
        let mut input = self.input.take().unwrap_or_else(|| self.core.input());
        let read = input.poll_fill(&mut self.stream, cx);
        if input.is_empty() {
            self.core.return_input(input);
        } else {
            self.input = Some(input);
        }
        self.or_stalled(read, cx)
    }

    /// The client closed its direction, when all that it had asked was answered.
    async fn closed_by_client(&mut self) -> Ended {
        let rest = self.input.as_ref().map_or(&[][..], Buffer::filled);
        if !self.decoder.is_between(rest) {
            return Ended::Broken(io::ErrorKind::UnexpectedEof.into());
        }
        // An error tells only that the client did not wait.
        drop(self.shut_down().await);
        Ended::Orderly
    }

    async fn shut_down(&mut self) -> Result<(), Ended> {
        self.timer.set(self.core.settings.linger_timeout);
        poll_fn(|cx| {
            let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
            self.or_stalled(shut, cx)
        })
        .await
    }

    /// Closes our direction and waits until the client has closed its own. RFC 9112 section 9.6:
    /// closing both at once, with bytes of the client unread, makes TCP reset the connection, and
    /// the client may lose the response.
    async fn linger(&mut self, ended: Ended) -> Ended {
        if self.shut_down().await.is_err() {
            return ended;
        }
        loop {
            if let Some(input) = &mut self.input {
                input.consume(input.filled().len());
            }
            match poll_fn(|cx| self.poll_read(cx)).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return ended,
            }
        }
    }
}

impl<S> Drop for Connection<'_, S> {
    /// The buffers serve the next connection.
    fn drop(&mut self) {
        let outbox = std::mem::take(&mut self.outbox);
        if outbox.is_empty() {
            self.core.return_outbox(outbox);
        }
    }
}

/// Whether the connection is used on after a response.
#[derive(PartialEq, Eq)]
enum Persistence {
    Persists,
    Closes,
}

impl Exchange {
    fn of(request: &Request<'_>) -> Exchange {
        Exchange {
            version: request.version,
            persistent: request.persistent,
            bodiless: request.method == "HEAD",
        }
    }
}

impl Pending {
    fn of(request: &Request<'_>) -> Pending {
        Pending {
            method: request.method.to_owned(),
            authority: request.authority.to_owned(),
            target: request.target.to_owned(),
            exchange: Exchange::of(request),
            body_bytes: 0,
        }
    }

    fn head(&self) -> RequestHead<'_> {
        RequestHead {
            method: &self.method,
            authority: &self.authority,
            target: &self.target,
            body_bytes: self.body_bytes,
        }
    }
}

fn head_of<'b>(request: &Request<'b>) -> RequestHead<'b> {
    RequestHead {
        method: request.method,
        authority: request.authority,
        target: request.target,
        body_bytes: 0,
    }
}
