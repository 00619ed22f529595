//! Recordings by their first bytes: a WACZ file, a WARC file, compressed or not, or a HAR file.

use std::io::{Cursor, Read};

use flate2::bufread::GzDecoder;
use thiserror::Error;

use crate::har::{self, HarError};
use crate::wacz::{self, ArchivedLoad, WaczError};
use crate::warc::WarcError;

/// First bytes of a ZIP file.
const ZIP_MAGIC: &[u8] = b"PK";

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
}

/// True if a file's bytes are those of an archive.
pub fn is_archive(file: &[u8]) -> bool {
    let begins_so = || {
        let mut start = [0; WARC_MAGIC.len()];
        GzDecoder::new(file).read_exact(&mut start).is_ok() && start == WARC_MAGIC
    };
    file.starts_with(ZIP_MAGIC) || file.starts_with(WARC_MAGIC) || begins_so()
}

/// Reads the load in an archive.
///
/// # Errors
/// If it is none. Damage after some records is not an error: they are the load, with [`ArchivedLoad::damage`].
pub fn parse(file: &[u8]) -> Result<ArchivedLoad, ArchiveError> {
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
    if is_archive(file) {
        return parse(file);
    }
    let load = har::read(file)?;
    Ok(ArchivedLoad { load, software: "HAR".to_owned(), skipped: Vec::new(), damage: None })
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
