//! How long a sender had something to send, and how long only flow control kept it from doing so.

use std::cell::Cell;
use std::time::Duration;

use units::Time;

/// What a sender is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Nothing waits to be sent.
    #[default]
    Idle,
    /// Something waits, and goes as fast as the transport takes it.
    Sending,
    /// Something waits, the transport would take it, and no window of HTTP/2's lets it go.
    Limited,
}

/// Measures one connection's sender. It is busy from the moment a response is there until its last
/// byte was handed to the transport; what TCP's windows do later is TCP's account.
#[derive(Debug, Default)]
pub struct FlowMeter {
    flow: Cell<Flow>,
    since: Cell<Time>,
    busy: Cell<Duration>,
    limited: Cell<Duration>,
}

impl FlowMeter {
    /// The sender does `flow` from `now` on.
    pub(crate) fn enter(&self, now: Time, flow: Flow) {
        self.busy.set(self.busy(now));
        self.limited.set(self.limited(now));
        self.since.set(now);
        self.flow.set(flow);
    }

    fn current(&self, now: Time, counts: bool) -> Duration {
        if counts { now.since(self.since.get()) } else { Duration::ZERO }
    }

    /// How long something waited to be sent, until `now`.
    pub fn busy(&self, now: Time) -> Duration {
        self.busy.get() + self.current(now, self.flow.get() != Flow::Idle)
    }

    /// The part of that in which nothing but HTTP/2's windows held it back.
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
