//! SPDY/3.1, 3 and 2 on the `spdy` crate, which frames, compresses, keeps the windows and schedules.
//!
//! What is here joins a session to a stream of the world: one future a connection reads, asks and writes, little at a time, so that what
//! waits can still be reordered. Every window, limit and policy is the session's [`Config`].
//!
//! Over TLS a version is agreed on by ALPN, in clear text by the first bytes. 3 and 3.1 write the same number there: a
//! server must be told which of them it means.
//!
//! What it leaves out: trailers and other HEADERS (discarded).

pub mod client;
mod fields;
pub mod server;
mod wire;

pub use ::spdy::{Compression, Config, Limits, Policy, PushedHead, Recall, Version};

pub use self::client::{Handle, connect, connect_wanting};
pub use self::server::{serve, serve_in};
