//! A real Chromium as a client, driven over the Chrome DevTools Protocol.
//!
//! [`Chromium`] is the program, [`Launch`] what it is started with, [`Running`] a browser that runs,
//! [`Context`] one that has just been started as far as a page can tell: no cache, no cookies, no
//! connections. A visit comes back in the shape of the loader's own ([`Visited`](browser::Visited)), with what only a
//! real browser has beside it: paint times, console, screenshots.
//!
//! The protocol goes over a pipe (`--remote-debugging-pipe`: JSON texts, each ended by a NUL, on
//! descriptors 3 and 4), so there is no port that another could connect to. Everything blocks, on plain
//! threads. No clock is read: instants are the browser's own, which on Linux are `CLOCK_MONOTONIC`, and
//! the caller says where on it the world began.
//!
//! What differs from the loader's account: an object's work is not seen, so it is done when its last
//! byte is there; request heads of HTTP/2 are given as 0, as the browser does not tell their size after
//! HPACK; connections that never carried a request are not seen.
//!
//! Source: <https://chromedevtools.github.io/devtools-protocol/tot/>, as Chromium 156 speaks it.

mod after;
mod connections;
mod context;
mod error;
mod event;
mod film;
mod find;
mod launch;
mod matching;
mod middleman;
mod net_log;
mod paint;
mod pipe;
mod request;
mod running;
mod tab;
mod visit;

pub use context::Context;
pub use error::ChromiumError;
pub use film::Frame;
pub use find::Chromium;
pub use launch::{Launch, Sandbox};
pub use middleman::{Manner, Middleman, Told};
pub use running::Running;
pub use visit::{ChromiumVisit, Console, Look, Settings, Unexpected};
