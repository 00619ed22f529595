//! A performance enhancing proxy for satellite links, in two halves (RFC 3135: distributed, at the transport and the application layer).
//!
//! The near end, [`Local`], is on the clients' side; the far end, [`Remote`], beyond the satellite. Between them is the [`leg`]:
//! TLS 1.3 with each end's key pinned at the other, and in it HTTP/2; over TCP or over QUIC.
//!
//! TCP connections are split: acknowledged at the near end, carried by the leg, opened again at the far end to the address that the client
//! requested. Plain GETs in clear text are trapped, and their pages fetched at the far end with the objects they embed ([`http`]).
//! Encrypted traffic passes unchanged. `docs/pep.md` describes what splitting breaks.

#![forbid(unsafe_code)]

pub mod admin;
pub mod config;
pub mod http;
pub mod leg;
pub mod local;
mod port;
pub mod remote;
mod split;

pub use admin::{Count, Counters};
pub use leg::{KeyError, LegAcceptor, LegConnector, PrivateKey, PublicKey};
pub use local::{ForwardTarget, Local};
pub use port::Ending;
pub use remote::{Reach, Remote};
pub use split::{StreamRequest, StreamRequestError};
