//! One SOCKS client's connection, from its first byte to its end.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::PROXY_AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use super::{Code, Handshake, HandshakeEvent, SocksDestination, SocksRefusal, Version, reply};
use crate::h1::Buffer;
use crate::h1::server::Core;
use crate::server::DrainWatch;
use crate::timer_wheel::Timer;
use crate::transport::{BufferPool, RelayEnd, join};
use crate::{Answer, Duplex, Handler, RequestHead, Response, Transport};

/// A server's setting for SOCKS in clear text.
#[derive(Clone, Default)]
pub enum SocksAccess {
    /// Off.
    #[default]
    None,
    /// Open to all clients.
    Open,
    /// Open to clients with a name and a password.
    Guarded(Rc<dyn Authenticator>),
}

impl SocksAccess {
    /// Returns true if any client is admitted.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, SocksAccess::None)
    }
}

/// Checks users' credentials.
pub trait Authenticator {
    /// Checks the user's `claim`, the value that `Proxy-Authorization` would have (RFC 7617), of a client at `peer`.
    fn admits(self: Rc<Self>, claim: HeaderValue, peer: Option<SocketAddr>) -> Verdict;
}

/// A guard's pending decision.
pub type Verdict = Pin<Box<dyn Future<Output = bool>>>;

/// The reason that a connection ended.
#[derive(Debug)]
pub enum Ended {
    /// Both sides closed.
    Orderly,
    /// The client, or the relayed data, took too long.
    Stalled,
    /// The client was refused.
    Refused(SocksRefusal),
    /// The request was answered with this error code.
    Answered(Code),
    /// The transport failed.
    Broken(io::Error),
}

/// Serves the client at `stream`: gets the requested tunnel from `handler`, and joins the two.
pub async fn serve<S, H>(stream: S, handler: Rc<H>, core: &Core, entry: &SocksAccess) -> Ended
where
    S: Transport,
    H: Handler,
{
    let guard = match entry {
        SocksAccess::Guarded(guard) => Some(guard),
        SocksAccess::None | SocksAccess::Open => None,
    };
    let mut connection = SocksConnection {
        stream,
        core,
        timer: core.timer(),
        drain: core.drain().watch(),
        input: core.lend(),
        claim: None,
    };
    connection.timer.set(core.settings.head_timeout);
    match connection.begin(&*handler, guard).await {
        Ok(far) => connection.pass(far).await,
        Err(ended) => connection.end(ended).await,
    }
}

struct SocksConnection<'c, S> {
    stream: S,
    core: &'c Core,
    timer: Timer,
    drain: DrainWatch,
    input: Buffer,
    /// The client's credentials, if they were requested and are right.
    claim: Option<HeaderValue>,
}

impl<S: Transport> SocksConnection<'_, S> {
    /// Gets the client's tunnel, and reports it.
    async fn begin<H: Handler>(
        &mut self,
        handler: &H,
        guard: Option<&Rc<dyn Authenticator>>,
    ) -> Result<Box<dyn Duplex>, Ended> {
        let (version, destination) = self.shake_hands(guard).await?;
        let asked = self.ask(handler, version, &destination).await;
        let code = asked.as_ref().err().copied().unwrap_or(Code::Succeeded);
        let mut out = Vec::new();
        reply(version, code, &mut out);
        self.timer.set(self.core.settings.idle_timeout);
        self.send(&out).await?;
        asked.map_err(Ended::Answered)
    }

    /// Runs the handshake until the client names its destination.
    async fn shake_hands(
        &mut self,
        guard: Option<&Rc<dyn Authenticator>>,
    ) -> Result<(Version, SocksDestination), Ended> {
        let mut handshake = Handshake::new(guard.is_some());
        let mut out = Vec::new();
        loop {
            let heard = handshake.next(self.input.filled(), &mut out);
            let event = match heard {
                Ok((used, event)) => {
                    self.input.consume(used);
                    event
                }
                Err(refusal) => return Err(self.send_away(refusal, &out).await),
            };
            match event {
                HandshakeEvent::Connect(version, destination) => {
                    self.send(&out).await?;
                    return Ok((version, destination));
                }
                HandshakeEvent::User { name, password } => {
                    self.claim = self.verify(guard, &name, &password).await;
                    if let Err(refusal) = handshake.admit(self.claim.is_some(), &mut out) {
                        return Err(self.send_away(refusal, &out).await);
                    }
                }
                HandshakeEvent::More => {
                    self.send(&out).await?;
                    out.clear();
                    self.read().await?;
                }
            }
        }
    }

    /// The user's claim, if it is right. A colon in a name would change the name.
    async fn verify(
        &self,
        guard: Option<&Rc<dyn Authenticator>>,
        name: &[u8],
        password: &[u8],
    ) -> Option<HeaderValue> {
        let guard = guard.filter(|_| !name.contains(&b':'))?;
        let claim = format!("Basic {}", STANDARD.encode([name, b":", password].concat()));
        let claim = HeaderValue::from_str(&claim).expect("base64 is ASCII");
        Rc::clone(guard).admits(claim.clone(), self.stream.peer()).await.then_some(claim)
    }

    /// The handler's tunnel to `destination`.
    async fn ask<H: Handler>(
        &self,
        handler: &H,
        version: Version,
        destination: &SocksDestination,
    ) -> Result<Box<dyn Duplex>, Code> {
        let authority = destination.to_string();
        let mut fields = HeaderMap::new();
        if let Some(claim) = &self.claim {
            fields.insert(PROXY_AUTHORIZATION, claim.clone());
        }
        let answer = handler.handle(RequestHead {
            scheme: "",
            socks: Some(version),
            fields: (&fields).into(),
            peer: self.stream.peer(),
            ..RequestHead::new("CONNECT", &authority, &authority)
        });
        let response = match answer {
            Answer::Ready(reply) => Response::Whole(reply),
            Answer::Later(response) => response.await.proper().await,
        };
        match response {
            Response::Tunnel(far) => Ok(far),
            Response::Whole(reply) => Err(Code::of_answer(&reply)),
            // The body of such an answer is unwanted.
            _ => Err(Code::Failed),
        }
    }

    /// Joins the client to `far`. Bytes that it sent ahead go first.
    async fn pass(self, mut far: Box<dyn Duplex>) -> Ended {
        let SocksConnection { mut stream, core, timer, input, .. } = self;
        match join((&mut stream, &mut *far), Some(input), core, &timer, core.patience()).await {
            Ok(RelayEnd::Ended) => Ended::Orderly,
            Ok(RelayEnd::Stalled) => Ended::Stalled,
            Err(error) => Ended::Broken(error),
        }
    }

    /// Ends a connection without a tunnel, with a lingering close if the client was told.
    async fn end(mut self, ended: Ended) -> Ended {
        if matches!(ended, Ended::Refused(_) | Ended::Answered(_)) {
            self.linger().await;
        }
        let mut input = self.input;
        input.consume(input.filled().len());
        self.core.take_back(input);
        ended
    }

    async fn send_away(&mut self, refusal: SocksRefusal, out: &[u8]) -> Ended {
        match self.send(out).await {
            Ok(()) => Ended::Refused(refusal),
            Err(ended) => ended,
        }
    }

    async fn send(&mut self, mut out: &[u8]) -> Result<(), Ended> {
        let (stream, timer) = (&mut self.stream, &self.timer);
        poll_fn(|cx| {
            while !out.is_empty() {
                match Pin::new(&mut *stream).poll_write(cx, out) {
                    Poll::Ready(Ok(written)) => out = &out[written..],
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(Ended::Broken(error))),
                    Poll::Pending => return stalled(timer, cx),
                }
            }
            match Pin::new(&mut *stream).poll_flush(cx) {
                Poll::Ready(flushed) => Poll::Ready(flushed.map_err(Ended::Broken)),
                Poll::Pending => stalled(timer, cx),
            }
        })
        .await
    }

    /// Reads once and appends to the input.
    async fn read(&mut self) -> Result<(), Ended> {
        let SocksConnection { stream, core, timer, drain, input, .. } = self;
        let read = poll_fn(|cx| match input.poll_fill(stream, cx) {
            Poll::Ready(read) => Poll::Ready(read.map_err(Ended::Broken)),
            Poll::Pending => {
                if drain.poll_begun(cx).is_ready() {
                    timer.set(core.settings.drain_timeout);
                }
                stalled(timer, cx)
            }
        });
        match read.await? {
            0 => Err(Ended::Broken(io::ErrorKind::UnexpectedEof.into())),
            _ => Ok(()),
        }
    }

    /// Closes this direction and waits for the client to close its own: bytes that it sends ahead would, unread, make
    /// TCP reset the connection, and the answer might be lost.
    async fn linger(&mut self) {
        self.timer.set(self.core.settings.linger_timeout);
        let SocksConnection { stream, timer, input, .. } = self;
        poll_fn(|cx| {
            if Pin::new(&mut *stream).poll_shutdown(cx).is_pending() {
                return timer.poll_expired(cx);
            }
            loop {
                input.consume(input.filled().len());
                match input.poll_fill(stream, cx) {
                    Poll::Ready(Ok(1..)) => {}
                    Poll::Ready(_) => return Poll::Ready(()),
                    Poll::Pending => return timer.poll_expired(cx),
                }
            }
        })
        .await;
    }
}

fn stalled<T>(timer: &Timer, cx: &mut Context<'_>) -> Poll<Result<T, Ended>> {
    timer.poll_expired(cx).map(|()| Err(Ended::Stalled))
}
