//! HTTP/2 (RFC 9113) on the `h2` crate, which frames, compresses and keeps the windows.
//!
//! What is ours lies around it. Above: which request may open a stream ([`client`]) and which response
//! may send next ([`server`], by a [`schedule`](crate::schedule)), with little queued below. Beneath: an [`observer`]
//! between TLS and h2 that counts each frame's bytes, and what h2 has no place for: PRIORITY, PRIORITY_UPDATE and
//! the priority in HEADERS, written by the client and read by the server. Every window, table and limit is set by [`settings`].
//! Between the observer and h2 lies a `sieve`, which keeps malformed fields from h2.
//!
//! What it leaves out: extended CONNECT and trailers (discarded).
//!
//! One thing in h2 reads the machine's clock: it forgets streams that this end reset after a
//! while. Both ends are told to remember them for ever, so that the reading decides nothing.

mod backlog;
pub mod client;
mod flood;
pub(crate) mod flow;
pub mod frame;
pub(crate) mod gate;
mod gather;
pub mod observer;
pub mod server;
pub mod settings;
mod sieve;
mod signals;
mod singly;

pub use client::dependencies::Shape;
pub use client::groups::Group;
pub use client::{Handle, Incoming, connect, connect_wanting};
pub use flow::FlowMeter;
pub use server::{serve, serve_in};
