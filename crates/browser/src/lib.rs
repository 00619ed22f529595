//! The page loader: a browser between navigation and the load event.
//!
//! It fetches a page's objects over the streams of the world it runs in, by a browser's rules: an object is
//! requested when its dependencies have arrived and been processed, connections are limited and bound late, compute
//! is a serial resource. It does not parse HTML and has no layout: the page's graph defines what reveals what.

#![forbid(unsafe_code)]

mod alternative_services;
mod cache;
pub mod calibrate;
mod device;
mod heads;
mod loader;
mod name_cache;
mod named_table;
mod plan;
mod policy;
mod pool;
mod priorities;
mod proxy;
mod throttle;
mod timeline;

pub use self::alternative_services::H3Discovery;
pub use self::cache::BrowserCache;
pub use self::device::{Device, DeviceError};
pub use self::heads::{RequestHeaders, Typical};
pub use self::loader::{Browser, ConnectionUse, Pushes, Session, Visited};
pub use self::name_cache::{Naming, Prefetch};
pub use self::named_table::UnknownName;
pub use self::plan::{HostStack, LoadPlan, RequestSettings};
pub use self::policy::{Binding, Coalescing, Delayable, IdleTimeouts, Policy};
pub use self::priorities::{Priorities, PrioritiesError};
pub use self::proxy::{AutoConfig, Proxy, ProxyMode, ProxyPorts, TunnelProtocol};
pub use self::timeline::{Bodies, BodyTiming};
