//! Puts packets on the wire one after the other, at a constant rate.

use std::time::Duration;

use units::{BitsPerSec, Time};

/// A server that is busy for each packet's length over the rate.
pub(crate) struct Serialiser {
    rate: BitsPerSec,
    free_at: Time,
}

impl Serialiser {
    pub(crate) fn new(rate: BitsPerSec) -> Serialiser {
        Serialiser { rate, free_at: Time::ZERO }
    }

    /// When a packet that arrives at `now` would enter service.
    pub(crate) fn starts(&self, now: Time) -> Time {
        now.max(self.free_at)
    }

    /// Serves a packet from `start` on; returns how long its service takes.
    pub(crate) fn serve(&mut self, start: Time, bytes: u32) -> Duration {
        let service = self.rate.time_for(u64::from(bytes));
        self.free_at = start + service;
        service
    }
}
