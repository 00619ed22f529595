//! Rows of a visit as one blob: one byte of version, then a raw DEFLATE stream of a JSON object with one array per
//! column.
//!
//! Columns compress to about a third of the size of rows, because similar values are adjacent.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;

/// Maximum inflated size: no visit's data are larger, so a larger blob is damaged.
const LARGEST_BYTES: u64 = 256 << 20;

/// The blob of these columns.
pub fn pack(version: u8, columns: &impl Serialize) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(vec![version], Compression::default());
    let json = serde_json::to_vec(columns).expect("numbers and strings serialise");
    encoder.write_all(&json).expect("a vector takes all bytes");
    encoder.finish().expect("a vector takes all bytes")
}

/// The columns of a blob of this version; `what` names them in messages.
pub fn unpack<T: DeserializeOwned>(blob: &[u8], version: u8, what: &str) -> Result<T, StoreError> {
    let (found, deflated) =
        blob.split_first().ok_or_else(|| damaged(what, "no bytes".to_owned()))?;
    if *found != version {
        return Err(damaged(what, format!("version {found}, and this farlink knows {version}")));
    }
    let mut json = Vec::new();
    DeflateDecoder::new(deflated)
        .take(LARGEST_BYTES)
        .read_to_end(&mut json)
        .map_err(|error| damaged(what, error.to_string()))?;
    serde_json::from_slice(&json).map_err(|error| damaged(what, error.to_string()))
}

/// The error of a blob that was not written by this code.
pub fn damaged(what: &str, why: String) -> StoreError {
    StoreError::Damaged { what: format!("{what}: {why}") }
}

/// A number with differences, modulo its size.
pub trait Stepped: Copy + Default {
    /// Difference from `last` to this.
    fn since(self, last: Self) -> Self;
    /// This number plus `step`.
    fn after(self, step: Self) -> Self;
}

macro_rules! stepped {
    ($($number:ty)+) => {$(
        impl Stepped for $number {
            fn since(self, last: $number) -> $number {
                self.wrapping_sub(last)
            }
            fn after(self, step: $number) -> $number {
                self.wrapping_add(step)
            }
        }
    )+};
}

stepped!(u32 u64);

/// Replaces numbers by differences from the one before, which are small and similar if numbers rise.
pub fn to_steps<'a, T: Stepped + 'a>(numbers: impl IntoIterator<Item = &'a mut T>) {
    let mut last = T::default();
    for number in numbers {
        let step = number.since(last);
        last = std::mem::replace(number, step);
    }
}

/// Restores the numbers.
pub fn from_steps<'a, T: Stepped + 'a>(steps: impl IntoIterator<Item = &'a mut T>) {
    let mut last = T::default();
    for step in steps {
        last = last.after(*step);
        *step = last;
    }
}
