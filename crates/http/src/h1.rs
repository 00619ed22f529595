//! HTTP/1.0 and HTTP/1.1 (RFC 9112): a sans-IO [`codec`], a [`client`], a [`pipeline`] and a [`server`].
//!
//! Left out: protocol upgrades, transfer codings other than `chunked`, and trailers, which are checked and discarded
//! (RFC 9110 section 6.5.1 allows it).

mod buffer;
pub mod client;
pub mod codec;
mod exchange;
pub mod pipeline;
pub mod server;

pub(crate) use buffer::Buffer;
