//! A handler's response, and the fields of a request in any protocol's representation.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use spdy::{Version, message};

use super::{Body, Duplex, Later};
use crate::Priority;
use crate::h1::codec;
use crate::h1::codec::encode::response_head;

/// A response.
pub enum Response {
    /// A complete response.
    Whole(Reply),
    /// A response with a streamed body. If the body ends early, the client can tell that it is incomplete.
    Streamed {
        /// Status and fields. Fields of framing and of the connection are not sent.
        head: http::Response<()>,
        /// The body's size, if known: a body of another length is an error.
        length: Option<u64>,
        /// The body; dropped without being polled if the response has none.
        body: Box<dyn Body>,
    },
    /// The tunnel that a `CONNECT` requested: the answer is 200, and then the connection or stream is joined to this.
    Tunnel(Box<dyn Duplex>),
    /// An interim response (1xx), and the next one. HTTP/1.0 and SPDY have none; their clients only get the next one.
    Interim {
        /// Status and fields.
        head: http::Response<()>,
        /// The next response.
        then: Later,
    },
    /// A protocol switch that an HTTP/1.1 `Upgrade` requested: the answer is 101, and then the connection is joined to this.
    Switched {
        /// Fields. `Upgrade` names the protocol, `Connection` is added.
        head: http::Response<()>,
        /// The far end.
        far: Box<dyn Duplex>,
    },
}

impl Response {
    /// The final response, without the interim ones before it: for protocols that have none.
    pub async fn proper(mut self) -> Response {
        while let Response::Interim { then, .. } = self {
            self = then.await;
        }
        self
    }
}

/// An interim response in the form for clients; `None` if it is not interim, or is hop-by-hop.
pub(crate) fn interim(mut head: http::Response<()>) -> Option<http::Response<()>> {
    let is_end_to_end = head.status().is_informational()
        && ![StatusCode::CONTINUE, StatusCode::SWITCHING_PROTOCOLS].contains(&head.status());
    for name in FRAMING {
        head.headers_mut().remove(name);
    }
    is_end_to_end.then_some(head)
}

/// A response with only a status.
pub(crate) fn refusal(status: StatusCode) -> Reply {
    Reply::new(status, HeaderMap::new(), Bytes::new())
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Response {
        Response::Whole(reply)
    }
}

/// A complete response, shared by all its receivers.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The head, ready for each protocol.
    pub head: Arc<Head>,
    /// The body; not sent in answer to `HEAD`.
    pub body: Bytes,
}

impl Reply {
    /// Prepares a response. `fields` as in [`Head::new`].
    pub fn new(status: StatusCode, fields: HeaderMap, body: Bytes) -> Reply {
        Reply { head: Arc::new(Head::new(status, fields, body.len() as u64)), body }
    }
}

/// A pushed response: to a GET for a path of the same authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Path and query.
    pub path: String,
    /// Its urgency: the server's own choice, for want of the client's.
    pub priority: Priority,
}

/// A response's head, prepared once for every protocol.
#[derive(Debug)]
pub struct Head {
    /// Status and fields, with `Content-Length` unless the status allows no body: the form for HTTP/2 and HTTP/3.
    pub parts: http::Response<()>,
    /// The size of its body, sent or not (`HEAD`).
    pub body_bytes: u64,
    /// The same as HTTP/1.1 text, with `Content-Length`, up to and including the empty line.
    pub h1: Bytes,
}

/// Fields that each protocol writes itself or does not allow (RFC 9110 section 7.6.1, RFC 9113 section 8.2.2).
const FRAMING: [&str; 7] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

impl Head {
    /// Prepares the head of a response with a body of `body_bytes`. Fields of framing and of the connection in `fields`
    /// are dropped: each protocol has its own.
    pub fn new(status: StatusCode, fields: HeaderMap, body_bytes: u64) -> Head {
        let mut parts = http::Response::new(());
        *parts.status_mut() = status;
        *parts.headers_mut() = fields;
        strip_framing(&mut parts);
        let mut text = Vec::with_capacity(256);
        response_head(&mut text, parts.status(), parts.headers(), body_bytes);
        if !is_bodiless(parts.status()) {
            parts.headers_mut().insert(CONTENT_LENGTH, body_bytes.into());
        }
        Head { parts, body_bytes, h1: text.into() }
    }

    /// Returns true if the status allows no body (RFC 9110 sections 15.3.5 and 15.4.5).
    pub fn is_bodiless(&self) -> bool {
        is_bodiless(self.parts.status())
    }
}

/// Removes fields that each protocol writes in its own way. A status that is not final (1xx) answers nothing: it becomes 500.
pub(crate) fn strip_framing(head: &mut http::Response<()>) {
    for name in FRAMING {
        head.headers_mut().remove(name);
    }
    if head.status().is_informational() {
        *head.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    }
}

/// Returns true if the status allows no body (RFC 9110 sections 15.3.5 and 15.4.5).
pub(crate) fn is_bodiless(status: StatusCode) -> bool {
    matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// A request's fields, borrowed: as HTTP/1's lines, as the map of HTTP/2 and HTTP/3, as SPDY's block. Names are case-insensitive,
/// several values of one name come one by one. Pseudo-header fields of HTTP/2 and SPDY (`:method`, ...) are excluded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields<'a>(FieldSource<'a>);

#[derive(Clone, Copy, Debug, Default)]
enum FieldSource<'a> {
    #[default]
    None,
    Lines(codec::Fields<'a>),
    Map(&'a HeaderMap),
    Block(Version, &'a ::spdy::Fields),
}

impl<'a> Fields<'a> {
    /// The fields of a SPDY block.
    pub(crate) fn of_block(version: Version, block: &'a ::spdy::Fields) -> Fields<'a> {
        Fields(FieldSource::Block(version, block))
    }

    /// The first field called `name`, which is in lower case.
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        match self.0 {
            FieldSource::None => None,
            FieldSource::Lines(lines) => lines.get(name),
            FieldSource::Map(map) => map.get(name).map(|value| value.as_bytes()),
            FieldSource::Block(..) => self.get_all(name).next(),
        }
    }

    /// All fields called `name`, which is in lower case, in order.
    pub fn get_all(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All fields in order: names in their original case, values without surrounding blanks. HTTP/2 and SPDY may have
    /// split a `cookie` into several (RFC 9113 section 8.2.3).
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let (mut lines, mut map, mut block) = (None, None, None);
        match self.0 {
            FieldSource::None => {}
            FieldSource::Lines(its) => lines = Some(its.iter()),
            FieldSource::Map(its) => map = Some(its.iter()),
            FieldSource::Block(version, its) => block = Some(of_block(version, its)),
        }
        let map = map.into_iter().flatten().map(|(name, value)| (name.as_str(), value.as_bytes()));
        lines.into_iter().flatten().chain(map).chain(block.into_iter().flatten())
    }
}

fn of_block(version: Version, block: &::spdy::Fields) -> impl Iterator<Item = (&str, &[u8])> {
    let fields = block.iter().filter(move |(name, _)| !message::is_special(version, name));
    // The block was checked: its names are ASCII.
    let named = fields.filter_map(|(name, value)| Some((str::from_utf8(name).ok()?, value)));
    named.flat_map(|(name, value)| ::spdy::Fields::values(value).map(move |value| (name, value)))
}

impl<'a> From<codec::Fields<'a>> for Fields<'a> {
    fn from(lines: codec::Fields<'a>) -> Fields<'a> {
        Fields(FieldSource::Lines(lines))
    }
}

impl<'a> From<&'a HeaderMap> for Fields<'a> {
    fn from(map: &'a HeaderMap) -> Fields<'a> {
        Fields(FieldSource::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_prepared_for_each_protocol() {
        let mut fields = HeaderMap::new();
        fields.insert("content-length", "99".parse().unwrap());
        fields.insert("connection", "keep-alive".parse().unwrap());
        fields.insert("server", "farlink".parse().unwrap());
        let reply = Reply::new(StatusCode::OK, fields, Bytes::from_static(b"hello"));
        assert_eq!(
            reply.head.h1,
            "HTTP/1.1 200 OK\r\nserver: farlink\r\ncontent-length: 5\r\n\r\n"
        );
        assert_eq!(reply.head.parts.headers().len(), 2);
        assert_eq!(reply.head.parts.headers()["content-length"], "5");
        assert!(!reply.head.is_bodiless());
        let empty = Reply::new(StatusCode::NOT_MODIFIED, HeaderMap::new(), Bytes::new());
        assert!(empty.head.is_bodiless());
        assert!(empty.head.parts.headers().is_empty());
    }

    fn check(fields: Fields<'_>) {
        let all: Vec<_> = fields.iter().map(|(n, v)| (n.to_ascii_lowercase(), v)).collect();
        let of = |name: &str, value: &'static [u8]| (name.to_owned(), value);
        assert_eq!(all, [of("a", b"1"), of("cookie", b"x=1"), of("cookie", b"y=2")]);
        assert_eq!(fields.get("a"), Some(&b"1"[..]));
        assert_eq!(fields.get("cookie"), Some(&b"x=1"[..]));
        assert_eq!(fields.get_all("cookie").count(), 2);
        assert_eq!(fields.get("host"), None);
    }

    #[test]
    fn fields_are_the_same_by_every_protocol() {
        let head = b"GET / HTTP/1.1\r\nA: 1\r\nCookie: x=1\r\ncookie:y=2 \r\n\r\n";
        check(codec::Fields::of(head).into());
        let mut map = HeaderMap::new();
        map.append("a", "1".parse().expect("a value"));
        map.append("cookie", "x=1".parse().expect("a value"));
        map.append("cookie", "y=2".parse().expect("a value"));
        check((&map).into());
        for version in Version::ALL {
            let line = message::RequestLine {
                method: b"GET",
                scheme: b"http",
                host: b"a.test",
                path: b"/",
            };
            let mut block = message::request(version, line).with("a", "1");
            block.push_all("cookie", ["x=1", "y=2"]);
            // In version 2 the host is an ordinary field, and is still handled separately.
            check(Fields::of_block(version, &block));
        }
        assert_eq!(Fields::default().iter().count(), 0);
    }
}
