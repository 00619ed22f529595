//! Servers: the origin, which answers with a page's objects.

#![forbid(unsafe_code)]

pub mod origin;

pub use origin::{Listen, Meters, Origin, PushPolicy, Site, UdpPort, VirtualHosts, Workers};
