//! An HTTP/1.1 server's connections.
//!
//! [`serve`] answers the requests of one connection in their order. On the path of a ready answer it
//! allocates, spawns and boxes nothing and reads no clock: requests are decoded where they were read,
//! the prepared heads and bodies of all requests that were read together leave in one write, and
//! timeouts cost one store. A connection that waits for a request holds no buffer.
//!
//! What it leaves out: a `Date` field (a handler whose world has a date puts it among its fields) and
//! reading the next requests while a late answer is awaited.

mod connection;
mod core;
mod outbox;

pub use self::core::{Core, Settings};
pub use connection::{Ended, serve};
