//! Compression on the leg: deflate (RFC 1951), undone at the near end, so that clients get the server's bytes. Deflated data marks
//! its own end; for a body of unknown length that alone can be the reason ([`Deflater::stored`]).

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::{DeflateEncoder, GzDecoder, ZlibDecoder};
use flate2::{Compression, Decompress, FlushDecompress, Status};
use http::HeaderMap;

use super::message;

/// Size of the pieces in which the servers' compression is undone: deflate expands each at most a thousandfold.
const PART_BYTES: usize = 512;

/// Size of the steps in which the output buffer grows for the leg's decompression.
const ROOM_BYTES: usize = 16 << 10;

/// Compresses a body piece by piece.
pub(super) struct Deflater(DeflateEncoder<Vec<u8>>);

impl Deflater {
    pub(super) fn new() -> Deflater {
        Deflater(DeflateEncoder::new(Vec::new(), Compression::default()))
    }

    /// A deflater that stores data uncompressed, only to mark its end.
    pub(super) fn stored() -> Deflater {
        Deflater(DeflateEncoder::new(Vec::new(), Compression::none()))
    }

    /// The output for `piece`, flushed: no one waits for the next piece.
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
        let mut deflater = Deflater::new();
        deflater.0.write_all(body)?;
        deflater.end()
    }
}

/// Undoes the leg's compression, or passes on what was not compressed.
pub(super) enum Inflater {
    Deflated(Box<Decompress>),
    /// Deflated, after its end.
    Over,
    Plain,
}

impl Inflater {
    /// The inflater for a response with these fields.
    pub(super) fn of(fields: &HeaderMap) -> Inflater {
        if fields.contains_key(message::CODING) {
            Inflater::Deflated(Box::new(Decompress::new(false)))
        } else {
            Inflater::Plain
        }
    }

    /// Returns true if the body is known to have ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Inflater::Over)
    }

    /// The plain bytes of `piece`.
    pub(super) fn piece(&mut self, piece: Bytes) -> io::Result<Bytes> {
        match self {
            Inflater::Plain => Ok(piece),
            Inflater::Over => Ok(Bytes::new()),
            Inflater::Deflated(decompress) => {
                let (plain, status) = inflate(decompress, &piece)?;
                if status == Status::StreamEnd {
                    *self = Inflater::Over;
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
pub(super) enum Unpacker {
    Identity,
    Gzip(Box<GzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
}

impl Unpacker {
    /// The unpacker for a response with these fields; `None` if its `Content-Encoding` is unknown here.
    pub(super) fn of(fields: &HeaderMap) -> Option<Unpacker> {
        Some(match message::text(fields, "content-encoding").unwrap_or("identity") {
            "identity" => Unpacker::Identity,
            "gzip" | "x-gzip" => Unpacker::Gzip(Box::new(GzDecoder::new(Vec::new()))),
            "deflate" => Unpacker::Deflate(Box::new(ZlibDecoder::new(Vec::new()))),
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
            Unpacker::Identity => into.extend_from_slice(part),
            Unpacker::Gzip(decoder) => {
                decoder.write_all(part)?;
                decoder.flush()?;
                into.append(decoder.get_mut());
            }
            Unpacker::Deflate(decoder) => {
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

    fn inflater() -> Inflater {
        Inflater::Deflated(Box::new(Decompress::new(false)))
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
            let mut deflater = if stored { Deflater::stored() } else { Deflater::new() };
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
                drop(Unpacker::of(&encoded(coding)).unwrap().piece(&garbage, 1_000));
            }
            prop_assert!(Unpacker::of(&encoded("br")).is_none());
        }
    }

    #[test]
    fn much_in_little_is_unpacked_so_far_and_no_further() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b' '; 50_000_000]).unwrap();
        let packed = encoder.finish().unwrap();
        let plain = Unpacker::of(&encoded("gzip")).unwrap().piece(&packed, 100_000);
        assert_eq!(plain, vec![b' '; 100_000]);
        let all: usize = {
            let mut unpacker = Unpacker::of(&encoded("gzip")).unwrap();
            packed.chunks(1_000).map(|piece| unpacker.piece(piece, usize::MAX).len()).sum()
        };
        assert_eq!(all, 50_000_000);
    }

    #[test]
    fn a_large_body_is_inflated_whole() {
        let body = vec![7; 3_000_000];
        let packed = Deflater::whole(&body).unwrap();
        assert!(packed.len() < 10_000);
        assert_eq!(inflater().piece(packed).unwrap(), body);
    }
}
