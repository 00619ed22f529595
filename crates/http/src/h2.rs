//! HTTP/2 (RFC 9113) on the `h2` crate, which does framing, compression and flow control.
//!
//! Our code surrounds it. Above: which request may open a stream ([`client`]) and which response may send next
//! ([`server`], by a [`schedule`](crate::schedule)), with little queued below. Beneath, between h2 and TLS: the layers of
//! [`wire`], which do for h2 what it does not do itself. Every window, table and limit is set by [`settings`];
//! [`metering`] tells the data that waits, and whether flow control is the reason.
//!
//! Left out: extended CONNECT and trailers (discarded).
//!
//! h2 reads the machine's clock in one place: it forgets streams that this end reset after a while. Both ends are told
//! to remember them for ever, so that the clock has no effect.

pub mod client;
pub mod frame;
pub(crate) mod metering;
pub mod server;
pub mod settings;
mod wire;

pub(crate) use client::connect_wanting;
pub use client::priority_tree::{DependencyShape, Group};
pub use client::{Handle, Incoming, connect};
pub use metering::FlowMeter;
pub use server::{serve, serve_in};
