//! HTTP/3 (RFC 9114) over QUIC (RFC 9000): the crate `h3` on quinn, both unmodified, over a world's datagrams and clock.
//!
//! What is ours lies beneath and between: [`runtime`] and [`socket`] give quinn the world's time and packets, [`quic`] gives h3 quinn's
//! streams and counts the bytes of their frames, [`congestion`] lets QUIC run the very congestion control that our TCP runs. Which of
//! two arms an end is - quinn as it ships, or set as our TCP is set - and every limit is said in [`settings`].
//!
//! Several workers may share a server's port: [`steering`] brings packets to the one that they are for. [`bare`] is the same QUIC for who carries something
//! else by it.
//!
//! In the simulated world all that quinn draws at random comes from the world's streams, so that a run repeats to the packet.
//!
//! A client goes straight to HTTP/3: that the server speaks it is prior knowledge here; how a browser finds out is its own affair. A client can change its
//! address on the way ([`settings::Client::migrate_at`]). What is left out: address-validation tokens (quinn's default build sends two), greasing by h3 (its values are drawn
//! where no seed reaches), dynamic QPACK (h3 compresses by the static table alone, so heads are larger than Chrome's), trailers
//! (discarded), priorities on the wire.

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
