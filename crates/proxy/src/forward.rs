//! The proxy itself: takes requests, forwards them to origins, and relays the answers.

mod cached;
mod compressed;
mod dispatch;
mod entrance;
mod failover;
mod held;
mod intercept;
mod job;
mod outgoing;
mod pass;
mod replies;
mod route;
mod transit;

pub use entrance::{Proxy, ProxyHandler, ProxyParts};
pub use replies::RefusedRequest;
pub use route::{RequestRoute, route};
