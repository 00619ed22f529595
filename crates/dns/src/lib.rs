//! DNS (RFC 1035) over the datagrams of either world: a client's stub resolver, and the recursive resolver that it queries.
//!
//! Where names are resolved at all, each host costs a query for its IPv4 address and, as in browsers, one for its IPv6
//! address, in separate packets that the network can delay and lose. The recursive resolver is a model: it knows the
//! page's hosts, and takes a configured time for those that its cache does not hold instead of querying other servers.
//! It also answers queries for HTTPS records (RFC 9460). Left out: EDNS, TCP for answers that do not fit, DNS over
//! HTTPS or TLS, IPv6 addresses (the answer is that there are none).

mod client;
mod message;
mod server;

pub use client::Retry;
pub use client::{HostLookup, LookupError, Resolver, ResolverSettings};
pub use message::HttpsRecord;
pub use message::QueryTypes;
pub use server::{Listening, RecursiveResolver, Zone};

/// The port of DNS servers.
pub const PORT: u16 = 53;
