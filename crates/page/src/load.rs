//! Reader of files, which inflates gzip and refuses bombs.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::Error;

/// Maximum size read from one file, inflated or not. The largest HARs of single pages, with all bodies inside, stay
/// under 200 MB.
const LIMIT_BYTES: u64 = 512 << 20;

/// RFC 1952 section 2.3.1: the first two bytes of a gzip member.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Name of the file in messages and tables.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The bytes of `path`, inflated if they are gzip by their first bytes (not by the name).
pub(crate) fn load(path: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut stored = Vec::new();
    let file = File::open(path).map_err(io)?;
    let read = BufReader::new(file).take(LIMIT_BYTES + 1).read_to_end(&mut stored).map_err(io)?;
    if read as u64 > LIMIT_BYTES {
        return Err(Error::TooLarge { name: name.to_owned(), limit_bytes: LIMIT_BYTES });
    }
    inflate(name, stored, LIMIT_BYTES)
}

/// `stored` as it is, or inflated if it is gzip.
fn inflate(name: &str, stored: Vec<u8>, limit_bytes: u64) -> Result<Vec<u8>, Error> {
    if !stored.starts_with(&GZIP_MAGIC) {
        return Ok(stored);
    }
    let mut text = Vec::new();
    let read = MultiGzDecoder::new(stored.as_slice())
        .take(limit_bytes + 1)
        .read_to_end(&mut text)
        .map_err(|e| Error::Gzip { name: name.to_owned(), detail: e.to_string() })?;
    if read as u64 > limit_bytes {
        return Err(Error::TooLarge { name: name.to_owned(), limit_bytes });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn inflates_what_is_gzip_and_leaves_the_rest() {
        assert_eq!(inflate("a", gzip(b"{}"), 100).unwrap(), b"{}");
        assert_eq!(inflate("a", b"{}".to_vec(), 100).unwrap(), b"{}");
    }

    #[test]
    fn a_truncated_gzip_is_named() {
        let mut whole = gzip(&[b'x'; 5000]);
        whole.truncate(whole.len() - 6);
        let message = inflate("a.har.gz", whole, 10_000).unwrap_err().to_string();
        assert!(message.starts_with("a.har.gz: not a whole gzip file"), "{message}");
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(bomb.len() < 2000);
        assert!(matches!(inflate("a", bomb, 1 << 16), Err(Error::TooLarge { .. })));
    }
}
