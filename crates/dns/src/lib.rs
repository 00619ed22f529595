//! DNS (RFC 1035) over the datagrams of whichever world it runs in: the stub resolver of a client, and the recursive resolver that it asks.
//!
//! Where names are resolved at all, each host costs a question for its IPv4 address and, as browsers ask, one for its IPv6 address, in packets of
//! their own that the network can delay and lose. The recursive resolver is a model of one: it knows the page's hosts, and takes a configured
//! time for those that its cache does not hold instead of asking anybody. Beside the addresses it can be asked how a host is spoken to (HTTPS records,
//! RFC 9460). Left out: EDNS, TCP for answers that do not fit, DNS over HTTPS or TLS, IPv6 addresses (the answer is that there are none).

mod client;
mod message;
mod retry;
mod server;
mod service;

pub use client::{Host, LookupError, Resolver, Settings};
pub use message::Questions;
pub use retry::Retry;
pub use server::{Recursive, Zone};
pub use service::Service;

/// Where resolvers listen.
pub const PORT: u16 = 53;
