//! A client's connection, for as long as its requests are plain GETs of HTTP/1. The first other one ends that: the
//! connection is handed back with all bytes that were read and not answered, and passes unread.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};
use http_stack::h1::codec::{
    self, BodyLength, CodecEvent, CodecLimits, Fields, RequestDecoder, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::TcpStream;

use crate::http::message;
use crate::split::ResetOnDrop;

/// Time for a client to close after this end did (Apache's lingering close).
const LINGER: Duration = Duration::from_secs(2);

/// A client's connection. Dropping it resets it.
pub(crate) struct ClientConnection {
    tcp: ResetOnDrop,
    read: BytesMut,
    /// Size of the current request, at the front of `read`.
    current_bytes: usize,
    limits: CodecLimits,
}

/// A GET request.
pub(crate) struct TrappedGet {
    /// The request, with an absolute URL.
    pub(crate) request: Request<()>,
    /// True if the connection stays open behind the answer.
    pub(super) persistent: bool,
}

/// Next event on a client's connection.
#[expect(clippy::large_enum_variant, reason = "handed over once, at once")]
pub(crate) enum ClientEvent {
    /// A request to answer.
    Get(TrappedGet),
    /// Something else: see [`ClientConnection::into_unread`].
    Foreign,
    /// The client has closed.
    End,
}

/// Framing of a response's body (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseFraming {
    None,
    Length(u64),
    Chunked,
    /// For clients of HTTP/1.0.
    Close,
}

impl ClientConnection {
    pub(crate) fn new(tcp: TcpStream) -> ClientConnection {
        ClientConnection {
            tcp: ResetOnDrop::new(tcp),
            read: BytesMut::new(),
            current_bytes: 0,
            limits: CodecLimits::SERVER,
        }
    }

    /// The client's address.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.tcp.peer_addr().ok()
    }

    /// The next request. It stays unread until [`ClientConnection::done`].
    pub(crate) async fn next(&mut self) -> std::io::Result<ClientEvent> {
        loop {
            // A new decoder each time: its input is not consumed before the answer.
            match RequestDecoder::new(self.limits).next(&self.read) {
                Ok((used, CodecEvent::Head(head))) => {
                    let Some(trapped) = trap(&head) else { return Ok(ClientEvent::Foreign) };
                    self.current_bytes = used;
                    return Ok(ClientEvent::Get(trapped));
                }
                Ok((_, CodecEvent::More)) if could_be_get(&self.read) => {}
                _ => return Ok(ClientEvent::Foreign),
            }
            if self.tcp.read_buf(&mut self.read).await? == 0 {
                let is_over = self.read.is_empty();
                return Ok(if is_over { ClientEvent::End } else { ClientEvent::Foreign });
            }
        }
    }

    /// Consumes the current request: it is answered.
    pub(crate) fn done(&mut self) {
        drop(self.read.split_to(std::mem::take(&mut self.current_bytes)));
    }

    /// The connection, and the bytes that were read and not answered.
    pub(crate) fn into_unread(self) -> (TcpStream, Bytes) {
        (self.tcp.release(), self.read.freeze())
    }

    /// Forwards an interim response to a client that knows them (RFC 9110 section 15.2).
    pub(super) async fn interim(
        &mut self,
        mut head: Response<()>,
        trapped: &TrappedGet,
    ) -> std::io::Result<()> {
        if trapped.request.version() != Version::HTTP_11 {
            return Ok(());
        }
        message::strip_hop(head.headers_mut());
        let mut text = Vec::new();
        encode::open_head(&mut text, head.status(), head.headers());
        text.extend_from_slice(b"\r\n");
        self.tcp.write_bytes(text.into()).await
    }

    /// Sends a head. Returns the writer of its body, of `length` bytes if that is known.
    pub(super) async fn head(
        &mut self,
        head: &Response<()>,
        length: Option<u64>,
        trapped: &mut TrappedGet,
    ) -> std::io::Result<BodyWriter<'_>> {
        let bodiless = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&head.status());
        let framing = match length {
            _ if bodiless => ResponseFraming::None,
            Some(bytes) => ResponseFraming::Length(bytes),
            None if trapped.request.version() == Version::HTTP_11 => ResponseFraming::Chunked,
            None => ResponseFraming::Close,
        };
        trapped.persistent &= framing != ResponseFraming::Close;
        let text = response_head(head, framing, trapped.persistent);
        self.tcp.write_bytes(text.into()).await?;
        Ok(BodyWriter { tcp: &mut self.tcp, framing })
    }

    /// Sends FIN, and waits a moment for the client's: closing with unread input would reset the connection before the client has
    /// read everything.
    pub(crate) async fn close(self) {
        let mut tcp = self.tcp.release();
        drop(tcp.shutdown().await);
        let lingering =
            async { while matches!(tcp.read_bytes(4096).await, Ok(more) if !more.is_empty()) {} };
        // A timeout is an end, too.
        world::timeout(LINGER, lingering).await.unwrap_or_default();
    }
}

/// A response's body on its way.
pub(super) struct BodyWriter<'a> {
    tcp: &'a mut TcpStream,
    framing: ResponseFraming,
}

impl BodyWriter<'_> {
    /// Bytes still to come, if known.
    pub(super) fn left(&self) -> Option<u64> {
        match self.framing {
            ResponseFraming::None => Some(0),
            ResponseFraming::Length(bytes) => Some(bytes),
            ResponseFraming::Chunked | ResponseFraming::Close => None,
        }
    }

    /// Sends a piece.
    pub(super) async fn piece(&mut self, piece: Bytes) -> std::io::Result<()> {
        match &mut self.framing {
            ResponseFraming::None => Ok(()),
            ResponseFraming::Length(left) => {
                let more = (*left).checked_sub(piece.len() as u64);
                *left = more.ok_or(std::io::ErrorKind::InvalidData)?;
                self.tcp.write_bytes(piece).await
            }
            ResponseFraming::Chunked => {
                let mut chunk = Vec::new();
                encode::chunk(&mut chunk, &piece);
                self.tcp.write_bytes(chunk.into()).await
            }
            ResponseFraming::Close => self.tcp.write_bytes(piece).await,
        }
    }

    /// Sends the end.
    ///
    /// # Errors
    /// If the body is shorter than its stated length.
    pub(super) async fn end(self) -> std::io::Result<()> {
        match self.framing {
            ResponseFraming::Length(left) if left > 0 => {
                Err(std::io::ErrorKind::UnexpectedEof.into())
            }
            ResponseFraming::Chunked => {
                let mut end = Vec::new();
                encode::last_chunk(&mut end, &HeaderMap::new());
                self.tcp.write_bytes(end.into()).await
            }
            ResponseFraming::None | ResponseFraming::Length(_) | ResponseFraming::Close => Ok(()),
        }
    }
}

/// Returns true if more bytes may make it a GET. Other protocols are not waited for.
fn could_be_get(read: &[u8]) -> bool {
    const BEGIN: &[u8] = b"GET ";
    let begin = read.trim_ascii_start();
    begin.iter().zip(BEGIN).all(|(is, should)| is == should)
}

/// The request, if it can be trapped: a GET without a body, for a host, without a protocol switch.
fn trap(head: &codec::Request<'_>) -> Option<TrappedGet> {
    let is_plain = head.method == "GET"
        && head.body == BodyLength::None
        && head.fields.get("upgrade").is_none()
        && !head.authority.is_empty();
    // Absolute URLs are sent to proxies, which this is not.
    if !is_plain || !head.target.starts_with('/') {
        return None;
    }
    let url = format!("http://{}{}", head.authority, head.target);
    let mut request = Request::new(());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = url.parse().ok()?;
    *request.version_mut() = match head.version {
        codec::Version::V10 => Version::HTTP_10,
        codec::Version::V11 => Version::HTTP_11,
    };
    *request.headers_mut() = fields(head.fields)?;
    Some(TrappedGet { request, persistent: head.persistent })
}

fn fields(lines: Fields<'_>) -> Option<HeaderMap> {
    let mut fields = HeaderMap::new();
    for (name, value) in lines.iter() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        fields.append(name, HeaderValue::from_bytes(value).ok()?);
    }
    Some(fields)
}

/// A head as text. The fields of framing and of the connection are ours.
fn response_head(head: &Response<()>, framing: ResponseFraming, persistent: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let reason = head.status().canonical_reason().unwrap_or_default();
    write!(out, "HTTP/1.1 {} {reason}\r\n", head.status().as_u16()).expect("a Vec takes any write");
    for (name, value) in head.headers() {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    match framing {
        ResponseFraming::Length(bytes) => {
            write!(out, "content-length: {bytes}\r\n").expect("a Vec takes any write");
        }
        ResponseFraming::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        ResponseFraming::None | ResponseFraming::Close => {}
    }
    // RFC 9112 section 9.3: an HTTP/1.0 client that requested keep-alive needs it confirmed.
    out.extend_from_slice(if persistent {
        b"connection: keep-alive\r\n\r\n"
    } else {
        b"connection: close\r\n\r\n"
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trapped(text: &str) -> Option<TrappedGet> {
        match RequestDecoder::new(CodecLimits::SERVER).next(text.as_bytes()) {
            Ok((_, CodecEvent::Head(head))) => trap(&head),
            other => panic!("{text:?} is a head, not {other:?}"),
        }
    }

    #[test]
    fn plain_gets_are_trapped_and_nothing_else() {
        let get = trapped("GET /a?b HTTP/1.1\r\nHost: x.example\r\nX-Y: 1\r\n\r\n").unwrap();
        assert_eq!(get.request.uri(), "http://x.example/a?b");
        assert!(get.persistent);
        assert!(!trapped("GET / HTTP/1.0\r\nHost: x\r\n\r\n").unwrap().persistent);
        for foreign in [
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
            "GET http://y/ HTTP/1.1\r\nHost: y\r\n\r\n",
            "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
        ] {
            assert!(trapped(foreign).is_none(), "{foreign}");
        }
    }

    #[test]
    fn other_protocols_are_not_waited_for() {
        for begin in ["", "G", "GET ", "GET /a", "\r\nGE"] {
            assert!(could_be_get(begin.as_bytes()), "{begin}");
        }
        for begin in ["\x16\x03", "SSH-2.0", "PRI * HTTP/2.0", "GOT ", "POST / "] {
            assert!(!could_be_get(begin.as_bytes()), "{begin}");
        }
    }

    #[test]
    fn heads_say_how_their_bodies_end() {
        let head = Response::builder().header("etag", "\"x\"").body(()).unwrap();
        let text = |framing, persistent| {
            String::from_utf8(response_head(&head, framing, persistent)).unwrap()
        };
        let whole =
            "HTTP/1.1 200 OK\r\netag: \"x\"\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\n";
        assert_eq!(text(ResponseFraming::Length(5), true), whole);
        assert!(text(ResponseFraming::Chunked, true).contains("transfer-encoding: chunked"));
        assert!(text(ResponseFraming::Close, false).contains("connection: close"));
    }
}
