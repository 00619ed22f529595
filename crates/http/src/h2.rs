//! HTTP/2 (RFC 9113) on the `h2` crate, which does framing, compression and flow control.
//!
//! Our code surrounds it. Above: which request may open a stream ([`client`]) and which response may send next
//! ([`server`], by a [`schedule`](crate::schedule)), with little queued below. Beneath: an [`observer`] between TLS and
//! h2 that counts each frame's bytes, and the signals that h2 does not support: PRIORITY, PRIORITY_UPDATE and the
//! priority in HEADERS, written by the client and read by the server. Every window, table and limit is set by
//! [`settings`]. Between the observer and h2 lies a `sieve`, which keeps malformed fields from h2.
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

pub use self::metering::FlowMeter;
pub use client::priority_tree::Group;
pub use client::priority_tree::Shape;
pub use client::{Handle, Incoming, connect, connect_wanting};
pub use server::{serve, serve_in};
