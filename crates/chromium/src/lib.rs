//! A real Chromium as a client, driven over the Chrome DevTools Protocol.
//!
//! [`Chromium`] is the program, [`Launch`] its launch options, [`Running`] a running browser, [`BrowserContext`] one that
//! has just been started from a page's point of view: no cache, no cookies, no connections. A visit has the form of
//! the loader's own ([`Visited`](browser::Visited)), with additional data that only a real browser has: paint
//! times, console, screenshots.
//!
//! The protocol goes over a pipe (`--remote-debugging-pipe`: JSON texts, each ended by a NUL, on descriptors 3 and
//! 4), so there is no port that another process could connect to. All calls block, on plain threads. No clock is
//! read: instants are the browser's own, which on Linux are `CLOCK_MONOTONIC`, and the caller says where on it the
//! world began.
//!
//! Differences from the loader's results: an object's processing is not visible, so it is done when its last byte
//! has arrived; request headers of HTTP/2 are given as 0, as the browser does not report their size after HPACK;
//! connections that never carried a request are not visible.
//!
//! Source: <https://chromedevtools.github.io/devtools-protocol/tot/>, as Chromium 156 speaks it.

mod capture;
mod error;
mod event;
mod film;
mod launch;
mod middleman;
mod net_log;
mod pipe;
mod print;
mod request;
mod tab;
mod visit;

pub use self::capture::CaptureSettings;
pub use self::error::ChromiumError;
pub use self::film::FilmFrame;
pub use self::launch::{Chromium, ChromiumSandbox, Launch, OtherNames, Running};
pub use self::middleman::{BrowserProxy, ProxyConfigSource, ProxyScheme};
pub use self::tab::BrowserContext;
pub use self::visit::{ChromiumSettings, ChromiumVisit, Console, UnexpectedRequest, Viewport};
