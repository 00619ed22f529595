//! SPDY/3.1, 3 and 2 on the `spdy` crate, which does framing, compression, flow control and scheduling.
//!
//! This module joins a session to a stream of the world: one future per connection reads, requests and writes, in small
//! steps, so that waiting data can still be reordered. Every window, limit and policy is the session's [`Config`].
//!
//! Over TLS a version is negotiated by ALPN, in clear text it is detected by the first bytes. 3 and 3.1 write the same
//! number there: a server must be told which of them it means.
//!
//! Left out: trailers and other HEADERS (discarded).

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName};
use http::{Method, Request, Response, Uri};
use spdy::message::{self, RequestLine};
use spdy::{Fields, Session};
use tokio::io::AsyncReadExt;
use world::sim::HeldNotes;

use crate::message::HTTP1_ONLY;
use crate::server::is_bodiless;
use crate::{Reply, RequestError, Transport};

pub use spdy::{Compression, Config, Limits, Policy, PushedHead, Recall, Version};

pub mod client;
pub mod server;

pub(crate) use client::connect_wanting;
pub use client::{Handle, connect};
pub use server::{serve, serve_in};

/// The most bytes per read.
const READ_BYTES: usize = 32 << 10;

/// Free space below which the read buffer grows.
const LEAST_ROOM: usize = 4 << 10;

/// Pieces of the output per vectored write.
const SLICES: usize = 16;

struct SessionWire<S> {
    stream: S,
    buffer: BytesMut,
    /// DATA frames are added to the waiting output while it is smaller than this.
    fill_bytes: usize,
    notes: Option<HeldNotes>,
    /// Positions in the output at which a write must end.
    ends: VecDeque<u64>,
}

impl<S: Transport> SessionWire<S> {
    /// `chunk_bytes` is the size of the session's DATA frames: one of at most half that size goes with the next.
    fn new(stream: S, chunk_bytes: usize) -> SessionWire<S> {
        let notes = stream.held();
        SessionWire {
            stream,
            buffer: BytesMut::new(),
            fill_bytes: chunk_bytes.div_ceil(2),
            notes,
            ends: VecDeque::new(),
        }
    }

    /// Ends a write at this position of the session's output: earlier output is written separately.
    fn end_write_at(&mut self, position: u64) {
        self.ends.push_back(position);
    }

    /// Passes received bytes to `session`. Ready when nothing more will come, pending when nothing more is available.
    fn poll_read(&mut self, session: &mut Session, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.buffer.capacity() < LEAST_ROOM {
                self.buffer.reserve(READ_BYTES);
            }
            let read = ready!(pin!(self.stream.read_buf(&mut self.buffer)).poll(cx))?;
            if read == 0 {
                return Poll::Ready(Ok(()));
            }
            let now = Duration::from_nanos(world::now().as_nanos());
            session.receive(now, self.buffer.split().freeze());
        }
    }

    /// Writes the output of `session`. Ready when nothing is left that may be sent.
    fn poll_write(&mut self, session: &mut Session, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = self.poll_drain(session, cx);
        if let Some(notes) = &self.notes {
            notes.application((session.queued() + session.output().len()) as u64);
        }
        written
    }

    fn poll_drain(&mut self, session: &mut Session, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            session.produce(self.fill_bytes);
            if session.output().is_empty() {
                return Pin::new(&mut self.stream).poll_flush(cx);
            }
            let passed = session.output().passed();
            while self.ends.pop_front_if(|end| *end <= passed).is_some() {}
            let most = self.ends.front().map_or(usize::MAX, |end| (end - passed) as usize);
            let mut slices = [IoSlice::new(&[]); SLICES];
            let filled = session.output().slices(most, &mut slices);
            let stream = Pin::new(&mut self.stream);
            let taken = ready!(stream.poll_write_vectored(cx, &slices[..filled]))?;
            if taken == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            session.advance(taken);
        }
    }

    /// Closes the sending direction.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// The block of `request`, whose URI must be absolute.
fn of_request(version: Version, request: &Request<Bytes>) -> Result<Fields, RequestError> {
    let uri = request.uri();
    let (Some(scheme), Some(host)) = (uri.scheme_str(), uri.authority()) else {
        return Err(RequestError::Unsendable(format!(
            "SPDY needs an absolute URI with scheme and host, this one is `{uri}`"
        )));
    };
    let path = match *request.method() {
        // As in Chrome's requests to its SPDY proxies, except the scheme, which it left out.
        Method::CONNECT => host.as_str(),
        _ => uri.path_and_query().map_or("/", |path| path.as_str()),
    };
    let mut fields = message::request(
        version,
        RequestLine {
            method: request.method().as_str().as_bytes(),
            scheme: scheme.as_bytes(),
            host: host.as_str().as_bytes(),
            path: path.as_bytes(),
        },
    );
    push(&mut fields, version, request.headers());
    let bytes = request.body().len();
    if bytes > 0 || [Method::POST, Method::PUT, Method::PATCH].contains(request.method()) {
        fields.push(CONTENT_LENGTH, bytes.to_string());
    }
    Ok(fields)
}

/// The block that promises a response to a GET for `path` of `host`.
fn of_promise(version: Version, scheme: &str, host: &str, path: &str) -> Fields {
    message::pushed(version, scheme, host, path)
}

/// The same with the head of that response.
fn of_answered_promise(
    version: Version,
    scheme: &str,
    host: &str,
    path: &str,
    reply: &Reply,
) -> Fields {
    message::pushed_with(version, scheme, host, path, &of_reply(version, reply))
}

/// The URL promised by a pushed stream's first block; `None` if it is invalid.
fn promised(version: Version, fields: &Fields) -> Option<Uri> {
    let parts = message::read_pushed(version, fields).ok()?;
    let [scheme, host, path] = parts.map(|part| std::str::from_utf8(part).ok());
    Uri::builder().scheme(scheme?).authority(host?).path_and_query(path?).build().ok()
}

/// The block of a response's head.
fn of_reply(version: Version, reply: &Reply) -> Fields {
    of_head(version, &reply.head.parts, Some(reply.head.body_bytes))
}

/// The block of a response's head whose body has this length, if known.
fn of_head(version: Version, head: &Response<()>, length: Option<u64>) -> Fields {
    // "200 OK" is in the dictionary.
    let mut fields = message::response(version, &head.status().to_string());
    push(&mut fields, version, head.headers());
    if let Some(bytes) = length.filter(|_| !is_bodiless(head.status())) {
        fields.push(CONTENT_LENGTH, bytes.to_string());
    }
    fields
}

fn push(fields: &mut Fields, version: Version, map: &HeaderMap) {
    // The length is added at the end.
    let is_passed = |name: &&HeaderName| **name != CONTENT_LENGTH && !HTTP1_ONLY.contains(name);
    for name in map.keys().filter(is_passed) {
        let mut values = map.get_all(name).iter().filter(|value| !value.is_empty()).peekable();
        // Version 2 has no empty values: an empty field is left out.
        if values.peek().is_some() || version != Version::V2 {
            fields.push_all(name, values);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn request(uri: &str) -> Request<Bytes> {
        Request::post(uri)
            .header("host", "other.test")
            .header("connection", "keep-alive")
            .header("accept", "*/*")
            .header("x-empty", "")
            .header("cookie", "a=1")
            .header("cookie", "b=2")
            .body(Bytes::from_static(b"12345"))
            .expect("a request")
    }

    fn text(fields: &Fields) -> String {
        let line = |(name, value): (&[u8], &[u8])| {
            let all = [name, b"=", value, b" "].concat();
            String::from_utf8(all).expect("ASCII").replace('\0', "|")
        };
        fields.iter().map(line).collect()
    }

    #[test]
    fn a_request_in_both_spellings() {
        let request = request("https://a.test/x?y");
        let fields = of_request(Version::V31, &request).expect("sendable");
        assert_eq!(
            text(&fields),
            ":host=a.test :method=POST :path=/x?y :scheme=https :version=HTTP/1.1 \
             accept=*/* x-empty= cookie=a=1|b=2 content-length=5 "
        );
        let fields = of_request(Version::V2, &request).expect("sendable");
        assert_eq!(
            text(&fields),
            "host=a.test method=POST url=/x?y scheme=https version=HTTP/1.1 \
             accept=*/* cookie=a=1|b=2 content-length=5 "
        );
        assert_eq!(fields.check(Version::V2), Ok(()));
    }

    #[test]
    fn a_relative_uri_is_refused() {
        assert!(matches!(
            of_request(Version::V31, &request("/x")),
            Err(RequestError::Unsendable(_))
        ));
    }

    #[test]
    fn a_response_says_its_length_unless_it_has_no_body() {
        let mut map = HeaderMap::new();
        map.insert("etag", "x".parse().expect("a value"));
        let reply = |status| Reply::new(status, map.clone(), Bytes::from_static(b"abc"));
        let fields = of_reply(Version::V31, &reply(StatusCode::OK));
        assert_eq!(text(&fields), ":status=200 OK :version=HTTP/1.1 etag=x content-length=3 ");
        let fields = of_reply(Version::V2, &reply(StatusCode::NOT_MODIFIED));
        assert_eq!(text(&fields), "status=304 Not Modified version=HTTP/1.1 etag=x ");
    }
}
