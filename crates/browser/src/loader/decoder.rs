//! Decoder of compressed bodies, as their pieces arrive (RFC 9110 section 8.4).

use std::io::{self, Write};

use brotli::DecompressorWriter;
use flate2::write::{GzDecoder, ZlibDecoder};

/// Buffer of the Brotli decoder.
const BUFFER_BYTES: usize = 16 << 10;

/// A body on its way through a decoder. Each piece comes out as far as the bytes that have arrived determine it.
pub(super) enum Decoder {
    Brotli(Box<DecompressorWriter<Vec<u8>>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Vec<u8>>>),
    Gzip(Box<GzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
}

impl Decoder {
    /// The decoder for the value of a field `Content-Encoding`; `None` for `identity`.
    ///
    /// # Errors
    /// If a coding is none of those that the loader's requests accept.
    pub(super) fn named(field: &[u8]) -> io::Result<Option<Decoder>> {
        let named = match &field.to_ascii_lowercase()[..] {
            b"br" => Decoder::Brotli(Box::new(DecompressorWriter::new(Vec::new(), BUFFER_BYTES))),
            b"zstd" => Decoder::Zstd(Box::new(zstd::stream::write::Decoder::new(Vec::new())?)),
            b"gzip" => Decoder::Gzip(Box::new(GzDecoder::new(Vec::new()))),
            b"deflate" => Decoder::Deflate(Box::new(ZlibDecoder::new(Vec::new()))),
            b"identity" => return Ok(None),
            other => {
                let problem = format!("unknown content coding {}", other.escape_ascii());
                return Err(io::Error::new(io::ErrorKind::Unsupported, problem));
            }
        };
        Ok(Some(named))
    }

    /// Decodes the next piece.
    ///
    /// # Errors
    /// If the body is damaged.
    pub(super) fn decode(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        let writer: &mut dyn Write = match self {
            Decoder::Brotli(decoder) => decoder,
            Decoder::Zstd(decoder) => decoder,
            Decoder::Gzip(decoder) => decoder,
            Decoder::Deflate(decoder) => decoder,
        };
        writer.write_all(piece)?;
        writer.flush()?;
        let output = match self {
            Decoder::Brotli(decoder) => decoder.get_mut(),
            Decoder::Zstd(decoder) => decoder.get_mut(),
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Deflate(decoder) => decoder.get_mut(),
        };
        Ok(std::mem::take(output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Vec<u8> {
        // Digits of cubes: nothing that comes again as a whole.
        (0..9_000_u64).flat_map(|n| (n * n * n % 99_991).to_string().into_bytes()).collect()
    }

    fn coded(coding: &str, text: &[u8]) -> Vec<u8> {
        match coding {
            "br" => {
                let mut coder = brotli::CompressorWriter::new(Vec::new(), 4_096, 5, 19);
                coder.write_all(text).unwrap();
                coder.into_inner()
            }
            "zstd" => zstd::encode_all(text, 6).unwrap(),
            "deflate" => {
                let mut coder = flate2::write::ZlibEncoder::new(Vec::new(), Default::default());
                coder.write_all(text).unwrap();
                coder.finish().unwrap()
            }
            _ => {
                let mut coder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
                coder.write_all(text).unwrap();
                coder.finish().unwrap()
            }
        }
    }

    #[test]
    fn text_comes_out_as_its_pieces_arrive() {
        let text = text();
        for coding in ["br", "zstd", "gzip", "deflate"] {
            let coded = coded(coding, &text);
            let mut decoder = Decoder::named(coding.as_bytes()).unwrap().unwrap();
            let mut out = Vec::new();
            let half = coded.len() / 2;
            for piece in coded[..half].chunks(1_000) {
                out.extend(decoder.decode(piece).unwrap());
            }
            if coding != "zstd" {
                // Zstandard decodes whole blocks of up to 128 KiB.
                assert!(out.len() > text.len() / 4, "{coding}: {} of {}", out.len(), text.len());
            }
            out.extend(decoder.decode(&coded[half..]).unwrap());
            assert!(out == text, "{coding}");
        }
    }

    #[test]
    fn unknown_and_damaged_bodies_are_refused() {
        assert!(Decoder::named(b"Identity").unwrap().is_none());
        let unknown = Decoder::named(b"gzip, br").err().unwrap().to_string();
        assert_eq!(unknown, "unknown content coding gzip, br");
        for coding in ["br", "zstd", "gzip", "deflate"] {
            let mut decoder = Decoder::named(coding.as_bytes()).unwrap().unwrap();
            assert!(decoder.decode(&[0xff; 100]).is_err(), "{coding}");
        }
    }
}
