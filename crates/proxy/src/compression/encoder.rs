//! Encoders of bodies that arrive in pieces.

use std::io::{self, Write};

use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzDecoder, GzEncoder};
use zstd::stream::write::Encoder as ZstdEncoder;

use super::Coding;

/// Effort of each coding: what servers use for bodies that they compress while they send them.
const BROTLI_QUALITY: i32 = 5;
const ZSTD_LEVEL: i32 = 6;
const GZIP_LEVEL: u32 = 6;

/// Base-2 logarithm of the largest window: an encoder has a few of it in memory.
const MOST_WINDOW_LOG: u32 = 19;
const LEAST_WINDOW_LOG: u32 = 11;

const BROTLI_BUFFER_BYTES: usize = 16 << 10;

/// A body on its way through a coding.
pub struct Encoder(Inner);

enum Inner {
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Zstd(ZstdEncoder<'static, Vec<u8>>),
    Gzip(GzEncoder<Vec<u8>>),
}

impl Encoder {
    /// An encoder for a body of this length, if that is known.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(coding: Coding, length: Option<u64>) -> io::Result<Encoder> {
        let window_log = window_log(length);
        Ok(Encoder(match coding {
            Coding::Brotli => {
                let params = BrotliEncoderParams {
                    quality: BROTLI_QUALITY,
                    lgwin: window_log as i32,
                    size_hint: length.and_then(|length| length.try_into().ok()).unwrap_or(0),
                    ..BrotliEncoderParams::default()
                };
                let output = Vec::new();
                let writer = CompressorWriter::with_params(output, BROTLI_BUFFER_BYTES, &params);
                Inner::Brotli(Box::new(writer))
            }
            Coding::Zstd => {
                let mut encoder = ZstdEncoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.window_log(window_log)?;
                Inner::Zstd(encoder)
            }
            Coding::Gzip => Inner::Gzip(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL))),
        }))
    }

    /// Takes the next piece of the body.
    ///
    /// # Errors
    /// If the library fails.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Inner::Brotli(writer) => writer.write_all(piece),
            Inner::Zstd(writer) => writer.write_all(piece),
            Inner::Gzip(writer) => writer.write_all(piece),
        }
    }

    /// The bytes that are ready, which may be none.
    pub fn ready(&mut self) -> Bytes {
        let output = match &mut self.0 {
            Inner::Brotli(writer) => writer.get_mut(),
            Inner::Zstd(writer) => writer.get_mut(),
            Inner::Gzip(writer) => writer.get_mut(),
        };
        Bytes::from(std::mem::take(output))
    }

    /// Brings out everything that was written, at the cost of some bytes: the rest of the body is late.
    ///
    /// # Errors
    /// If the library fails.
    pub fn flush(&mut self) -> io::Result<Bytes> {
        match &mut self.0 {
            Inner::Brotli(writer) => writer.flush()?,
            Inner::Zstd(writer) => writer.flush()?,
            Inner::Gzip(writer) => writer.flush()?,
        }
        Ok(self.ready())
    }

    /// Ends the body.
    ///
    /// # Errors
    /// If the library fails.
    pub fn finish(self) -> io::Result<Bytes> {
        Ok(Bytes::from(match self.0 {
            Inner::Brotli(writer) => writer.into_inner(),
            Inner::Zstd(writer) => writer.finish()?,
            Inner::Gzip(writer) => writer.finish()?,
        }))
    }
}

/// Bytes decoded at once: what they may become, a thousand times as much, is in memory.
const DECODED_AT_ONCE: usize = 4 << 10;

/// An encoder, behind a decoder if the body is coded already.
pub struct Transcoder {
    gunzip: Option<Box<GzDecoder<Vec<u8>>>>,
    encoder: Encoder,
}

impl Transcoder {
    /// For a body of this length, if that is known, which comes in gzip or as it is.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(coding: Coding, length: Option<u64>, from_gzip: bool) -> io::Result<Transcoder> {
        let length = length.filter(|_| !from_gzip);
        let gunzip = from_gzip.then(|| Box::new(GzDecoder::new(Vec::new())));
        Ok(Transcoder { gunzip, encoder: Encoder::new(coding, length)? })
    }

    /// Takes the next piece of the body.
    ///
    /// # Errors
    /// If it is damaged, or the library fails.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        let Some(gunzip) = &mut self.gunzip else { return self.encoder.write(piece) };
        for part in piece.chunks(DECODED_AT_ONCE) {
            gunzip.write_all(part)?;
            gunzip.flush()?;
            let decoded = std::mem::take(gunzip.get_mut());
            self.encoder.write(&decoded)?;
        }
        Ok(())
    }

    /// The bytes that are ready, which may be none.
    pub fn ready(&mut self) -> Bytes {
        self.encoder.ready()
    }

    /// As [`Encoder::flush`].
    ///
    /// # Errors
    /// If the library fails.
    pub fn flush(&mut self) -> io::Result<Bytes> {
        self.encoder.flush()
    }

    /// Ends the body.
    ///
    /// # Errors
    /// If it is incomplete, or the library fails.
    pub fn finish(mut self) -> io::Result<Bytes> {
        if let Some(gunzip) = self.gunzip.take() {
            let rest = gunzip.finish()?;
            self.encoder.write(&rest)?;
        }
        self.encoder.finish()
    }
}

/// Base-2 logarithm of the window for a body of this length: the whole body if it is not too large.
fn window_log(length: Option<u64>) -> u32 {
    let whole = length.map_or(MOST_WINDOW_LOG, |length| u64::BITS - length.leading_zeros());
    whole.clamp(LEAST_WINDOW_LOG, MOST_WINDOW_LOG)
}
