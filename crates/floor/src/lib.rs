//! The floor: a lower bound of a page's load time on a network.
//!
//! It holds for any protocol, connections, scheduling and transport: no handshakes, no slow start, no loss, no
//! headers above TCP, a bottleneck that always serves what matters most. Only physics is left: bytes over a
//! rate, propagation, the server's and the client's own time, and the order in which a page reveals its parts.
//!
//! The page is relaxed to jobs on one machine, the downlink, each with a head (earliest start), work, and a
//! tail (time that must follow); the bound is the makespan of Jackson's preemptive schedule. `docs/floor.md`
//! derives it, proves it and works an example.
//!
//! Sources: J. R. Jackson, "Scheduling a production line to minimize maximum tardiness", 1955;
//! J. Carlier, "The one-machine sequencing problem", 1982 (heads, tails, the preemptive bound).

#![forbid(unsafe_code)]

mod bound;
mod costs;
mod critical;
mod load;
mod path;
mod recorded;

pub use bound::{Floors, floor};
pub use critical::{FloorOfVisit, critical_path, render_path};
pub use load::{Compute, Discovery, PageLoad};
pub use path::{ConstantRate, ServiceCurve, Work};
pub use path::{Origins, Path, TCP_IP_HEADER_BYTES};
pub use recorded::Bottlenecks;

#[cfg(test)]
mod tests;
