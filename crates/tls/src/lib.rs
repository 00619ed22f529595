//! TLS 1.2 and 1.3 between two ends that farlink owns, on rustls.
//!
//! This crate makes handshakes repeatable: the clock is the world's ([`PLAN_START`] plus its time), the identities are
//! fixed ([`Identity`]), tickets need neither clock nor randomness, a client's sessions belong to its creator, and
//! randomness may be seeded ([`Randomness`]). With the system's randomness a run is *trace-exact*: the size, direction
//! and time of everything on the wire repeat. With seeded randomness it is *byte-exact*.
//!
//! [`model`] has the flights of eras that rustls does not speak. Not supported: hybrid key exchange and browsers'
//! padding (our ClientHello has about 250 bytes, today's Chrome 1.8 KB), certificate compression.

mod chain;
mod client;
mod clock;
mod early;
mod ecdsa;
mod identity;
mod issuing;
pub mod model;
mod name;
mod new_authority;
mod provider;
mod public;
mod records;
mod sealing;
mod seeded;
mod server;
mod settings;
mod stream;
mod tickets;
mod trust;

pub use chain::{LEAST_CHAIN_BYTES, MOST_CHAIN_BYTES};
pub use client::ClientSessions;
pub use clock::PLAN_START;
pub use identity::{Chain, Identity};
pub use issuing::{Issuer, IssuerError};
pub use name::server_name;
pub use name::unbracketed;
pub use new_authority::NewAuthority;
pub use provider::Randomness;
pub use public::operators_quic_config;
pub use public::{Authorities, CredentialError, PublicClient};
pub use records::Records;
pub use server::Server;
pub use server::quic_config;
pub use settings::{Protocol, Resumption, Security, Settings, Version};
pub use stream::{Meter, Stream};
