//! HTTP over loopback and in simulation, against peers and against abuse. One program, since linking one for each
//! file takes minutes.

#[path = "../checks/mod.rs"]
mod checks;
#[path = "../common/mod.rs"]
mod common;
#[path = "../checks/pipelined.rs"]
mod pipelined_checks;
#[path = "../checks/socks.rs"]
mod socks_checks;

mod corpus;
mod dns;
mod exchange;
mod h1_abuse;
mod h1_interop;
mod h1_loopback;
mod h1_pipeline;
mod h1_properties;
mod h1_simulated;
mod h1_streams;
mod h2_abuse;
mod h2_interop;
mod h2_loopback;
mod h2_malformed;
mod h3;
mod h3_workers;
mod held;
mod order;
mod push;
mod simulated;
mod socks;
mod spdy;
mod spdy_interop;
mod streams;
mod tls_eras;
