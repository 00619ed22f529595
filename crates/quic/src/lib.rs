//! QUIC (RFC 9000) on quinn, unmodified, over a world's datagrams and clock.
//!
//! [`ClientEndpoint`] and [`ServerEndpoint`] give quinn the world's time, packets and randomness; [`Transport`] holds a
//! connection's windows and its congestion control, quinn's own or our TCP's; [`Account`] reports a connection to its
//! world in TCP's terms. HTTP/3 lies above, in the crate `http`. [`bare`] carries other protocols' streams.
//!
//! Several workers may share a server's port: [`Steering`] routes packets to the right one.
//!
//! In the simulated world all of quinn's random draws come from the world's streams, so that a run repeats to the packet.
//! Left out: address-validation tokens (quinn's default build sends two).

#![forbid(unsafe_code)]

mod account;
pub mod bare;
mod controller;
mod endpoint;
mod fec;
mod runtime;
mod steering;
mod transport;

pub use account::{Account, ByteCounts, Recorder};
pub use endpoint::{
    ClientEndpoint, ConnectionRequest, Handshake, HandshakeSlot, ServerEndpoint, local_addr,
};
pub use steering::Steering;
pub use transport::{Congestion, QuinnController, TcpController, Transport};
