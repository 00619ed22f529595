//! Timeouts against slow clients: a minimum rate of request bodies, and progress of whole connections.
//!
//! A client that sends a byte now and then is never idle and holds its connection indefinitely ("slowloris"). So a body
//! has a time allowance, to which every byte adds; only time in which the server waits for the client is counted.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use units::Time;

use super::{Body, BodyError, ClientTimeouts, RequestBody, SharedServerState};
use crate::timer_wheel::Timer;

/// The lowest rate of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The initial allowance of any body.
    pub grace: Duration,
    /// Number of bytes that add a second.
    pub bytes_a_second: u32,
}

impl Pace {
    /// Apache's (`mod_reqtimeout`: `body=20,MinRate=500`).
    pub const APACHE: Pace = Pace { grace: Duration::from_secs(20), bytes_a_second: 500 };

    /// Time allowed for `bytes`.
    fn allowance(self, bytes: u64) -> Duration {
        let earned = bytes / u64::from(self.bytes_a_second.max(1));
        self.grace.saturating_add(Duration::from_secs(earned))
    }
}

/// The allowance of one body.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    waited: Duration,
    since: Option<Time>,
    bytes: u64,
}

impl Patience {
    /// Starts a wait at `now`; returns its longest duration.
    pub(crate) fn wait(&mut self, now: Time, pace: Option<Pace>, idle: Duration) -> Duration {
        self.stop(now);
        self.since = Some(now);
        let left = pace.map(|pace| pace.allowance(self.bytes).saturating_sub(self.waited));
        left.map_or(idle, |left| left.min(idle))
    }

    /// Ends a wait: `bytes` have come.
    pub(crate) fn took(&mut self, now: Time, bytes: usize) {
        self.stop(now);
        self.bytes += bytes as u64;
    }

    fn stop(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.waited += now.since(since);
        }
    }
}

/// A body that fails as stalled if it comes too slowly. Time in which it is not awaited does not count.
pub(crate) struct Paced {
    body: RequestBody,
    timer: Timer,
    patient: ClientTimeouts,
    patience: Patience,
    is_waiting: bool,
}

impl Paced {
    pub(crate) fn body(body: RequestBody, timer: Timer, patient: ClientTimeouts) -> RequestBody {
        let length = body.length();
        let patience = Patience::default();
        RequestBody::new(
            Box::new(Paced { body, timer, patient, patience, is_waiting: false }),
            length,
        )
    }
}

impl Body for Paced {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        match &next {
            Poll::Ready(Some(Ok(piece))) => self.patience.took(world::now(), piece.len()),
            Poll::Ready(_) => {}
            Poll::Pending => {
                if !self.is_waiting {
                    let ClientTimeouts { idle_timeout, body_pace, .. } = self.patient;
                    let left = self.patience.wait(world::now(), Some(body_pace), idle_timeout);
                    self.timer.set(left);
                    self.is_waiting = true;
                }
                ready!(self.timer.poll_expired(cx));
                return Poll::Ready(Some(Err(BodyError::Stalled)));
            }
        }
        self.is_waiting = false;
        next
    }
}

// Progress timeout of an HTTP/2, SPDY or HTTP/3 connection.
//
// Heads and bodies count as progress, either way; PING, SETTINGS and WINDOW_UPDATE do not: a client that sends only
// those is stalling. While a handler works, the server is responsible for the delay.

/// Time for a client to read the final messages of a connection.
const LINGER: Duration = Duration::from_secs(2);

/// The action to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StallVerdict {
    /// Go on.
    Wait,
    /// Shut down.
    Leave,
    /// The shutdown timed out: close.
    End,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestProgress {
    /// Bytes of heads and bodies that have passed so far.
    pub(crate) progress: u64,
    /// A handler is at work.
    pub(crate) awaits_handler: bool,
    /// Tunnels are open.
    pub(crate) is_tunnelling: bool,
}

/// The progress timeout of one connection.
pub(crate) struct StallWatch {
    timer: Option<(Timer, ClientTimeouts)>,
    progress: u64,
    has_left: bool,
}

impl StallWatch {
    pub(crate) fn over(common: &SharedServerState) -> StallWatch {
        let timer = common.timer();
        if let Some((timer, patient)) = &timer {
            timer.set(patient.idle_timeout);
        }
        StallWatch { timer, progress: 0, has_left: false }
    }

    /// The action to take now.
    pub(crate) fn poll(
        &mut self,
        standing: impl FnOnce() -> RequestProgress,
        cx: &mut Context<'_>,
    ) -> StallVerdict {
        let Some((timer, patient)) = &self.timer else { return StallVerdict::Wait };
        let RequestProgress { progress, awaits_handler, is_tunnelling } = standing();
        let moved = std::mem::replace(&mut self.progress, progress) != progress;
        if !self.has_left && (moved || awaits_handler) {
            let ClientTimeouts { idle_timeout, tunnel_timeout, .. } = *patient;
            timer.set(if is_tunnelling { tunnel_timeout } else { idle_timeout });
        }
        if timer.poll_expired(cx).is_pending() {
            return StallVerdict::Wait;
        }
        timer.set(LINGER);
        if std::mem::replace(&mut self.has_left, true) {
            StallVerdict::End
        } else {
            StallVerdict::Leave
        }
    }

    /// Notes that the connection is over, except for the remaining output.
    pub(crate) fn linger(&mut self) {
        self.has_left = true;
        if let Some((timer, _)) = &self.timer {
            timer.set(LINGER);
        }
    }

    /// Ready when that has taken too long.
    pub(crate) fn poll_end(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.timer {
            Some((timer, _)) => timer.poll_expired(cx),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_earns_time_by_its_bytes_and_spends_it_waiting() {
        let idle = Duration::from_secs(75);
        let pace = Some(Pace::APACHE);
        let (at, secs) = (Time::from_millis, Duration::from_secs);
        let mut patience = Patience::default();
        assert_eq!(patience.wait(at(0), pace, idle), secs(20));
        patience.took(at(15_000), 1_000);
        // The server was busy in between.
        assert_eq!(patience.wait(at(60_000), pace, idle), secs(7));
        patience.took(at(67_000), 1);
        assert_eq!(patience.wait(at(67_000), pace, idle), Duration::ZERO);
        assert_eq!(patience.wait(at(67_000), None, idle), idle);
        patience.took(at(67_000), 100_000);
        assert_eq!(patience.wait(at(67_000), pace, idle), idle);
    }
}
