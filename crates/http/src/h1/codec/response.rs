//! Responses, decoded by a client.

use std::mem::MaybeUninit;

use super::HeadScan;
use super::MOST_FIELDS;
use super::fields::FramingFields;
use super::{Body, Piece};
use super::{BodyLength, CodecEvent, CodecLimits, Error, Fields, Version};

/// A response's head, borrowed from its buffer. Interim responses (1xx) are heads too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'b> {
    /// The status code, 100 to 999.
    pub status: u16,
    /// The version.
    pub version: Version,
    /// All fields; folded lines are unfolded.
    pub fields: Fields<'b>,
    /// The body's delimitation.
    pub body: BodyLength,
    /// True if the server will reuse the connection (RFC 9112 section 9.3).
    pub persistent: bool,
}

impl Response<'_> {
    /// Returns true if the final response is still to come (RFC 9110 section 15.2).
    pub(crate) fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }
}

/// Decodes a connection's responses, one after another.
#[derive(Debug)]
pub struct ResponseDecoder {
    limits: CodecLimits,
    scan: HeadScan,
    body: Option<Body>,
    /// True if the request offers to switch protocols.
    may_switch: bool,
}

impl ResponseDecoder {
    /// A decoder at the beginning of a connection.
    pub fn new(limits: CodecLimits) -> ResponseDecoder {
        ResponseDecoder { limits, scan: HeadScan::default(), body: None, may_switch: false }
    }

    /// Notes that the request offers to switch protocols: 101 may answer it.
    pub(crate) fn may_switch(&mut self) {
        self.may_switch = true;
    }

    /// Decodes from the front of `buffer`, which begins where the last call stopped consuming. `method` is the method
    /// of the request being answered: it decides whether there is a body. Returns the number of bytes consumed and what
    /// they are; [`CodecEvent::More`] may consume some as well. Folded lines are unfolded in place.
    ///
    /// # Errors
    /// If the response is malformed. The decoder is of no use afterwards.
    pub fn next<'b>(
        &mut self,
        buffer: &'b mut [u8],
        method: &http::Method,
    ) -> Result<(usize, CodecEvent<'b, Response<'b>>), Error> {
        if let Some(body) = &mut self.body {
            let (used, piece) = body.next(buffer, &self.limits)?;
            let event = match piece {
                Piece::More => CodecEvent::More,
                Piece::Data(data) => CodecEvent::Data(data),
                Piece::End => {
                    self.body = None;
                    CodecEvent::End
                }
            };
            return Ok((used, event));
        }
        let Some(end) = self.scan.end(buffer, &self.limits)? else {
            return Ok((0, CodecEvent::More));
        };
        let head = &mut buffer[..end];
        unfold(head)?;
        let response = parse(head, method, &self.limits)?;
        if response.status == 101 && !self.may_switch {
            return Err(Error::Switched);
        }
        self.body = Body::of_server(response.body);
        Ok((end, CodecEvent::Head(response)))
    }

    /// Ends the connection, and with it a message whose body is delimited by it.
    ///
    /// # Errors
    /// [`Error::Truncated`] if a message needed more bytes (RFC 9112 section 8).
    pub fn end(&mut self) -> Result<(), Error> {
        match self.body.take() {
            Some(Body::UntilClose) => Ok(()),
            _ => Err(Error::Truncated),
        }
    }
}

/// RFC 9112 section 5.2: a user agent replaces line folding with blanks. Right after the status line
/// it would change that line, and is refused (section 2.2).
fn unfold(head: &mut [u8]) -> Result<(), Error> {
    let (mut first, mut next) = (true, 0);
    while let Some(offset) = memchr::memchr(b'\n', &head[next..]) {
        let feed = next + offset;
        next = feed + 1;
        if matches!(head.get(next), Some(b' ' | b'\t')) {
            if first {
                return Err(Error::Syntax(httparse::Error::HeaderName));
            }
            head[feed - 1..=feed].fill(b' ');
        }
        first = false;
    }
    Ok(())
}

fn parse<'b>(
    head: &'b [u8],
    method: &http::Method,
    limits: &CodecLimits,
) -> Result<Response<'b>, Error> {
    let mut room = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut parsed = httparse::Response::new(&mut []);
    let status = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut parsed,
        head,
        &mut room[..limits.fields.min(MOST_FIELDS)],
    )?;
    if !matches!(status, httparse::Status::Complete(end) if end == head.len()) {
        return Err(Error::Syntax(httparse::Error::NewLine));
    }
    let version = Version::from_minor(parsed.version);
    let status = parsed.code.filter(|code| *code >= 100);
    let status = status.ok_or(Error::Syntax(httparse::Error::Status))?;
    let mut framing = FramingFields::default();
    for field in parsed.headers.iter() {
        framing.field(field.name, field.value)?;
    }
    let body = match framing.body(version)? {
        // RFC 9112 section 6.3 items 1 and 2.
        _ if bodiless(status, method) => BodyLength::None,
        Some(BodyLength::Exactly(0)) => BodyLength::None,
        Some(length) => length,
        // Item 8.
        None => BodyLength::UntilClose,
    };
    let persistent = framing.persistent(version) && body != BodyLength::UntilClose;
    Ok(Response { status, version, fields: Fields::of(head), body, persistent })
}

/// RFC 9112 section 6.3 items 1 and 2: statuses and methods that have no body whatever the fields say.
fn bodiless(status: u16, method: &http::Method) -> bool {
    status < 200
        || matches!(status, 204 | 304)
        || method == http::Method::HEAD
        || (method == http::Method::CONNECT && status < 300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    /// The head's status, body length and persistence.
    fn head(text: &str, method: &Method) -> Result<(u16, BodyLength, bool), Error> {
        let mut bytes = text.as_bytes().to_vec();
        match ResponseDecoder::new(CodecLimits::CLIENT).next(&mut bytes, method)? {
            (_, CodecEvent::Head(head)) => Ok((head.status, head.body, head.persistent)),
            other => panic!("not a head: {other:?}"),
        }
    }

    #[test]
    fn bodies_end_as_the_rules_say() {
        let get = |fields: &str| head(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"), &Method::GET);
        assert_eq!(get("Content-Length: 3\r\n"), Ok((200, BodyLength::Exactly(3), true)));
        assert_eq!(get("Content-Length: 0\r\n"), Ok((200, BodyLength::None, true)));
        assert_eq!(get("Transfer-Encoding: chunked\r\n"), Ok((200, BodyLength::Chunked, true)));
        assert_eq!(get(""), Ok((200, BodyLength::UntilClose, false)));
        assert!(!get("Connection: close\r\nContent-Length: 3\r\n").unwrap().2);
        let ten = "HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n";
        assert_eq!(head(ten, &Method::GET), Ok((200, BodyLength::Exactly(3), true)));
        for status in [100, 103, 204, 304] {
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 3\r\n\r\n");
            assert_eq!(head(&text, &Method::GET).unwrap().1, BodyLength::None);
        }
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(head(text, &Method::HEAD), Ok((200, BodyLength::None, true)));
    }

    #[test]
    fn folded_lines_are_unfolded() {
        let mut text = b"HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\nContent-Length:\r\n 5\r\n\r\n".to_vec();
        let mut decoder = ResponseDecoder::new(CodecLimits::CLIENT);
        let Ok((_, CodecEvent::Head(head))) = decoder.next(&mut text, &Method::GET) else {
            panic!()
        };
        assert_eq!(head.fields.get("a"), Some(&b"b  \tc"[..]));
        assert_eq!(head.body, BodyLength::Exactly(5));
    }

    #[test]
    fn malformed_heads_are_refused() {
        for bad in [
            "HTTP/1.1 200 OK\r\n Content-Length: 3\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
            "HTTP/1.1 099 X\r\n\r\n",
            "HTTP/1.1 20 X\r\n\r\n",
            "HTTP/1.1 101 X\r\n\r\n",
            "HTTP/3 200 X\r\n\r\n",
            "\r\nHTTP/1.1 200 OK\r\n\r\n",
            "SSH-2.0-x\r\n\r\n",
        ] {
            assert!(head(bad, &Method::GET).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_end_completes_only_bodies_that_run_until_it() {
        let mut decoder = ResponseDecoder::new(CodecLimits::CLIENT);
        assert_eq!(decoder.end(), Err(Error::Truncated));
        decoder.next(&mut b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), &Method::GET).unwrap();
        assert_eq!(decoder.end(), Ok(()));
        let mut text = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n".to_vec();
        decoder.next(&mut text, &Method::GET).unwrap();
        assert_eq!(decoder.end(), Err(Error::Truncated));
    }
}
