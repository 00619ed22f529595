//! TLS 1.2 and 1.3 between two ends that farlink owns, on rustls.
//!
//! What is here makes a handshake repeatable: the clock is the world's ([`PLAN_START`] plus its time), the identities are fixed
//! ([`Identity`]), tickets need neither clock nor chance, a client's sessions belong to
//! whoever made it, and randomness may be seeded ([`Randomness`]). With the system's randomness a run
//! is *trace-exact*: the size, direction and time of everything on the wire repeat. With seeded
//! randomness it is *byte-exact*.
//!
//! Flights that nobody here speaks: TLS 1.1 and older, False Start (so TLS 1.2 costs two round trips
//! and Chrome's one), early data, hybrid key exchange and browsers' padding (our ClientHello has
//! about 250 bytes, today's Chrome 1.8 KB), certificate compression, OCSP stapling.

mod client;
mod clock;
mod identity;
mod provider;
mod seeded;
mod server;
mod settings;
mod stream;
mod tickets;
mod trust;

pub use client::ClientSessions;
pub use clock::PLAN_START;
pub use identity::{Chain, Identity};
pub use provider::Randomness;
pub use server::Server;
pub(crate) use server::quic_config;
pub use settings::{Protocol, Security, Settings, Version};
pub use stream::{Meter, Stream};
