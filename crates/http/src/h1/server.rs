//! An HTTP/1.1 server's connections.
//!
//! [`serve`] answers the requests of one connection in their order. On the path of a ready answer it allocates, spawns
//! and boxes nothing and reads no clock: requests are decoded in place, the prepared heads and bodies of all requests
//! from one read leave in one write, and timeouts cost one store. A connection that waits for a request holds no buffer.
//!
//! A handler that answers later may read the request's body meanwhile, with backpressure, and stream the response's
//! body. A granted `CONNECT` turns the connection into the tunnel; a refused one is its last request.
//!
//! Left out: a `Date` field (a handler whose world has a date puts it among its fields), reading the next requests
//! while a delayed answer is awaited, trailers, and protocol upgrades: an `Upgrade` field is ignored (RFC 9110 section
//! 7.8 lets a server), HTTP/2's among them, which RFC 9113 has withdrawn.

mod connection;
mod core;
mod exchange;
mod late;
mod outbox;
mod streaming;
mod tunnel;

pub use self::core::{Core, Settings};
pub use connection::{Ended, serve};
