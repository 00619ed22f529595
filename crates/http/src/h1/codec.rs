//! HTTP/1's message syntax (RFC 9112) without IO: bytes in, events out.
//!
//! [`RequestDecoder`] and [`ResponseDecoder`] are driven alike: pass the bytes received, drop as many as were consumed,
//! repeat until [`CodecEvent::More`]. The output does not depend on how the input was cut into pieces, and several messages
//! may lie in one buffer. Start lines and fields are parsed by `httparse`; message boundaries - the target of request
//! smuggling - are decided here, and ambiguous input is refused.

use thiserror::Error;

mod chunked;
pub mod encode;
mod fields;
mod request;
mod response;

use chunked::Chunked;

pub use fields::Fields;
pub use request::{Request, RequestDecoder};
pub use response::{Response, ResponseDecoder};

/// A decoder's output. `H` is its kind of head.
#[derive(Debug, PartialEq, Eq)]
pub enum CodecEvent<'b, H> {
    /// Nothing complete: more bytes are needed.
    More,
    /// A head. If its `body` is [`BodyLength::None`], it is the whole message and no
    /// [`CodecEvent::End`] follows.
    Head(H),
    /// A piece of the body, without framing.
    Data(&'b [u8]),
    /// The body's end, after any trailers.
    End,
}

/// A message's HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    V10,
    /// HTTP/1.1
    V11,
}

impl Version {
    /// From `httparse`'s minor number, which is 0 or 1.
    fn from_minor(minor: Option<u8>) -> Version {
        if minor == Some(0) { Version::V10 } else { Version::V11 }
    }
}

/// The reason that a message was refused. The connection is not usable afterwards: the start of the next message is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The start line or a field is malformed.
    #[error("the head is malformed: {0}")]
    Syntax(httparse::Error),
    /// RFC 9112 section 2.2 lets a recipient accept a bare LF; it is a smuggling vector, so it is refused.
    #[error("a line ends in LF without CR")]
    BareLf,
    /// Not HTTP/1.0 or HTTP/1.1.
    #[error("the version is neither HTTP/1.0 nor HTTP/1.1")]
    Version,
    /// The head, or the overhead of a chunked body, is larger than allowed.
    #[error("the head or the trailers are larger than allowed")]
    TooLarge,
    /// The head has more fields than allowed.
    #[error("the head has more fields than allowed")]
    TooManyFields,
    /// An HTTP/1.1 request must have exactly one valid Host (RFC 9112 section 3.2).
    #[error("the Host field is missing, repeated or malformed")]
    Host,
    /// `Content-Length` is not a number, too large, or several that differ (RFC 9112 section 6.3).
    #[error("Content-Length is malformed or ambiguous")]
    ContentLength,
    /// `Transfer-Encoding` in HTTP/1.0, beside `Content-Length`, or with `chunked` misplaced
    /// (RFC 9112 sections 6.1 and 6.3).
    #[error("Transfer-Encoding makes the body's length ambiguous")]
    TransferEncoding,
    /// A transfer coding other than `chunked`.
    #[error("a transfer coding other than chunked is used")]
    UnknownCoding,
    /// A `CONNECT` with a body, which has no meaning (RFC 9110 section 9.3.6).
    #[error("a CONNECT has a body")]
    ConnectBody,
    /// A chunk's size line or end is malformed (RFC 9112 section 7.1).
    #[error("the chunked coding is malformed")]
    Chunk,
    /// An unrequested protocol switch (RFC 9110 section 15.2.2).
    #[error("the server switched protocols unasked")]
    Switched,
    /// The connection ended within a message (RFC 9112 section 8).
    #[error("the connection ended in the middle of a message")]
    Truncated,
}

impl Error {
    /// The status with which a server refuses such a request.
    pub fn status(self) -> http::StatusCode {
        match self {
            // RFC 6585 section 5.
            Error::TooLarge | Error::TooManyFields => {
                http::StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
            }
            // RFC 9112 section 6.1.
            Error::UnknownCoding => http::StatusCode::NOT_IMPLEMENTED,
            Error::Version => http::StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            _ => http::StatusCode::BAD_REQUEST,
        }
    }
}

impl From<httparse::Error> for Error {
    fn from(error: httparse::Error) -> Error {
        match error {
            httparse::Error::Version => Error::Version,
            httparse::Error::TooManyHeaders => Error::TooManyFields,
            other => Error::Syntax(other),
        }
    }
}

/// Upper bound of a head's fields whatever [`CodecLimits`] say: the room on the stack.
const MOST_FIELDS: usize = 128;

/// Limits on one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecLimits {
    /// Bytes of a head, start line and empty line included; also of a chunked body's extensions and
    /// trailers together.
    pub head_bytes: usize,
    /// Fields of a head; never more than 128.
    pub fields: usize,
}

impl CodecLimits {
    /// For a server: 16 KiB, as HAProxy's buffer (`tune.bufsize`), and 100 fields, as Apache's
    /// `LimitRequestFields`.
    pub const SERVER: CodecLimits = CodecLimits { head_bytes: 16 * 1024, fields: 100 };
    /// For a client: 64 KiB, enough for the largest cookies that pages set, and 128 fields.
    pub const CLIENT: CodecLimits = CodecLimits { head_bytes: 64 * 1024, fields: MOST_FIELDS };
}

// Body length (RFC 9112 section 6.3) and body decoding.

/// The delimitation of a message's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// No body: the head is the whole message.
    None,
    /// This many bytes; more than 0.
    Exactly(u64),
    /// By the chunked transfer coding.
    Chunked,
    /// All bytes until the connection's end. Responses only.
    UntilClose,
}

/// A body being decoded.
#[derive(Debug)]
enum Body {
    Exactly(u64),
    Chunked(Chunked),
    UntilClose,
}

/// The output of one decoding step.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'b> {
    More,
    Data(&'b [u8]),
    End,
}

impl Body {
    /// The decoder of a body delimited by `length`; none if there is no body.
    fn new(length: BodyLength) -> Option<Body> {
        match length {
            BodyLength::None | BodyLength::Exactly(0) => None,
            BodyLength::Exactly(bytes) => Some(Body::Exactly(bytes)),
            BodyLength::Chunked => Some(Body::Chunked(Chunked::default())),
            BodyLength::UntilClose => Some(Body::UntilClose),
        }
    }

    /// The same for a body that a server sends.
    fn of_server(length: BodyLength) -> Option<Body> {
        match length {
            BodyLength::Chunked => Some(Body::Chunked(Chunked::of_server())),
            other => Body::new(other),
        }
    }

    /// Decodes from the front of `buffer`; returns the number of bytes consumed.
    fn next<'b>(
        &mut self,
        buffer: &'b [u8],
        limits: &CodecLimits,
    ) -> Result<(usize, Piece<'b>), Error> {
        let window = match self {
            Body::Chunked(chunked) => return chunked.next(buffer, limits),
            Body::Exactly(0) => return Ok((0, Piece::End)),
            Body::Exactly(left) => {
                let most = usize::try_from(*left).unwrap_or(usize::MAX);
                let window = &buffer[..buffer.len().min(most)];
                *left -= window.len() as u64;
                window
            }
            Body::UntilClose => buffer,
        };
        let piece = if window.is_empty() { Piece::More } else { Piece::Data(window) };
        Ok((window.len(), piece))
    }
}

// Incremental search for the end of a head that looks at each byte once.
//
// `httparse` starts over with every piece, so a slow sender could cost quadratic time; it is therefore given whole heads only.

/// Progress of the scan. Positions are relative to the head's first byte.
#[derive(Debug, Default)]
struct HeadScan {
    line_start: usize,
    scanned: usize,
}

impl HeadScan {
    /// The length of the head at the start of `buffer`, including the empty line, once it is complete.
    fn end(&mut self, buffer: &[u8], limits: &CodecLimits) -> Result<Option<usize>, Error> {
        let window = &buffer[..buffer.len().min(limits.head_bytes)];
        while let Some(offset) = memchr::memchr(b'\n', &window[self.scanned..]) {
            let feed = self.scanned + offset;
            if feed == self.line_start || window[feed - 1] != b'\r' {
                return Err(Error::BareLf);
            }
            let empty = feed == self.line_start + 1;
            self.scanned = feed + 1;
            self.line_start = self.scanned;
            if empty {
                let end = self.scanned;
                *self = HeadScan::default();
                return Ok(Some(end));
            }
        }
        self.scanned = window.len();
        if buffer.len() >= limits.head_bytes { Err(Error::TooLarge) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CodecLimits = CodecLimits { head_bytes: 32, fields: 8 };

    #[test]
    fn finds_the_empty_line_in_pieces() {
        let head = b"GET / HTTP/1.1\r\nA: b\r\n\r\nrest";
        let mut scan = HeadScan::default();
        for end in 0..24 {
            assert_eq!(scan.end(&head[..end], &LIMITS), Ok(None), "{end}");
        }
        assert_eq!(scan.end(head, &LIMITS), Ok(Some(24)));
    }

    #[test]
    fn refuses_bare_feeds_and_long_heads() {
        for bad in [&b"\n"[..], b"GET /\n", b"GET /\r\n\n", b"a\r\nb\n\r\n"] {
            assert_eq!(HeadScan::default().end(bad, &LIMITS), Err(Error::BareLf));
        }
        assert_eq!(HeadScan::default().end(&[b'a'; 32], &LIMITS), Err(Error::TooLarge));
        assert_eq!(HeadScan::default().end(&[b'a'; 31], &LIMITS), Ok(None));
    }
}
