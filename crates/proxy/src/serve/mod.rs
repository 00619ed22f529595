//! A proxy at work: its ports, its connections, its end.
//!
//! A [`Worker`] is one core's share; in production there is one a core, each with listeners of its own on the same addresses. All
//! are told by a [`Control`] what to do: serve with these settings, serve with others from now on, come to an end.

mod admin;
mod control;
mod port;
mod quic;
mod room;
mod worker;

pub use admin::{Admin, State};
pub use control::{Control, Orders, Phase};
pub use worker::{Complaint, NoPort, Worker, WorkerParts};
