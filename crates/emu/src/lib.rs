//! The link emulator: the kernel's TCP over the simulator's links, in real time, without root and without kernel modules.
//!
//! A [`Testbed`] is three network namespaces in a row; an [`Emulator`] in the middle one carries each packet as a [`net::Link`] specifies, the same
//! code that the simulation runs. [`isolated`] starts the program that does this in its own network namespace; [`sandbox`] surrounds it with
//! processes and mounts that leave nothing behind. [`flow`] sends one TCP flow over the emulated and over the simulated link and compares the two
//! packet by packet: this validates the simulated TCP.
//!
//! Linux only. `unsafe` is allowed in this crate alone: system calls that have no safe wrapper.

mod control;
pub mod derive;
pub mod diagnosis;
mod dropping_link;
mod emulator;
mod error;
pub mod flow;
mod headers;
mod hosts;
mod links;
mod memory;
mod namespace;
mod observer;
mod packet_socket;
mod realtime;
mod release;
mod routing;
pub mod sandbox;
mod superpacket;
mod tap;
mod testbed;
mod topology;
mod wire;

pub use control::{ControlSocket, Snapshot, TimingError};
pub use dropping_link::{DroppingLink, ListedDrops};
pub use emulator::{EmulationResult, Emulator};
pub use error::Error;
pub use headers::TcpNumbers;
pub use hosts::{AccessSide, BetweenHosts};
pub use links::{EmulatedDrop, EmulatedLinkReport, EmulatedRadioReport};
pub use memory::reserve_memory;
pub use namespace::{NetNamespace, Privilege, isolated};
pub use observer::{DropLog, Fate, Passage, Passages};
pub use observer::{ObservedPacket, Observer};
pub use realtime::EmulatorClock;
pub use release::{Punctuality, Release};
pub use testbed::{Testbed, TestbedConfig};
pub use topology::{EmulatedTopology, NamedLink};
pub use wire::{UnknownWireError, Wire};
