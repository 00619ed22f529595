//! Servers: the origin, which answers with a page's objects, and the proxy, which stands between it and its clients.
//!
//! Both are ordinary async code over [`world`]: what is simulated is what ships. The proxy's decisions are functions without IO -
//! [`target`], [`access`], [`fields`], [`forward::route`], [`pac`] - its connections to origins are [`upstream`]'s, what it tells
//! of requests is [`journal`]'s.

#![forbid(unsafe_code)]

pub mod access;
pub mod caching;
pub mod config;
pub mod fields;
pub mod forward;
pub mod journal;
pub mod origin;
pub mod overrides;
pub mod pac;
pub mod serve;
pub mod target;
pub mod upstream;

pub use origin::{Listen, Meters, Origin, PushPolicy, Site, UdpPort, VirtualHosts, Workers};
