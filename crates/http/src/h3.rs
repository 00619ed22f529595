//! HTTP/3 (RFC 9114) over QUIC (RFC 9000): the crate `h3` on quinn, both unmodified, over a world's datagrams and clock.
//!
//! Our code lies beneath and between: [`runtime`] and [`socket`] give quinn the world's time and packets, [`quic`]
//! gives h3 quinn's streams and counts the bytes of their frames, [`congestion`] lets QUIC use the same congestion
//! control as our TCP. [`settings`] holds every limit and the two arms: quinn as it ships, or set like our TCP.
//!
//! Several workers may share a server's port: [`steering`] routes packets to the right one. [`bare`] is the same QUIC
//! for other protocols.
//!
//! In the simulated world all of quinn's random draws come from the world's streams, so that a run repeats to the packet.
//!
//! A client uses HTTP/3 by prior knowledge; a browser's discovery of it is outside this crate. A client can change its
//! address during a connection ([`settings::Client::migrate_at`]). Left out: address-validation tokens (quinn's default
//! build sends two), greasing by h3 (its values are drawn from a source without a seed), dynamic QPACK (h3 uses only
//! the static table, so heads are larger than Chrome's), trailers (discarded), priorities on the wire.

mod account;
pub mod bare;
mod client;
mod congestion;
mod endpoint;
mod frames;
mod migration;
mod pseudo;
mod qlog;
mod quic;
mod runtime;
pub mod server;
pub mod settings;
mod socket;
mod steering;

pub use client::Handle;
pub(crate) use client::connect;
pub use server::{Acceptor, Broken, Incoming, Listener};
pub use steering::Steering;
