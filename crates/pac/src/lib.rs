//! Proxy auto-configuration: the proxy, if any, that a browser's PAC file names for a URL.
//!
//! A PAC file is JavaScript with one function, `FindProxyForURL(url, host)` (Netscape, 1996). It runs in QuickJS,
//! with the helper functions that browsers provide (`assets/helpers.js`) and within limits of steps and memory, so
//! that no file prevents a load from ending. The same file, seed and calls give the same answers: random numbers
//! come from a seeded stream, the date stands still, and there is no other clock.
//!
//! It leaves out calendar functions (`weekdayRange`, `dateRange`, `timeRange`: a call is refused by name), and
//! Microsoft's functions for IPv6 (`...Ex`).

#![forbid(unsafe_code)]

mod choice;
mod engine;
mod error;
mod script;
mod url;

pub use choice::{Choice, ProxyAt, Word};
pub use engine::{Engine, Resolve, Surroundings};
pub use error::PacError;
pub use script::Script;
pub use url::shown;
