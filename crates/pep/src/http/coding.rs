//! Compression on the leg: deflate (RFC 1951), undone at the near end, so that clients get the server's bytes.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{DeflateDecoder, DeflateEncoder};
use http::HeaderMap;

use super::message;

/// The most that a page is unpacked to, to be looked through.
const LOOKED_THROUGH_BYTES: u64 = 8 << 20;

/// Compresses a body piece by piece.
pub(super) struct Deflater(DeflateEncoder<Vec<u8>>);

impl Deflater {
    pub(super) fn new() -> Deflater {
        Deflater(DeflateEncoder::new(Vec::new(), Compression::default()))
    }

    /// What is to be sent for `piece`, now: nobody waits for the next one.
    pub(super) fn piece(&mut self, piece: &[u8]) -> io::Result<Bytes> {
        self.0.write_all(piece)?;
        self.0.flush()?;
        Ok(std::mem::take(self.0.get_mut()).into())
    }

    /// What is to be sent at the end.
    pub(super) fn end(self) -> io::Result<Bytes> {
        self.0.finish().map(Bytes::from)
    }

    /// A whole body.
    pub(super) fn whole(body: &[u8]) -> io::Result<Bytes> {
        let mut deflater = Deflater::new();
        deflater.0.write_all(body)?;
        deflater.end()
    }
}

/// Undoes it, or passes on what was not compressed.
pub(super) enum Inflater {
    Deflated(Box<DeflateDecoder<Vec<u8>>>),
    Plain,
}

impl Inflater {
    /// For a response with these fields.
    pub(super) fn of(fields: &HeaderMap) -> Inflater {
        if fields.contains_key(message::CODING) {
            Inflater::Deflated(Box::new(DeflateDecoder::new(Vec::new())))
        } else {
            Inflater::Plain
        }
    }

    /// What `piece` stands for.
    pub(super) fn piece(&mut self, piece: Bytes) -> io::Result<Bytes> {
        match self {
            Inflater::Plain => Ok(piece),
            Inflater::Deflated(decoder) => {
                decoder.write_all(&piece)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()).into())
            }
        }
    }
}

/// A body as the server meant it, if its `Content-Encoding` is known here: to be looked through.
pub(super) fn readable(fields: &HeaderMap, body: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    match message::text(fields, "content-encoding").unwrap_or("identity") {
        "identity" => return Some(body.to_vec()),
        "gzip" | "x-gzip" => {
            GzDecoder::new(body).take(LOOKED_THROUGH_BYTES).read_to_end(&mut plain).ok()?;
        }
        "deflate" => {
            ZlibDecoder::new(body).take(LOOKED_THROUGH_BYTES).read_to_end(&mut plain).ok()?;
        }
        _ => return None,
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bodies_survive_however_they_are_cut(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
            cut in 1usize..50,
        ) {
            let mut deflater = Deflater::new();
            let mut sent = Vec::new();
            for piece in &pieces {
                sent.extend_from_slice(&deflater.piece(piece).unwrap());
            }
            sent.extend_from_slice(&deflater.end().unwrap());
            let mut inflater = Inflater::Deflated(Box::new(DeflateDecoder::new(Vec::new())));
            let mut got = Vec::new();
            for piece in sent.chunks(cut) {
                got.extend_from_slice(&inflater.piece(Bytes::copy_from_slice(piece)).unwrap());
            }
            prop_assert_eq!(got, pieces.concat());
        }

        #[test]
        fn garbage_is_an_error_or_something_but_no_panic(garbage: Vec<u8>) {
            let mut inflater = Inflater::Deflated(Box::new(DeflateDecoder::new(Vec::new())));
            drop(inflater.piece(garbage.clone().into()));
            for coding in ["gzip", "deflate", "br"] {
                let mut fields = HeaderMap::new();
                fields.insert("content-encoding", coding.parse().unwrap());
                drop(readable(&fields, &garbage));
            }
        }
    }
}
