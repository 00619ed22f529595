//! Quantities: virtual time, rates, and the strings people write them in.
//!
//! Sizes are plain `u64`s whose names end in `_bytes`; spans are [`std::time::Duration`]; an instant
//! of either world is a [`Time`]. What a person types ("10 mbit", "600ms", "1%") is read by [`parse`].

#![forbid(unsafe_code)]

pub mod pairs;
pub mod parse;
mod rate;
mod time;

pub use rate::BitsPerSec;
pub use time::Time;
