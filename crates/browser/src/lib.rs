//! The page loader: a browser between navigation and the load event.
//!
//! It fetches a page's objects over the streams of the world it runs in, by a browser's rules: an object is
//! requested when its dependencies have arrived and been processed, connections are limited and bound late, compute
//! is a serial resource. It does not parse HTML and has no layout: the page's graph defines what reveals what.

#![forbid(unsafe_code)]

mod alternatives;
mod cache;
pub mod calibrate;
mod device;
mod heads;
mod loader;
mod named;
mod names;
mod plan;
mod policy;
mod pool;
mod priorities;
mod proxy;
mod throttle;
mod timeline;

pub use alternatives::H3Discovery;
pub use cache::Cache;
pub use device::{Device, DeviceError};
pub use heads::{Heads, Typical};
pub use loader::{Browser, ConnectionUse, Pushes, Session, Visited};
pub use named::UnknownName;
pub use names::{Naming, Prefetch};
pub use plan::{Arm, Asking, LoadPlan};
pub use policy::{Binding, Coalescing, Delayable, IdleTimeouts, Policy};
pub use priorities::{Priorities, PrioritiesError};
pub use proxy::AutoConfig;
pub use proxy::{Ports, Proxy, Via, Way};
pub use timeline::{Bodies, Body};
