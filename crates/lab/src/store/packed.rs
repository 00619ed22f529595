//! Rows of a visit as one blob: one byte of version, then a raw DEFLATE stream of a JSON object that has one array a column.
//!
//! Columns compress to about a third of what rows would take, because like values lie together.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;

/// Nothing that a visit leaves behind inflates to more; a larger blob is damaged.
const LARGEST_BYTES: u64 = 256 << 20;

/// The blob of these columns.
pub fn pack(version: u8, columns: &impl Serialize) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(vec![version], Compression::default());
    let json = serde_json::to_vec(columns).expect("numbers and strings serialise");
    encoder.write_all(&json).expect("a vector takes all bytes");
    encoder.finish().expect("a vector takes all bytes")
}

/// The columns of a blob of that version; `what` they are, for messages.
pub fn unpack<T: DeserializeOwned>(blob: &[u8], version: u8, what: &str) -> Result<T, StoreError> {
    let (found, deflated) =
        blob.split_first().ok_or_else(|| damaged(what, "no bytes".to_owned()))?;
    if *found != version {
        let why = format!("version {found}, and this farlink knows {version}");
        return Err(damaged(what, why));
    }
    let mut json = Vec::new();
    DeflateDecoder::new(deflated)
        .take(LARGEST_BYTES)
        .read_to_end(&mut json)
        .map_err(|error| damaged(what, error.to_string()))?;
    serde_json::from_slice(&json).map_err(|error| damaged(what, error.to_string()))
}

/// A blob that nobody packed.
pub fn damaged(what: &str, why: String) -> StoreError {
    StoreError::Damaged { what: format!("{what}: {why}") }
}
