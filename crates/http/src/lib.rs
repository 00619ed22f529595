//! One client and one server API for all HTTP versions.
//!
//! The stacks are the real ones - HTTP/1.1 by our own codec, HTTP/2 by the `h2` crate, SPDY by our own, HTTP/3 by `h3`
//! on quinn, TLS by rustls - over the streams and datagrams of either world, and through proxies by `CONNECT` or SOCKS.
//! This crate knows nothing of pages or experiments.

#![forbid(unsafe_code)]

mod acceptor;
pub mod alt_svc;
pub mod client;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod message;
#[cfg(test)]
mod partial_writer;
mod push;
pub mod schedule;
pub mod server;
pub mod socks;
pub mod spdy;
pub mod timer_wheel;
mod transport;

pub use message::{Precedence, Priority, Progress, RequestError};
pub(crate) use push::Promises;
pub use push::PushFilter;
pub use schedule::Scheduler;
pub use server::{
    Answer, Body, BodyError, Duplex, Fields, Handler, Head, Push, Reply, RequestBody, RequestHead,
    Response,
};
pub use transport::Transport;
