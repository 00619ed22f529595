//! Quantities: virtual time, rates, and their textual forms.
//!
//! Sizes are plain `u64`s whose names end in `_bytes`; spans are [`std::time::Duration`]; an instant of either world
//! is a [`Time`]. [`parse`] reads quantities as typed ("10 mbit", "600ms", "1%").

#![forbid(unsafe_code)]

pub mod pairs;
pub mod parse;
mod rate;
mod time;

pub use rate::BitsPerSec;
pub use time::Time;
