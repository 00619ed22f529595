//! The simulated world: a virtual clock, our own TCP, our own links.
//!
//! One thread, one world. Ready tasks run in the order in which they were woken; when none is left
//! the earliest event - ordered by time, then by the order of scheduling - moves the clock
//! and fires. Nothing else moves the clock, so the same plan gives the same packets at the same
//! nanoseconds.
//!
//! Left out: processing time of packets in hosts (client compute belongs to the loader),
//! DNS packets for addresses, and IP options, fragments and ICMP.

mod capture;
pub(crate) mod clock;
pub(crate) mod executor;
mod movement;
mod plan;
pub(crate) mod state;
mod tcp_socket;
mod tcp_table;
mod topology;
mod udp_socket;

pub use capture::{CaptureContent, CapturedPacket, InterfaceDirection, report, take_sightings};
pub use movement::{HeldNotes, Movement, PacketArrival, arrivals, movements};
pub use plan::{LinkId, NodeId, RunError, SimPlan};
pub(crate) use state::forget_peers;
pub(crate) use tcp_socket::{TcpListener, TcpStream};
pub(crate) use udp_socket::UdpSocket;
