//! HTTP messages as the blocks of WARC records: HTTP/1.1 text, whatever protocol carried them.
//!
//! A block that farlink writes has its body without content coding; the fields that described the coding keep their values
//! under names that begin with `x-orig-`, as other recorders that read DevTools write them.

use std::borrow::Cow;
use std::io;

use crate::load::first;
use crate::{Fields, RecordedRequest, RecordedResponse, coding};

/// Fields that describe a body's coding.
const CODING: [&str; 3] = ["content-encoding", "transfer-encoding", "content-length"];

/// Prefix of fields that no longer hold for the recorded body.
const ORIGINAL: &str = "x-orig-";

/// Most fields of a message.
const MOST_FIELDS: usize = 256;

/// The block of a request.
pub(crate) fn of_request(request: &RecordedRequest) -> Vec<u8> {
    let (_, place) = request.url.split_once("://").unwrap_or(("", &request.url));
    let (host, path) = place.split_at(place.find(['/', '?']).unwrap_or(place.len()));
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut head = format!("{} {slash}{path} HTTP/1.1\r\n", request.method);
    if !request.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head += &format!("host: {host}\r\n");
    }
    block(head, &request.fields, &request.body)
}

/// The head in the block of a response whose body, of `bytes`, follows with its content coding.
pub(crate) fn head_of_coded(response: &RecordedResponse, bytes: u64) -> Vec<u8> {
    let is_framing = |name: &str| CODING[1..].iter().any(|it| name.eq_ignore_ascii_case(it));
    let kept = response.fields.iter().filter(|(name, _)| !is_framing(name)).cloned();
    let length = ("content-length".to_owned(), bytes.to_string());
    let fields: Fields = kept.chain([length]).collect();
    block(status_line(response), &fields, &[])
}

fn status_line(response: &RecordedResponse) -> String {
    format!("HTTP/1.1 {} {}\r\n", response.status, response.reason)
}

/// The block of a response, with `body` decoded.
pub(crate) fn of_response(response: &RecordedResponse) -> Vec<u8> {
    let body = response.body.as_deref().unwrap_or_default();
    let rename = |(name, value): &(String, String)| {
        let is_coding = CODING.iter().any(|it| name.eq_ignore_ascii_case(it));
        let name = if is_coding { format!("{ORIGINAL}{name}") } else { name.clone() };
        (name, value.clone())
    };
    let mut fields: Fields = response.fields.iter().map(rename).collect();
    if fields.iter().any(|(name, _)| name.starts_with(ORIGINAL)) {
        fields.push(("content-length".to_owned(), body.len().to_string()));
    }
    block(status_line(response), &fields, body)
}

fn block(mut head: String, fields: &Fields, body: &[u8]) -> Vec<u8> {
    for (name, value) in fields {
        // A line break would end the field.
        head += &format!("{name}: {}\r\n", value.replace(['\r', '\n'], " "));
    }
    head += "\r\n";
    [head.as_bytes(), body].concat()
}

/// The response in a block; the body is decoded. `None` if the block is none.
pub(crate) fn response(block: &[u8]) -> Option<RecordedResponse> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Response::new(&mut fields);
    let mut config = httparse::ParserConfig::default();
    // Crawlers write down what servers sent, and pywb writes HTTP/2's version as it is.
    config
        .ignore_invalid_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true);
    let block = &with_version(block)[..];
    let httparse::Status::Complete(head) = config.parse_response(&mut parsed, block).ok()? else {
        return None;
    };
    let status = parsed.code?;
    let reason = parsed.reason.unwrap_or_default().to_owned();
    let received = owned(parsed.headers);
    let body = decoded(&block[head..], &received);
    let media_type =
        first(&received, "content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    Some(RecordedResponse {
        status,
        reason,
        media_type: media_type.trim().to_lowercase(),
        body: body.ok(),
        head_bytes: Some(head as u64),
        transferred_bytes: block.len() as u64,
        fields: restored(received),
        ..RecordedResponse::default()
    })
}

/// The request in a block to `url`; `None` if the block is none.
pub(crate) fn request(block: &[u8], url: &str) -> Option<RecordedRequest> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(head) = parsed.parse(block).ok()? else { return None };
    Some(RecordedRequest {
        method: parsed.method?.to_owned(),
        url: url.to_owned(),
        fields: owned(parsed.headers),
        body: block[head..].to_vec(),
    })
}

/// The block with a version that the parser knows: it is HTTP/1.1 text, even if it says `HTTP/2`.
fn with_version(block: &[u8]) -> Cow<'_, [u8]> {
    if !block.starts_with(b"HTTP/") || block.starts_with(b"HTTP/1.") {
        return Cow::Borrowed(block);
    }
    let end = block.iter().position(|byte| *byte == b' ').unwrap_or(0);
    Cow::Owned([b"HTTP/1.1", &block[end..]].concat())
}

fn owned(fields: &[httparse::Header<'_>]) -> Fields {
    let value = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    fields.iter().map(|field| (field.name.to_owned(), value(field.value))).collect()
}

/// Fields with the coding that the response had when it was transferred.
fn restored(fields: Fields) -> Fields {
    let is_renamed = fields.iter().any(|(name, _)| name.starts_with(ORIGINAL));
    let is_replaced =
        |name: &str| is_renamed && CODING.iter().any(|it| name.eq_ignore_ascii_case(it));
    let fields = fields.into_iter().filter(|(name, _)| !is_replaced(name));
    fields
        .map(|(name, value)| match name.strip_prefix(ORIGINAL) {
            Some(original) => (original.to_owned(), value),
            None => (name, value),
        })
        .collect()
}

/// A body without its chunks and content codings.
fn decoded(body: &[u8], fields: &Fields) -> io::Result<Vec<u8>> {
    let transfer = first(fields, "transfer-encoding").unwrap_or_default().to_lowercase();
    let whole = if transfer.contains("chunked") { unchunked(body) } else { None };
    let whole = whole.unwrap_or_else(|| body.to_vec());
    coding::decoded(whole, first(fields, "content-encoding").unwrap_or_default())
}

/// A body without its chunks (RFC 9112 section 7.1); `None` if it has none.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let httparse::Status::Complete((head, size)) = httparse::parse_chunk_size(rest).ok()?
        else {
            return None;
        };
        let size = usize::try_from(size).ok()?;
        rest = rest.get(head..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn field(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_response_is_read_as_written() {
        let written = RecordedResponse {
            status: 200,
            fields: vec![
                field("content-type", "text/html; charset=utf-8"),
                field("content-encoding", "br"),
                field("content-length", "7"),
            ],
            body: Some(b"<p>hello".to_vec()),
            ..RecordedResponse::default()
        };
        let block = of_response(&written);
        let text = String::from_utf8(block.clone()).unwrap();
        assert!(
            text.contains("x-orig-content-encoding: br\r\n") && text.ends_with("\r\n\r\n<p>hello")
        );
        assert!(text.contains("\r\ncontent-length: 8\r\n"), "of the body in the block: {text}");
        let read = response(&block).unwrap();
        assert_eq!((read.fields, read.body), (written.fields, written.body));
        assert_eq!(read.media_type, "text/html");
    }

    #[test]
    fn bodies_of_other_recorders_are_decoded() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"hello").unwrap();
        let gzip = gzip.finish().unwrap();
        let (begin, end) = gzip.split_at(9);
        let head = b"HTTP/2 200\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk =
            |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
        let chunks = [chunk(begin), chunk(end), b"0\r\n\r\n".to_vec()].concat();
        for body in [&chunks[..], &gzip[..], b"hello"] {
            let read = response(&[&head[..], body].concat()).unwrap();
            assert_eq!((read.status, read.body.as_deref()), (200, Some(&b"hello"[..])));
        }
        let unknown = response(b"HTTP/1.1 200 OK\r\ncontent-encoding: dcb\r\n\r\nx").unwrap();
        assert_eq!(unknown.body, None);
        assert!(response(b"<html>").is_none());
    }

    #[test]
    fn a_request_is_read_as_written() {
        let written = RecordedRequest {
            method: "POST".to_owned(),
            url: "https://a.test?q=1".to_owned(),
            fields: vec![field("host", "a.test"), field("accept", "*/*")],
            body: b"x=1".to_vec(),
        };
        let block = of_request(&written);
        assert!(block.starts_with(b"POST /?q=1 HTTP/1.1\r\nhost: a.test\r\n"));
        assert_eq!(request(&block, &written.url), Some(written));
    }

    proptest! {
        #[test]
        fn any_block_is_survived(block in prop::collection::vec(any::<u8>(), 0..200)) {
            response(&block);
            response(&[b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-encoding: br\r\n\r\n", &block[..]].concat());
            request(&block, "http://a.test/");
        }
    }
}
