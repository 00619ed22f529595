//! Recordings by their first bytes: a WACZ file; a WARC file, compressed or not; Web Page Replay's; or a HAR file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;

use flate2::bufread::{GzDecoder, MultiGzDecoder};
use thiserror::Error;

use crate::foreign::{ForeignError, mahimahi, web_page_replay};
use crate::har::{self, HarError};
use crate::wacz::{self, WaczError};
use crate::warc::WarcError;
use crate::{Archive, RecordedLoad};

/// First bytes of a ZIP file.
const ZIP_MAGIC: &[u8] = b"PK";

/// First bytes of a compressed file (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The largest HAR file once it is decompressed.
const MOST_BYTES: u64 = 1 << 30;

/// Bytes of a file that tell its kind.
const START_BYTES: u64 = 4 << 10;

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
    /// A file without a byte.
    #[error("the file is empty")]
    Empty,
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
    file.starts_with(ZIP_MAGIC)
        || file.starts_with(WARC_MAGIC)
        || is_compressed_warc(file)
        || web_page_replay::is_archive(file)
}

/// True if these first bytes of a file are those of a WARC file's first member.
fn is_compressed_warc(file: &[u8]) -> bool {
    let mut start = [0; WARC_MAGIC.len()];
    GzDecoder::new(file).read_exact(&mut start).is_ok() && start == WARC_MAGIC
}

/// Reads the loads in an archive.
///
/// # Errors
/// If it is none. Damage after some records is not an error: they are the loads, with [`Archive::damage`].
pub fn parse(file: &[u8]) -> Result<Archive, ArchiveError> {
    if web_page_replay::is_archive(file) {
        return Ok(foreign("Web Page Replay", vec![web_page_replay::read(file)?]));
    }
    Ok(match file.starts_with(ZIP_MAGIC) {
        true => wacz::read(Cursor::new(file))?,
        false => wacz::read_warc(file)?,
    })
}

/// Reads the loads in an archive or a HAR file.
///
/// # Errors
/// If it is none of them.
pub fn read(file: &[u8]) -> Result<Archive, ArchiveError> {
    if file.is_empty() {
        return Err(ArchiveError::Empty);
    }
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
pub fn open(path: &Path) -> Result<Archive, ArchiveError> {
    if path.is_dir() {
        return Ok(foreign("Mahimahi", vec![mahimahi::read(path)?]));
    }
    // Large ones are archives: their records are read one by one.
    let mut file = File::open(path)?;
    let mut start = Vec::new();
    file.by_ref().take(START_BYTES).read_to_end(&mut start)?;
    file.rewind()?;
    let is_warc = start.starts_with(WARC_MAGIC) || is_compressed_warc(&start);
    if start.starts_with(ZIP_MAGIC) {
        return Ok(wacz::read(BufReader::new(file))?);
    }
    match is_warc {
        true => Ok(wacz::read_warc(file)?),
        false => read(&std::fs::read(path)?),
    }
}

fn foreign(software: &str, loads: Vec<RecordedLoad>) -> Archive {
    Archive { loads, software: software.to_owned(), skipped: Vec::new(), damage: None }
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
