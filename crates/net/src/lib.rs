//! Links as sans-IO state machines, and the named networks made of them.
//!
//! A [`Link`] is one direction of a path: random loss, a droptail queue, a serialiser at a constant
//! rate and a delay line, in this order, which is dummynet's. It is told the time and never asks:
//! [`Link::handle`] takes a packet, [`Link::poll`] gives those that have arrived, [`Link::deadline`]
//! says when to poll next. A [`Network`] is a pair of link configurations with a name and a source:
//! one of the [`profiles`], or [parsed](Network::parse) from what a person typed.
//!
//! What the model leaves out: rates do not vary, losses are independent, the queue does not manage
//! itself (no AQM), frames below IP are not counted, packets are never reordered, duplicated or
//! corrupted, and the two directions do not share a medium.

#![forbid(unsafe_code)]

mod config;
mod delay_line;
mod error;
mod link;
mod loss;
mod network;
mod profiles;
mod queue;
mod serialiser;
mod spec;
mod stats;
mod toml_text;

pub use config::{LinkConfig, ProcessingJitter, QueueLimit};
pub use error::{Place, SpecError, ValueError};
pub use link::{DropCause, Link, Verdict};
pub use network::Network;
pub use profiles::{Profiles, profiles};
pub use stats::LinkStats;
