//! HTTP/3 (RFC 9114): the crate `h3`, unmodified, over the QUIC of the crate `quic`.
//!
//! [`adapter`] gives h3 quinn's streams and counts the bytes of their frames with [`frames`], which also watches what h3
//! lets pass: frames that it would buffer whole, pseudo-header fields that repeat ([`pseudo`]). [`settings`] holds the
//! limits of HTTP/3; windows and congestion control are `quic`'s.
//!
//! A client uses HTTP/3 by prior knowledge; a browser's discovery of it is outside this crate. A client can change its
//! address during a connection ([`settings::Client::migrate_at`]). Left out: greasing by h3 (its values are drawn from a
//! source without a seed), dynamic QPACK (h3 uses only the static table, so heads are larger than Chrome's), trailers
//! (discarded), priorities on the wire.

mod adapter;
mod client;
mod frames;
mod pseudo;
pub mod server;
pub mod settings;

pub use client::Handle;
pub(crate) use client::connect;
pub use quic::Steering;
pub use server::{Acceptor, H3ServerError, Incoming, Listener};
