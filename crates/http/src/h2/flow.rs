//! Time that a sender had data to send, and time that only flow control held it back.

use std::cell::Cell;
use std::time::Duration;

use units::Time;

/// The state of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Nothing waits to be sent.
    #[default]
    Idle,
    /// Data waits, and goes as fast as the transport accepts it.
    Sending,
    /// Data waits, the transport would accept it, and HTTP/2's flow control blocks it.
    Limited,
}

/// Measures one connection's sender. It is busy from the moment that a response is available until its last byte has
/// been handed to the transport; the effects of TCP's windows are left to TCP's account.
#[derive(Debug, Default)]
pub struct FlowMeter {
    flow: Cell<Flow>,
    since: Cell<Time>,
    busy: Cell<Duration>,
    limited: Cell<Duration>,
}

impl FlowMeter {
    /// Sets the sender's state from `now` on.
    pub(crate) fn enter(&self, now: Time, flow: Flow) {
        self.busy.set(self.busy(now));
        self.limited.set(self.limited(now));
        self.since.set(now);
        self.flow.set(flow);
    }

    fn current(&self, now: Time, counts: bool) -> Duration {
        if counts { now.since(self.since.get()) } else { Duration::ZERO }
    }

    /// Time that data waited to be sent, until `now`.
    pub fn busy(&self, now: Time) -> Duration {
        self.busy.get() + self.current(now, self.flow.get() != Flow::Idle)
    }

    /// The part of it in which only HTTP/2's windows held the data back.
    pub fn limited(&self, now: Time) -> Duration {
        self.limited.get() + self.current(now, self.flow.get() == Flow::Limited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_includes_limited_and_the_present() {
        let meter = FlowMeter::default();
        let at = Time::from_millis;
        meter.enter(at(10), Flow::Sending);
        meter.enter(at(30), Flow::Limited);
        meter.enter(at(35), Flow::Sending);
        assert_eq!(meter.busy(at(40)), Duration::from_millis(30));
        meter.enter(at(50), Flow::Idle);
        assert_eq!(meter.busy(at(100)), Duration::from_millis(40));
        assert_eq!(meter.limited(at(100)), Duration::from_millis(5));
    }
}
