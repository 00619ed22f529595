//! One API over two worlds.
//!
//! Everything that takes part in a page load - loader, origin, proxy - is ordinary async Rust written
//! against this module: [`TcpStream`], [`TcpListener`], [`UdpSocket`], [`now`], [`sleep`],
//! [`timeout`], [`spawn`], [`stream`](fn@stream) of randomness and [`resolve`]. The world in which it runs is ambient:
//!
//! | world | clock | below the sockets |
//! |---|---|---|
//! | [`sim`] | virtual, jumps from event to event | our own TCP over our own links |
//! | [`real`] | the machine's | the kernel |
//!
//! Both worlds report on events below the sockets in the same form: [`report`](mod@report).
//!
//! A world belongs to one thread, and nothing but this crate has ambient state. Its handles are plain
//! numbers in the simulated world; used on a foreign thread they panic with a message.

#![deny(unsafe_code)]

mod ambient;
mod datagram;
pub mod real;
pub mod report;
mod resolve;
pub mod sim;
mod stream;
mod task;
mod time;

pub use ambient::{forget_peers, stream};
pub use datagram::{BatchSocket, EcnCodepoint, RecvMeta, Transmit, UdpSocket, Writable};
pub use resolve::{lookup, resolve};
pub use stream::{TcpListener, TcpStream};
pub use task::{JoinHandle, blocking, spawn};
pub use time::{
    Elapsed, Sleep, from_instant, is_virtual, now, sleep, sleep_until, timeout, to_instant,
};
