//! TLS 1.2 and 1.3 between two ends that farlink owns, on rustls.
//!
//! This crate makes handshakes repeatable: the clock is the world's ([`PLAN_START`] plus its time), the identities are
//! fixed ([`Identity`]), tickets need neither clock nor randomness, a client's sessions belong to its creator, and
//! randomness may be seeded ([`Randomness`]). With the system's randomness a run is *trace-exact*: the size, direction
//! and time of everything on the wire repeat. With seeded randomness it is *byte-exact*.
//!
//! [`model`] has the flights of eras that rustls does not speak. Not supported: browsers' padding and GREASE (with
//! [`Group::X25519MlKem768`] our ClientHello has about 1.5 KB, today's Chrome 1.8 KB), certificate compression.

mod client;
mod determinism;
mod early;
mod host_certificates;
mod identity;
mod issuer;
pub mod model;
mod post_quantum;
mod public;
mod records;
mod server;
mod settings;
mod stream;

pub use crate::determinism::PLAN_START;
pub use crate::determinism::Randomness;
pub use crate::issuer::{Issuer, IssuerError};
pub use client::ClientSessions;
pub use client::server_name;
pub use client::unbracketed;
pub use host_certificates::HostCertificates;
pub use identity::{ChainKind, Identity};
pub use identity::{LEAST_CHAIN_BYTES, MOST_CHAIN_BYTES};
pub use issuer::NewAuthority;
pub use public::operators_quic_config;
pub use public::{Authorities, CredentialError, Credentials, PublicClient, certificate_names};
pub use records::Records;
pub use server::Server;
pub use server::quic_config;
pub use settings::{Group, Protocol, Resumption, Security, Settings, Version};
pub use stream::{Meter, Stream};
