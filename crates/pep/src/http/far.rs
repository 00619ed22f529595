//! The far end's part: fetching, scanning, pushing.

mod fetcher;
mod jar;
mod look;
mod page;
mod sending;
mod settings;
mod turns;
mod upstream;

pub(crate) use self::fetcher::Fetcher;
pub use self::settings::{Compression, Settings};
