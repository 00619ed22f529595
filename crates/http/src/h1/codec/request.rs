//! Requests, decoded by a server.

use std::mem::MaybeUninit;

use super::HeadScan;
use super::MOST_FIELDS;
use super::fields::{FramingFields, members};
use super::{Body, Piece};
use super::{BodyLength, CodecEvent, CodecLimits, Error, Fields, Version};

/// A request's head, borrowed from its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'b> {
    /// `GET`, ...
    pub method: &'b str,
    /// The request target as it was sent (RFC 9112 section 3.2).
    pub target: &'b str,
    /// The requested host, with its port if given: the target's own authority if it has one (RFC 9112 section 3.2.2),
    /// else the `Host` field; empty if there is neither.
    pub authority: &'b str,
    /// The version.
    pub version: Version,
    /// All fields.
    pub fields: Fields<'b>,
    /// The body's delimitation; never [`BodyLength::UntilClose`].
    pub body: BodyLength,
    /// True if the client will reuse the connection (RFC 9112 section 9.3).
    pub persistent: bool,
    /// True if the client waits for 100 (Continue) before it sends the body.
    pub expects_continue: bool,
}

/// Decodes a connection's requests, one after another.
#[derive(Debug)]
pub struct RequestDecoder {
    limits: CodecLimits,
    scan: HeadScan,
    body: Option<Body>,
}

impl RequestDecoder {
    /// A decoder at the beginning of a connection.
    pub fn new(limits: CodecLimits) -> RequestDecoder {
        RequestDecoder { limits, scan: HeadScan::default(), body: None }
    }

    /// Decodes from the front of `buffer`, which begins where the last call stopped consuming. Returns the number of
    /// bytes consumed and what they are; [`CodecEvent::More`] may consume some as well.
    ///
    /// # Errors
    /// If the request is malformed. The decoder is of no use afterwards.
    pub fn next<'b>(
        &mut self,
        buffer: &'b [u8],
    ) -> Result<(usize, CodecEvent<'b, Request<'b>>), Error> {
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
        // RFC 9112 section 2.2: empty lines before a request are ignored.
        let blank = blank_lines(buffer);
        let rest = &buffer[blank..];
        if rest == b"\r" {
            // Possibly half an empty line: the scan must begin at the head.
            return Ok((blank, CodecEvent::More));
        }
        let Some(end) = self.scan.end(rest, &self.limits)? else {
            return Ok((blank, CodecEvent::More));
        };
        let request = parse(&rest[..end], &self.limits)?;
        self.body = Body::new(request.body);
        Ok((blank + end, CodecEvent::Head(request)))
    }

    /// Returns true if the connection may end here: no request has begun.
    pub fn is_between(&self, buffer: &[u8]) -> bool {
        self.body.is_none() && buffer.is_empty()
    }
}

/// The size of the leading empty lines in `buffer`.
fn blank_lines(buffer: &[u8]) -> usize {
    2 * buffer.chunks_exact(2).take_while(|pair| *pair == b"\r\n").count()
}

fn parse<'b>(head: &'b [u8], limits: &CodecLimits) -> Result<Request<'b>, Error> {
    let mut room = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut []);
    let status = parsed
        .parse_with_uninit_headers(head, &mut room[..limits.fields.min(MOST_FIELDS)])
        .map_err(|error| refusal(error, head))?;
    if !matches!(status, httparse::Status::Complete(end) if end == head.len()) {
        return Err(Error::Syntax(httparse::Error::NewLine));
    }
    let (method, target) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    let version = Version::from_minor(parsed.version);

    let mut framing = FramingFields::default();
    let (mut host, mut expects_continue) = (None, false);
    for field in parsed.headers.iter() {
        framing.field(field.name, field.value)?;
        if field.name.eq_ignore_ascii_case("host") {
            if host.replace(field.value).is_some() {
                return Err(Error::Host);
            }
        } else if field.name.eq_ignore_ascii_case("expect") {
            // RFC 9110 section 10.1.1: it has no meaning in HTTP/1.0.
            expects_continue = version == Version::V11
                && members(field.value).any(|e| e.eq_ignore_ascii_case(b"100-continue"));
        }
    }
    // RFC 9112 section 6.3 item 5 lets a server accept a repeated number; this one does not.
    if framing.repeats_length() {
        return Err(Error::ContentLength);
    }
    // RFC 9112 section 6.3 item 7: without framing fields a request has no body.
    let body = match framing.body(version)? {
        None | Some(BodyLength::Exactly(0)) => BodyLength::None,
        // RFC 9110 section 9.3.6: it has no content; a recipient that took it for the tunnel's data would be open to smuggling.
        Some(_) if method == "CONNECT" => return Err(Error::ConnectBody),
        Some(length) => length,
    };
    Ok(Request {
        method,
        target,
        authority: authority(method, target, host, version)?,
        version,
        fields: Fields::of(head),
        body,
        persistent: framing.persistent(version),
        expects_continue,
    })
}

/// `httparse` takes a blank within the target for the start of the version.
fn refusal(error: httparse::Error, head: &[u8]) -> Error {
    let version = head.split(|&byte| byte == b' ').nth(2).unwrap_or_default();
    match Error::from(error) {
        Error::Version if !version.starts_with(b"HTTP/") => Error::Syntax(error),
        refusal => refusal,
    }
}

/// RFC 9112 section 3.2: HTTP/1.1 must have one valid Host, even where the target overrides it.
fn authority<'b>(
    method: &str,
    target: &'b str,
    host: Option<&'b [u8]>,
    version: Version,
) -> Result<&'b str, Error> {
    let host = match host {
        Some(value) => valid_host(value).ok_or(Error::Host)?,
        None if version == Version::V11 => return Err(Error::Host),
        None => "",
    };
    if target.starts_with('/') {
        return Ok(host);
    }
    if method == "CONNECT" {
        return Ok(target);
    }
    let Some((_, after)) = target.split_once("://") else { return Ok(host) };
    let end = after.find(['/', '?', '#']).unwrap_or(after.len());
    valid_host(&after.as_bytes()[..end]).ok_or(Error::Host)
}

/// `uri-host [ ":" port ]` (RFC 9110 section 7.2), by its alphabet: strict enough that no later recipient can take it
/// for a list, a path or user information.
fn valid_host(value: &[u8]) -> Option<&str> {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+;=:[]%".contains(byte);
    value.iter().all(allowed).then(|| str::from_utf8(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<Request<'_>, Error> {
        match RequestDecoder::new(CodecLimits::SERVER).next(text.as_bytes())? {
            (used, CodecEvent::Head(request)) if used == text.len() => Ok(request),
            other => panic!("not a whole head: {other:?}"),
        }
    }

    #[test]
    fn a_head_says_what_is_asked_and_how_it_ends() {
        let text = "\r\nPOST /a?b HTTP/1.1\r\nhost: x.example:81\r\nContent-Length: 7\r\n\
                    Expect: 100-continue\r\nConnection: close\r\n\r\n";
        let got = request(text).unwrap();
        assert_eq!((got.method, got.target, got.authority), ("POST", "/a?b", "x.example:81"));
        assert_eq!((got.body, got.persistent), (BodyLength::Exactly(7), false));
        assert!(got.expects_continue);
        assert_eq!(got.fields.iter().count(), 4);
    }

    #[test]
    fn the_target_overrides_host() {
        fn authority(text: &str) -> Result<&str, Error> {
            request(text).map(|request| request.authority)
        }
        assert_eq!(authority("GET http://b:8/c HTTP/1.1\r\nHost: a\r\n\r\n"), Ok("b:8"));
        assert_eq!(authority("CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n"), Ok("b:443"));
        assert_eq!(authority("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), Ok("a"));
        assert_eq!(authority("GET / HTTP/1.0\r\n\r\n"), Ok(""));
        for bad in ["", "Host: a\r\nHost: a\r\n", "Host: a,b\r\n", "Host: a/b\r\n", "Host: u@a\r\n"]
        {
            let text = format!("GET / HTTP/1.1\r\n{bad}\r\n");
            assert_eq!(authority(&text).unwrap_err(), Error::Host, "{bad}");
        }
    }

    #[test]
    fn malformed_heads_are_refused() {
        let refused = |text: &str| {
            RequestDecoder::new(CodecLimits::SERVER).next(text.as_bytes()).expect_err(text).status()
        };
        for bad in [
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /\r\n\r\n",
            "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n",
        ] {
            assert_eq!(refused(bad), 400, "{bad:?}");
        }
        assert_eq!(refused("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
        let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(100));
        assert_eq!(refused(&many), 431);
        assert_eq!(refused(&format!("GET /{}", "a".repeat(16 * 1024))), 431);
    }

    #[test]
    fn an_empty_line_may_arrive_in_halves() {
        let mut decoder = RequestDecoder::new(CodecLimits::SERVER);
        assert_eq!(decoder.next(b"\r"), Ok((0, CodecEvent::More)));
        assert_eq!(decoder.next(b"\r\n"), Ok((2, CodecEvent::More)));
        let (used, event) = decoder.next(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        assert!(used == 18 && matches!(event, CodecEvent::Head(_)), "{event:?}");
    }

    #[test]
    fn pipelined_requests_come_one_by_one() {
        let text = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\n\
            Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n";
        let (mut decoder, mut rest, mut seen) =
            (RequestDecoder::new(CodecLimits::SERVER), &text[..], Vec::new());
        loop {
            let (used, event) = decoder.next(rest).unwrap();
            rest = &rest[used..];
            match event {
                CodecEvent::Head(request) => seen.push(request.target),
                CodecEvent::Data(data) => seen.push(str::from_utf8(data).unwrap()),
                CodecEvent::End => seen.push("end"),
                CodecEvent::More => break,
            }
        }
        assert_eq!(seen, ["/1", "/2", "ab", "end", "/3"]);
        assert!(decoder.is_between(rest));
    }
}
