//! Content codings: bodies decoded for reading, and coded again for a replay.
//!
//! Browsers hand out bodies decoded. A replay codes them as their servers did, at the level whose result is nearest to the
//! recorded size: the network has to carry as many bytes.
//!
//! Source: RFC 9110 section 8.4.1, RFC 7932 (br), RFC 8878 (zstd).

use std::io::{self, Read, Write};

use brotli::{CompressorWriter, Decompressor};
use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

/// The largest body once it is decoded.
const MOST_BODY_BYTES: u64 = 256 << 20;

/// Buffers of the brotli coder.
const BUFFER_BYTES: usize = 1 << 16;

/// Brotli's window, the largest of the format: 16 MiB.
const BROTLI_WINDOW_BITS: u32 = 24;

/// Bodies from which brotli's and zstd's slowest levels are not tried: they take seconds.
const SLOW_BYTES: usize = 1 << 20;

/// The names in a `Content-Encoding` field, the last applied first.
pub(crate) fn codings(field: &str) -> impl Iterator<Item = String> {
    let names = field.rsplit(',').map(|name| name.trim().to_lowercase());
    names.filter(|name| !name.is_empty() && name != "identity").collect::<Vec<_>>().into_iter()
}

/// A body without these codings. Some recorders have removed them already and left the field: then it stays as it is.
///
/// # Errors
/// If a coding is unknown, or the body is too large or damaged.
pub(crate) fn decoded(mut body: Vec<u8>, field: &str) -> io::Result<Vec<u8>> {
    for coding in codings(field) {
        body = match coding.as_str() {
            "gzip" | "x-gzip" if body.starts_with(&[0x1f, 0x8b]) => {
                read(MultiGzDecoder::new(&body[..]))?
            }
            "gzip" | "x-gzip" => body,
            "deflate" => {
                let decoded = read(ZlibDecoder::new(&body[..]));
                let decoded = decoded.or_else(|_| read(DeflateDecoder::new(&body[..])));
                or_plain(decoded, body)?
            }
            "br" => or_plain(read(Decompressor::new(&body[..], BUFFER_BYTES)), body)?,
            "zstd" => or_plain(zstd::Decoder::new(&body[..]).and_then(read), body)?,
            other => {
                let problem = format!("unknown content coding {other}");
                return Err(io::Error::new(io::ErrorKind::Unsupported, problem));
            }
        };
    }
    Ok(body)
}

/// A decoded body, or the body as it is if it was not coded after all.
fn or_plain(decoded: io::Result<Vec<u8>>, plain: Vec<u8>) -> io::Result<Vec<u8>> {
    match decoded {
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(error),
        other => Ok(other.unwrap_or(plain)),
    }
}

fn read(decoder: impl Read) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    let read = decoder.take(MOST_BODY_BYTES + 1).read_to_end(&mut body)?;
    match read as u64 > MOST_BODY_BYTES {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "the body is too large")),
        false => Ok(body),
    }
}

/// A body in the coding of a `Content-Encoding` field, as near to `bytes` as the coding's levels allow. `None` if the field
/// names several codings, or an unknown one.
pub fn encoded(body: &[u8], field: &str, bytes: u64) -> Option<Vec<u8>> {
    let mut names = codings(field);
    let Some(coding) = names.next() else { return Some(body.to_vec()) };
    if names.next().is_some() {
        return None;
    }
    let is_slow = body.len() > SLOW_BYTES;
    let levels: &[u32] = match coding.as_str() {
        "gzip" | "x-gzip" | "deflate" => &[1, 6, 9],
        "br" if is_slow => &[1, 5],
        "br" => &[1, 5, 9, 11],
        "zstd" if is_slow => &[3, 9],
        "zstd" => &[3, 9, 19],
        _ => return None,
    };
    let off = |coded: &Vec<u8>| (coded.len() as u64).abs_diff(bytes);
    let mut best: Option<Vec<u8>> = None;
    // From fast and large to slow and small: once a result is small enough, no further one is nearer.
    for level in levels {
        let coded = at_level(body, &coding, *level).ok()?;
        let is_small = coded.len() as u64 <= bytes;
        if best.as_ref().is_none_or(|best| off(&coded) < off(best)) {
            best = Some(coded);
        }
        if is_small {
            break;
        }
    }
    best
}

fn at_level(body: &[u8], coding: &str, level: u32) -> io::Result<Vec<u8>> {
    let mut coded = Vec::new();
    match coding {
        "deflate" => {
            let mut coder = ZlibEncoder::new(&mut coded, Compression::new(level));
            coder.write_all(body)?;
            coder.finish()?;
        }
        "br" => {
            let mut coder =
                CompressorWriter::new(&mut coded, BUFFER_BYTES, level, BROTLI_WINDOW_BITS);
            coder.write_all(body)?;
            coder.flush()?;
            drop(coder);
        }
        "zstd" => return zstd::encode_all(body, level as i32),
        _ => {
            let mut coder = GzEncoder::new(&mut coded, Compression::new(level));
            coder.write_all(body)?;
            coder.finish()?;
        }
    }
    Ok(coded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_nearest_level_is_chosen() {
        let text: Vec<u8> =
            (0..20_000_u32).flat_map(|n| (n % 977).to_string().into_bytes()).collect();
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let (large, small) =
                (encoded(&text, coding, u64::MAX).unwrap(), encoded(&text, coding, 0).unwrap());
            assert!(small.len() < large.len(), "{coding}: {} {}", small.len(), large.len());
            for coded in [large, small] {
                assert_eq!(decoded(coded, coding).unwrap(), text, "{coding}");
            }
        }
    }

    #[test]
    fn unknown_codings_are_refused() {
        assert_eq!(encoded(b"x", "dcb", 1), None);
        assert_eq!(encoded(b"x", "gzip, br", 1), None);
        assert_eq!(encoded(b"x", "identity", 1).as_deref(), Some(&b"x"[..]));
        assert!(decoded(b"x".to_vec(), "dcb").is_err());
    }

    proptest! {
        #[test]
        fn coded_bodies_are_decoded(body in prop::collection::vec(any::<u8>(), 0..300), bytes in 0..400_u64) {
            for coding in ["gzip", "deflate", "br", "zstd", ""] {
                let coded = encoded(&body, coding, bytes).unwrap();
                prop_assert_eq!(&decoded(coded, coding).unwrap(), &body);
            }
        }
    }
}
