//! Encoding of messages.
//!
//! Names and values are `http`'s types, which cannot hold a CR, LF or NUL: the output cannot be read as two messages.

use std::io::Write;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Version};

/// Appends the head of `request`, as HTTP/1.0 if that is its version and else as HTTP/1.1. Its fields keep their order;
/// a missing `Host` is put first. The body is framed by length: a `Content-Length` among the fields is corrected, a
/// missing one added where it is meaningful, and `Transfer-Encoding` left out.
pub fn request_head(out: &mut Vec<u8>, request: &Request<Bytes>) {
    let bytes = request.body().len() as u64;
    let is_told = bytes > 0 || request.headers().contains_key(CONTENT_LENGTH);
    let framing =
        if is_told { Framing::Length(bytes) } else { Framing::of(request.method(), None) };
    request_head_framed(out, request, framing);
}

/// Framing of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body and no framing field.
    None,
    /// By this length.
    Length(u64),
    /// By the chunked transfer coding.
    Chunked,
}

impl Framing {
    /// The framing of a request of `method`, whose body may have a known length. RFC 9110 section 8.6: an empty body
    /// has a length where the method anticipates one.
    pub fn of(method: &Method, body: Option<Option<u64>>) -> Framing {
        match body {
            Some(Some(bytes)) => Framing::Length(bytes),
            Some(None) => Framing::Chunked,
            None if [Method::POST, Method::PUT, Method::PATCH].contains(method) => {
                Framing::Length(0)
            }
            None => Framing::None,
        }
    }
}

/// Like [`request_head`], with this framing of the body whatever the fields say.
pub(crate) fn request_head_framed<T>(out: &mut Vec<u8>, request: &Request<T>, framing: Framing) {
    let (uri, fields) = (request.uri(), request.headers());
    out.extend_from_slice(request.method().as_str().as_bytes());
    out.push(b' ');
    target(out, request);
    let is_1_0 = request.version() == Version::HTTP_10;
    out.extend_from_slice(if is_1_0 { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" });
    if !fields.contains_key(HOST) {
        // RFC 9112 section 3.2: empty if the URI has no authority; never with user information.
        line(out, "host", uri.authority().map_or("", host_of).as_bytes());
    }
    let mut is_framed = false;
    for (name, value) in fields {
        match *name {
            // At its place among the fields.
            CONTENT_LENGTH if !is_framed => {
                framing_line(out, framing);
                is_framed = true;
            }
            CONTENT_LENGTH | TRANSFER_ENCODING => {}
            _ => field(out, name, value),
        }
    }
    if !is_framed {
        framing_line(out, framing);
    }
    out.extend_from_slice(b"\r\n");
}

fn framing_line(out: &mut Vec<u8>, framing: Framing) {
    match framing {
        Framing::None => {}
        Framing::Length(bytes) => length_line(out, bytes),
        Framing::Chunked => line(out, "transfer-encoding", b"chunked"),
    }
}

/// A request extension: its target is the whole URI, for a proxy that is to forward it (RFC 9112 section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsoluteForm;

/// RFC 9112 section 3.2: origin form, whose path is never empty, authority form for `CONNECT`, and absolute form on demand.
fn target<T>(out: &mut Vec<u8>, request: &Request<T>) {
    let uri = request.uri();
    if let (Some(AbsoluteForm), Some(scheme), Some(authority)) =
        (request.extensions().get(), uri.scheme_str(), uri.authority())
    {
        out.extend_from_slice(scheme.as_bytes());
        out.extend_from_slice(b"://");
        out.extend_from_slice(host_of(authority).as_bytes());
    }
    let target = if request.method() == Method::CONNECT {
        uri.authority().map_or("", |authority| authority.as_str())
    } else {
        let target = uri.path_and_query().map_or("", |target| target.as_str());
        if target.is_empty() || target.starts_with('?') {
            out.push(b'/');
        }
        target
    };
    out.extend_from_slice(target.as_bytes());
}

/// RFC 9110 section 4.2.4: user information is not sent.
fn host_of(authority: &http::uri::Authority) -> &str {
    let authority = authority.as_str();
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// Appends a response's head with `Content-Length: body_bytes`, unless the status forbids that. `fields` must not
/// contain fields of framing or of the connection.
pub fn response_head(out: &mut Vec<u8>, status: StatusCode, fields: &HeaderMap, body_bytes: u64) {
    open_head(out, status, fields);
    length_of(out, status, body_bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends a response's status line and `fields`: more fields may follow, then the empty line.
pub fn open_head(out: &mut Vec<u8>, status: StatusCode, fields: &HeaderMap) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in fields {
        field(out, name, value);
    }
}

/// Appends the `Content-Length` of a response's body, unless its status forbids it.
pub(crate) fn length_of(out: &mut Vec<u8>, status: StatusCode, body_bytes: u64) {
    // RFC 9110 section 8.6: never in 1xx and 204; in 304 it would be the size of another message.
    if !status.is_informational() && ![204, 304].contains(&status.as_u16()) {
        length_line(out, body_bytes);
    }
}

/// Appends one chunk; nothing if `data` is empty, since that would end the body.
pub fn chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    chunk_size(out, data.len());
    out.extend_from_slice(data);
    out.extend_from_slice(CHUNK_END);
}

/// The end of a chunk, after its data.
pub(crate) const CHUNK_END: &[u8] = b"\r\n";

/// Appends the line before a chunk's data. 0 would mark the last chunk.
pub(crate) fn chunk_size(out: &mut Vec<u8>, bytes: usize) {
    write!(out, "{bytes:x}\r\n").expect("a Vec takes any write");
}

/// Appends the last chunk and the trailers.
pub fn last_chunk(out: &mut Vec<u8>, trailers: &HeaderMap) {
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers {
        field(out, name, value);
    }
    out.extend_from_slice(b"\r\n");
}

fn field(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    line(out, name.as_str(), value.as_bytes());
}

fn length_line(out: &mut Vec<u8>, bytes: u64) {
    write!(out, "content-length: {bytes}\r\n").expect("a Vec takes any write");
}

fn line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(request: http::request::Builder, body: &'static str) -> String {
        let mut out = Vec::new();
        request_head(&mut out, &request.body(Bytes::from_static(body.as_bytes())).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn requests_get_host_and_length_where_missing() {
        let get = Request::get("http://u:p@a.example:81/b?c").header("accept", "*/*");
        let text = "GET /b?c HTTP/1.1\r\nhost: a.example:81\r\naccept: */*\r\n\r\n";
        assert_eq!(head(get, ""), text);
        let post = Request::post("http://a?x").header("x-y", "1").header("host", "b");
        let text = "POST /?x HTTP/1.1\r\nx-y: 1\r\nhost: b\r\ncontent-length: 2\r\n\r\n";
        assert_eq!(head(post, "hi"), text);
        let lie =
            Request::put("/p").header("content-length", "9").header("transfer-encoding", "chunked");
        assert_eq!(head(lie, ""), "PUT /p HTTP/1.1\r\nhost: \r\ncontent-length: 0\r\n\r\n");
        let old = Request::get("http://a/").version(Version::HTTP_10);
        assert_eq!(head(old, ""), "GET / HTTP/1.0\r\nhost: a\r\n\r\n");
        let connect = Request::builder().method("CONNECT").uri("a.example:443");
        assert!(head(connect, "").starts_with("CONNECT a.example:443 HTTP/1.1\r\n"));
        let whole = Request::get("http://u@a.example:81?c").extension(AbsoluteForm);
        let text = "GET http://a.example:81/?c HTTP/1.1\r\nhost: a.example:81\r\n\r\n";
        assert_eq!(head(whole, ""), text);
    }

    #[test]
    fn responses_have_a_length_where_it_is_allowed() {
        let text = |status, bytes| {
            let mut out = Vec::new();
            let status = StatusCode::from_u16(status).unwrap();
            response_head(&mut out, status, &HeaderMap::new(), bytes);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(200, 5), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
        assert_eq!(text(204, 0), "HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(text(304, 0), "HTTP/1.1 304 Not Modified\r\n\r\n");
        assert_eq!(text(299, 0), "HTTP/1.1 299 \r\ncontent-length: 0\r\n\r\n");
    }
}
