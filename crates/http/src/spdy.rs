//! SPDY/3.1, 3 and 2 on the `spdy` crate, which does framing, compression, flow control and scheduling.
//!
//! This module joins a session to a stream of the world: one future per connection reads, requests and writes, in small
//! steps, so that waiting data can still be reordered. Every window, limit and policy is the session's [`Config`].
//!
//! Over TLS a version is negotiated by ALPN, in clear text it is detected by the first bytes. 3 and 3.1 write the same
//! number there: a server must be told which of them it means.
//!
//! Left out: trailers and other HEADERS (discarded).

pub mod client;
mod fields;
pub mod server;
mod wire;

pub use ::spdy::{Compression, Config, Limits, Policy, PushedHead, Recall, Version};

pub use self::client::{Handle, connect, connect_wanting};
pub use self::server::{serve, serve_in};
