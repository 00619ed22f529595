//! A handler that reads bodies as they arrive, streams responses and grants tunnels.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use farlink_http::server::Later;
use farlink_http::{Answer, Body, BodyError, Handler, Reply, RequestBody, RequestHead, Response};
use http::{HeaderMap, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The handler's observations.
#[derive(Default)]
pub struct Notes {
    /// Bytes of bodies read.
    pub read: Cell<u64>,
    /// Requests whose answers were started and dropped before their end.
    pub cancelled: Cell<u32>,
}

/// By the target's last segment:
/// `echo` answers with the request's body as it arrives, `count` with its size, `ignore` without reading it, `patient`
/// reads it a piece per millisecond, `fields` reports the request, `pieces` sends ten pieces of 1,000 bytes a
/// millisecond apart, `known` the same with their length, `broken` and `known-broken` fail after five, `short` and
/// `long` differ from their announced lengths, `endless` never ends. A `CONNECT` to `echo` is granted an echo, one to
/// `plain` is answered as if it were a GET, others are forbidden.
#[derive(Default)]
pub struct Streams(pub Rc<Notes>);

impl Handler for Streams {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        if request.is_connect() {
            return connect(request.authority);
        }
        let (status, name) = (StatusCode::OK, last(request.target));
        let streamed = |length, body| Answer::later(async move { of(length, body) });
        match name {
            "fields" => Answer::Ready(Reply::new(status, HeaderMap::new(), tell(request).into())),
            "pieces" => streamed(None, self.pieces(10, None)),
            "known" => streamed(Some(10_000), self.pieces(10, None)),
            "broken" => streamed(None, self.pieces(5, Some(broken()))),
            "known-broken" => streamed(Some(10_000), self.pieces(5, Some(broken()))),
            "short" => streamed(Some(10_001), self.pieces(10, None)),
            "long" => streamed(Some(9_999), self.pieces(10, None)),
            "endless" => streamed(None, self.pieces(usize::MAX, None)),
            "empty" => streamed(None, self.pieces(0, None)),
            "not-modified" => Answer::later(async {
                let mut head = http::Response::new(());
                *head.status_mut() = StatusCode::NOT_MODIFIED;
                let body = Box::new(Pieces::default());
                Response::Streamed { head, length: Some(7), body }
            }),
            "tunnel" => Answer::later(async { Response::Tunnel(Box::new(tokio::io::duplex(1).0)) }),
            _ => Answer::Ready(Reply::new(status, HeaderMap::new(), Bytes::from_static(b"whole"))),
        }
    }

    fn receive(&self, request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        let notes = Rc::clone(&self.0);
        match last(request.target) {
            "echo" => Ok(Answer::later(async move { of(body.length(), Box::new(body)) })),
            "count" => Ok(Answer::later(count(body, notes, Duration::ZERO))),
            "patient" => Ok(Answer::later(count(body, notes, Duration::from_millis(1)))),
            "ignore" => {
                drop(body);
                Ok(Answer::Ready(Reply::new(StatusCode::OK, HeaderMap::new(), Bytes::new())))
            }
            _ => Err(body),
        }
    }
}

impl Streams {
    fn pieces(&self, left: usize, end: Option<BodyError>) -> Box<dyn Body> {
        Box::new(Pieces { left, end, pause: None, notes: Some(Rc::clone(&self.0)) })
    }
}

fn last(target: &str) -> &str {
    target.rsplit('/').next().unwrap_or_default()
}

fn of(length: Option<u64>, body: Box<dyn Body>) -> Response {
    let mut head = http::Response::new(());
    // Never sent.
    head.headers_mut().insert("transfer-encoding", "chunked".parse().expect("a value"));
    head.headers_mut().insert("connection", "x".parse().expect("a value"));
    Response::Streamed { head, length, body }
}

fn broken() -> BodyError {
    BodyError::Broken(std::io::ErrorKind::ConnectionReset.into())
}

async fn count(mut body: RequestBody, notes: Rc<Notes>, pause: Duration) -> Response {
    let mut size = 0;
    while let Some(piece) = body.next().await {
        let Ok(piece) = piece else {
            return Reply::new(StatusCode::BAD_REQUEST, HeaderMap::new(), Bytes::new()).into();
        };
        size += piece.len() as u64;
        notes.read.set(size);
        if !pause.is_zero() {
            world::sleep(pause).await;
        }
    }
    Reply::new(StatusCode::OK, HeaderMap::new(), size.to_string().into()).into()
}

/// Method, scheme, authority, target, protocol and most fields.
fn tell(request: RequestHead<'_>) -> String {
    let RequestHead { method, scheme, authority, target, protocol, .. } = request;
    let mut told = format!("{method} {scheme} {authority} {target} {protocol}");
    for (name, value) in request.fields.iter().filter(|(name, _)| name.starts_with("x-")) {
        told += &format!(" {name}={}", String::from_utf8_lossy(value));
    }
    assert!(request.peer.is_some_and(|peer| peer.ip().is_loopback()));
    told
}

fn connect(authority: &str) -> Answer {
    if authority == "plain:443" {
        return Answer::Ready(Reply::new(StatusCode::OK, HeaderMap::new(), Bytes::new()));
    }
    if authority != "echo:443" {
        return Answer::Ready(Reply::new(StatusCode::FORBIDDEN, HeaderMap::new(), Bytes::new()));
    }
    let (near, mut far) = tokio::io::duplex(4_096);
    drop(world::spawn(async move {
        far.write_all(b"hello ").await.expect("the tunnel is open");
        let mut buffer = [0; 1_000];
        loop {
            match far.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(read) if far.write_all(&buffer[..read]).await.is_err() => break,
                Ok(_) => {}
            }
        }
        let _ = far.write_all(b" bye").await;
    }));
    let granted: Later = Box::pin(async move { Response::Tunnel(Box::new(near)) });
    Answer::Later(granted)
}

/// This many pieces of 1,000 bytes, a millisecond apart, and then an end.
#[derive(Default)]
struct Pieces {
    left: usize,
    end: Option<BodyError>,
    pause: Option<Pin<Box<dyn Future<Output = ()>>>>,
    notes: Option<Rc<Notes>>,
}

impl Body for Pieces {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.left == 0 {
            self.notes = None;
            return Poll::Ready(self.end.take().map(Err));
        }
        let pause =
            self.pause.get_or_insert_with(|| Box::pin(world::sleep(Duration::from_millis(1))));
        ready!(pause.as_mut().poll(cx));
        self.pause = None;
        self.left -= 1;
        if self.left == 0 && self.end.is_none() {
            self.notes = None;
        }
        Poll::Ready(Some(Ok(Bytes::from(vec![b'p'; 1_000]))))
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        if let Some(notes) = &self.notes {
            notes.cancelled.set(notes.cancelled.get() + 1);
        }
    }
}
