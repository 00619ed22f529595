//! Recordings by their first bytes: a WACZ file; a WARC file, compressed or not; Web Page Replay's; or a HAR file.

use std::borrow::Cow;
use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::bufread::{GzDecoder, MultiGzDecoder};
use thiserror::Error;

use crate::RecordedLoad;
use crate::foreign::{ForeignError, mahimahi, web_page_replay};
use crate::har::{self, HarError};
use crate::wacz::{self, ArchivedLoad, WaczError};
use crate::warc::WarcError;

/// First bytes of a ZIP file.
const ZIP_MAGIC: &[u8] = b"PK";

/// First bytes of a compressed file (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The largest HAR file once it is decompressed.
const MOST_BYTES: u64 = 1 << 30;

/// First bytes of a WARC file.
const WARC_MAGIC: &[u8] = b"WARC/";

/// A file that is no recording, or is damaged from its beginning.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A WACZ file.
    #[error(transparent)]
    Wacz(#[from] WaczError),
    /// A WARC file.
    #[error(transparent)]
    Warc(#[from] WarcError),
    /// A HAR file.
    #[error("neither a WACZ nor a WARC nor a HAR file: {0}")]
    Har(#[from] HarError),
    /// Another replayer's recording.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// True if a file's bytes are those of an archive.
pub fn is_archive(file: &[u8]) -> bool {
    let begins_so = || {
        let mut start = [0; WARC_MAGIC.len()];
        GzDecoder::new(file).read_exact(&mut start).is_ok() && start == WARC_MAGIC
    };
    file.starts_with(ZIP_MAGIC)
        || file.starts_with(WARC_MAGIC)
        || begins_so()
        || web_page_replay::is_archive(file)
}

/// Reads the load in an archive.
///
/// # Errors
/// If it is none. Damage after some records is not an error: they are the load, with [`ArchivedLoad::damage`].
pub fn parse(file: &[u8]) -> Result<ArchivedLoad, ArchiveError> {
    if web_page_replay::is_archive(file) {
        return Ok(foreign("Web Page Replay", web_page_replay::read(file)?));
    }
    Ok(match file.starts_with(ZIP_MAGIC) {
        true => wacz::read(Cursor::new(file))?,
        false => wacz::read_warc(file)?,
    })
}

/// Reads the load in an archive, or that of the first page in a HAR file.
///
/// # Errors
/// If it is none of them.
pub fn read(file: &[u8]) -> Result<ArchivedLoad, ArchiveError> {
    match is_archive(file) {
        true => parse(file),
        false => Ok(foreign("HAR", har::read(&uncompressed(file)?)?)),
    }
}

/// A HAR file as it is, or decompressed.
fn uncompressed(file: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    if !file.starts_with(&GZIP_MAGIC) {
        return Ok(Cow::Borrowed(file));
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(file).take(MOST_BYTES).read_to_end(&mut text)?;
    Ok(Cow::Owned(text))
}

/// Reads the recording at a path: a file as [`read`] does, or Mahimahi's folder.
///
/// # Errors
/// If it cannot be read, or is none.
pub fn open(path: &Path) -> Result<ArchivedLoad, ArchiveError> {
    match path.is_dir() {
        true => Ok(foreign("Mahimahi", mahimahi::read(path)?)),
        false => read(&std::fs::read(path)?),
    }
}

fn foreign(software: &str, load: RecordedLoad) -> ArchivedLoad {
    ArchivedLoad { load, software: software.to_owned(), skipped: Vec::new(), damage: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_no_archives() {
        assert!(!is_archive(b"{}") && !is_archive(b"") && !is_archive(&[0x1f, 0x8b, 8]));
        assert!(is_archive(b"PK\x03\x04") && is_archive(b"WARC/1.0\r\n"));
    }
}
