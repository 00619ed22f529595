//! A running proxy: its ports, connections and shutdown.
//!
//! A [`Worker`] is one core's share; in production there is one per core, each with its own listeners on the same addresses. A
//! [`Control`] tells them all what to do: serve with these settings, reload, drain.

mod admin;
mod control;
mod port;
mod quic;
mod room;
mod worker;

pub use admin::{Admin, State};
pub use control::{Control, Orders, Phase};
pub use worker::{Complaint, NoPort, Worker, WorkerParts};
