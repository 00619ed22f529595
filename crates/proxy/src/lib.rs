//! Servers: the origin, which answers with a page's objects, and the proxy, which stands between it and its clients.
//!
//! Both are ordinary async code over [`world`]: the simulated code is the code that ships. The proxy's decisions are functions
//! without IO - [`target`], [`access`], [`fields`], [`forward::route`], [`pac`], [`rules`], [`early_hints`]; [`upstream`] has its connections to origins,
//! [`journal`] its records of requests.

#![forbid(unsafe_code)]

pub mod access;
pub mod caching;
pub mod compression;
pub mod config;
pub mod early_hints;
pub mod fields;
pub mod forward;
pub mod images;
pub mod journal;
pub mod observation;
pub mod origin;
pub mod overrides;
pub mod pac;
pub mod rules;
pub mod serve;
pub mod target;
pub mod upstream;

pub use origin::{
    Listen, Meters, OriginServer, PushPolicy, SiteReplies, UdpPort, VirtualHosts, WorkerPool,
};
