//! The proxy itself: takes requests, asks origins, forwards their answers.

mod body;
mod cached;
mod entrance;
mod failover;
mod guard;
mod inside;
mod interims;
mod job;
mod pass;
mod reception;
mod refusal;
mod replies;
mod route;

pub use entrance::{Entrance, Proxy, ProxyParts};
pub use refusal::Refused;
pub use route::{Route, route};
