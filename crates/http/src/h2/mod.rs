//! HTTP/2 (RFC 9113) on the `h2` crate, which frames, compresses and keeps the windows.
//!
//! What is ours lies around it. Above: which request may open a stream ([`client`]) and which response
//! may send next ([`server`], by a [`schedule`]), with little queued below. Beneath: an [`observer`]
//! between TLS and h2 that counts each frame's bytes. Every window, table and limit is set by [`settings`].
//!
//! What it leaves out: server push, extended CONNECT, trailers (discarded), and priorities on the
//! wire.
//!
//! One thing in h2 reads the machine's clock: it forgets streams that this end reset after a
//! while. Both ends are told to remember them for ever, so that the reading decides nothing.

mod backlog;
pub mod client;
pub(crate) mod flow;
pub mod frame;
pub(crate) mod gate;
mod gather;
pub mod observer;
pub mod schedule;
pub mod server;
pub mod settings;
mod singly;

pub use client::{Handle, connect};
pub use flow::FlowMeter;
pub use server::serve;
