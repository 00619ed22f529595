//! `farlink proxy`, from outside: over its own sockets, by raw requests, curl and nghttp.

#![expect(
    clippy::disallowed_methods,
    reason = "a real proxy between other processes takes the machine's time"
)]

mod abuse;
mod activated;
mod caching;
#[path = "../common/mod.rs"]
mod common;
mod configuration;
mod crowd;
mod disk;
mod drain;
mod forwarding;
mod http3;
mod intercepting;
mod origin;
mod others;
mod packaged;
mod recording;
mod refusing;
mod restart;
mod running;
mod socks;
mod unfiltered;
mod working;
