//! The link emulator: the kernel's TCP over the simulator's links, in real time, without root and without kernel modules.
//!
//! A [`Testbed`] is three network namespaces in a row; an [`Emulator`] in the middle one carries each packet as a [`net::Link`] says, the same
//! code that the simulation runs. [`isolated`] starts the program that does this in a network of its own; [`sandbox`] surrounds it with
//! processes and mounts of which nothing is left. [`flow`] sends one TCP flow over
//! the emulated and over the simulated link and compares the two packet by packet: that is how the simulated TCP is validated.
//!
//! Linux only. `unsafe` is allowed in this crate alone: system calls that have no safe wrapper.

mod clock;
pub mod diagnosis;
mod emulator;
mod error;
pub mod flow;
mod headers;
mod isolate;
mod log;
mod namespace;
mod offload;
mod packet_socket;
mod path;
mod realtime;
pub mod sandbox;
mod testbed;

pub use emulator::{Carried, Emulator};
pub use error::Error;
pub use headers::TcpNumbers;
pub use isolate::{Privilege, isolated};
pub use log::{Fate, Invalid, Log, Passage, Punctuality};
pub use namespace::NetNamespace;
pub use path::{Drops, Path};
pub use testbed::{Side, Testbed};
