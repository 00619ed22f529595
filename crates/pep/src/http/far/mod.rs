//! The far end's part: fetching, looking through, sending unasked.

mod jar;
mod page;
mod settings;
mod turns;
mod upstream;

pub(crate) use self::page::Fetcher;
pub use self::settings::{Compression, Settings};
