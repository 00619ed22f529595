//! Messages on the leg: the fields of their heads, and the coding of their bodies.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::{DeflateEncoder, GzDecoder, ZlibDecoder};
use flate2::{Compression, Decompress, FlushDecompress, Status};
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::message;

/// Field with the size of a response's body before compression for the leg. (`Content-Length` would be the size on
/// the leg.)
pub(super) const LENGTH: &str = "farlink-length";
/// Field with the compression of a response's body for the leg.
pub(super) const CODING: &str = "farlink-coding";
/// Field of the far end's own error responses; the status is the reason.
pub(super) const FAILED: &str = "farlink-failed";
/// The only compression: deflate without a wrapper (RFC 1951).
pub(super) const DEFLATE: HeaderValue = HeaderValue::from_static("deflate");

/// Fields of one connection (RFC 9110 section 7.6.1), or of the framing of a message on it.
const HOP: [HeaderName; 6] = [CONNECTION, CONTENT_LENGTH, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
const HOP_BY_CUSTOM: [&str; 2] = ["keep-alive", "proxy-connection"];

/// Removes the fields of the connection that a message came by, and those that we add on the leg.
pub(super) fn strip_hop(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP) {
        fields.remove(name);
    }
    for name in HOP_BY_CUSTOM.into_iter().chain([LENGTH, CODING, FAILED]) {
        fields.remove(name);
    }
}

/// Returns true if the answer to a request with these fields may be one that was fetched without them.
pub(super) fn is_plain(fields: &HeaderMap) -> bool {
    let particular = [
        AUTHORIZATION,
        IF_MATCH,
        IF_MODIFIED_SINCE,
        IF_NONE_MATCH,
        IF_RANGE,
        IF_UNMODIFIED_SINCE,
        RANGE,
    ];
    !particular.iter().any(|name| fields.contains_key(name))
}

/// A field's value, if it is text.
pub(super) fn text<'a>(fields: &'a HeaderMap, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(|value| value.to_str().ok())
}

/// The media type, in lower case, without parameters.
pub(super) fn media_type(fields: &HeaderMap) -> String {
    let value = text(fields, CONTENT_TYPE.as_str()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns true if compression is likely to help: text, and not compressed by the server.
pub(super) fn is_compressible(fields: &HeaderMap) -> bool {
    let media_type = media_type(fields);
    let is_text = media_type.starts_with("text/")
        || ["javascript", "json", "xml"].iter().any(|part| media_type.ends_with(part));
    is_text && !fields.contains_key(CONTENT_ENCODING)
}

// Compression on the leg: deflate (RFC 1951), undone at the near end, so that clients get the server's bytes. Deflated data marks
// its own end; for a body of unknown length that alone can be the reason ([`LegDeflater::stored`]).

/// Size of the pieces in which the servers' compression is undone: deflate expands each at most a thousandfold.
const PART_BYTES: usize = 512;

/// Size of the steps in which the output buffer grows for the leg's decompression.
const ROOM_BYTES: usize = 16 << 10;

/// Compresses a body piece by piece.
pub(super) struct LegDeflater(DeflateEncoder<Vec<u8>>);

impl LegDeflater {
    pub(super) fn new() -> LegDeflater {
        LegDeflater(DeflateEncoder::new(Vec::new(), Compression::default()))
    }

    /// A deflater that stores data uncompressed, only to mark its end.
    pub(super) fn stored() -> LegDeflater {
        LegDeflater(DeflateEncoder::new(Vec::new(), Compression::none()))
    }

    /// The output for `piece`, flushed, so that it need not wait for the next piece.
    pub(super) fn piece(&mut self, piece: &[u8]) -> io::Result<Bytes> {
        self.0.write_all(piece)?;
        self.0.flush()?;
        Ok(std::mem::take(self.0.get_mut()).into())
    }

    /// The output at the end.
    pub(super) fn end(self) -> io::Result<Bytes> {
        self.0.finish().map(Bytes::from)
    }

    /// Compresses a whole body.
    pub(super) fn whole(body: &[u8]) -> io::Result<Bytes> {
        let mut deflater = LegDeflater::new();
        deflater.0.write_all(body)?;
        deflater.end()
    }
}

/// Undoes the leg's compression, or passes on what was not compressed.
pub(super) enum LegInflater {
    Deflated(Box<Decompress>),
    /// Deflated, after its end.
    Over,
    Plain,
}

impl LegInflater {
    /// The inflater for a response with these fields.
    pub(super) fn of(fields: &HeaderMap) -> LegInflater {
        if fields.contains_key(message::CODING) {
            LegInflater::Deflated(Box::new(Decompress::new(false)))
        } else {
            LegInflater::Plain
        }
    }

    /// Returns true if the body is known to have ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, LegInflater::Over)
    }

    /// The plain bytes of `piece`.
    pub(super) fn piece(&mut self, piece: Bytes) -> io::Result<Bytes> {
        match self {
            LegInflater::Plain => Ok(piece),
            LegInflater::Over => Ok(Bytes::new()),
            LegInflater::Deflated(decompress) => {
                let (plain, status) = inflate(decompress, &piece)?;
                if status == Status::StreamEnd {
                    *self = LegInflater::Over;
                }
                Ok(plain.into())
            }
        }
    }
}

fn inflate(decompress: &mut Decompress, mut packed: &[u8]) -> io::Result<(Vec<u8>, Status)> {
    let mut plain = Vec::new();
    loop {
        plain.reserve(ROOM_BYTES);
        let before = decompress.total_in();
        let status = decompress.decompress_vec(packed, &mut plain, FlushDecompress::None)?;
        packed = &packed[(decompress.total_in() - before) as usize..];
        // Spare room in the buffer means that the input so far yields no more output.
        if status == Status::StreamEnd || packed.is_empty() && plain.len() < plain.capacity() {
            return Ok((plain, status));
        }
        if status == Status::BufError && plain.len() < plain.capacity() {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// Undoes the server's own compression, to scan the content.
pub(super) enum ContentDecoder {
    Identity,
    Gzip(Box<GzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
}

impl ContentDecoder {
    /// The unpacker for a response with these fields; `None` if its `Content-Encoding` is unknown here.
    pub(super) fn of(fields: &HeaderMap) -> Option<ContentDecoder> {
        Some(match message::text(fields, "content-encoding").unwrap_or("identity") {
            "identity" => ContentDecoder::Identity,
            "gzip" | "x-gzip" => ContentDecoder::Gzip(Box::new(GzDecoder::new(Vec::new()))),
            "deflate" => ContentDecoder::Deflate(Box::new(ZlibDecoder::new(Vec::new()))),
            _ => return None,
        })
    }

    /// The first `most` plain bytes of `piece`, as far as it can be unpacked.
    pub(super) fn piece(&mut self, piece: &[u8], most: usize) -> Vec<u8> {
        let mut plain = Vec::new();
        for part in piece.chunks(PART_BYTES) {
            if plain.len() >= most || self.part(part, &mut plain).is_err() {
                break;
            }
        }
        plain.truncate(most);
        plain
    }

    fn part(&mut self, part: &[u8], into: &mut Vec<u8>) -> io::Result<()> {
        match self {
            ContentDecoder::Identity => into.extend_from_slice(part),
            ContentDecoder::Gzip(decoder) => {
                decoder.write_all(part)?;
                decoder.flush()?;
                into.append(decoder.get_mut());
            }
            ContentDecoder::Deflate(decoder) => {
                decoder.write_all(part)?;
                decoder.flush()?;
                into.append(decoder.get_mut());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn inflater() -> LegInflater {
        LegInflater::Deflated(Box::new(Decompress::new(false)))
    }

    fn encoded(coding: &str) -> HeaderMap {
        HeaderMap::from_iter([(http::header::CONTENT_ENCODING, coding.parse().unwrap())])
    }

    proptest! {
        #[test]
        fn bodies_survive_however_they_are_cut(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
            cut in 1usize..50,
            stored: bool,
        ) {
            let mut deflater = if stored { LegDeflater::stored() } else { LegDeflater::new() };
            let mut sent = Vec::new();
            for piece in &pieces {
                sent.extend_from_slice(&deflater.piece(piece).unwrap());
            }
            let before_the_end = sent.len();
            sent.extend_from_slice(&deflater.end().unwrap());
            let mut inflater = inflater();
            let mut got = Vec::new();
            for (at, piece) in sent.chunks(cut).enumerate() {
                prop_assert!(!inflater.is_over() || at * cut > before_the_end);
                got.extend_from_slice(&inflater.piece(Bytes::copy_from_slice(piece)).unwrap());
            }
            prop_assert!(inflater.is_over());
            prop_assert_eq!(got, pieces.concat());
        }

        #[test]
        fn garbage_is_an_error_or_something_but_no_panic(garbage: Vec<u8>) {
            drop(inflater().piece(garbage.clone().into()));
            for coding in ["gzip", "deflate"] {
                drop(ContentDecoder::of(&encoded(coding)).unwrap().piece(&garbage, 1_000));
            }
            prop_assert!(ContentDecoder::of(&encoded("br")).is_none());
        }
    }

    #[test]
    fn much_in_little_is_unpacked_so_far_and_no_further() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b' '; 50_000_000]).unwrap();
        let packed = encoder.finish().unwrap();
        let plain = ContentDecoder::of(&encoded("gzip")).unwrap().piece(&packed, 100_000);
        assert_eq!(plain, vec![b' '; 100_000]);
        let all: usize = {
            let mut unpacker = ContentDecoder::of(&encoded("gzip")).unwrap();
            packed.chunks(1_000).map(|piece| unpacker.piece(piece, usize::MAX).len()).sum()
        };
        assert_eq!(all, 50_000_000);
    }

    #[test]
    fn a_large_body_is_inflated_whole() {
        let body = vec![7; 3_000_000];
        let packed = LegDeflater::whole(&body).unwrap();
        assert!(packed.len() < 10_000);
        assert_eq!(inflater().piece(packed).unwrap(), body);
    }
}
