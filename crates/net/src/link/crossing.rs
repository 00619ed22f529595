//! What becomes of a packet whose whole fate is decided when it enters.

use std::time::Duration;

use units::Time;

use crate::delay_line::Order;

/// A packet's way over a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    /// How long it waits for the server.
    pub(super) waited: Duration,
    /// How long the server takes.
    pub(super) service: Duration,
    /// When it is at the far end; [`Time::NEVER`] if the server never comes to it.
    pub(super) arrives: Time,
    /// Whether it may overtake others.
    pub(super) order: Order,
}
