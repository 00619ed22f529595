//! Progress timeout of an HTTP/2, SPDY or HTTP/3 connection.
//!
//! Heads and bodies count as progress, either way; PING, SETTINGS and WINDOW_UPDATE do not: a client that sends only
//! those is stalling. While a handler works, the server is responsible for the delay.

use std::task::{Context, Poll};
use std::time::Duration;

use super::{Common, Patient};
use crate::wheel::Timer;

/// Time for a client to read the final messages of a connection.
const LINGER: Duration = Duration::from_secs(2);

/// The action to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Go on.
    Wait,
    /// Shut down.
    Leave,
    /// The shutdown timed out: close.
    End,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Bytes of heads and bodies that have passed so far.
    pub(crate) progress: u64,
    /// A handler is at work.
    pub(crate) is_ours: bool,
    /// Tunnels are open.
    pub(crate) is_tunnelling: bool,
}

/// The progress timeout of one connection.
pub(crate) struct Vigil {
    timer: Option<(Timer, Patient)>,
    progress: u64,
    has_left: bool,
}

impl Vigil {
    pub(crate) fn over(common: &Common) -> Vigil {
        let timer = common.timer();
        if let Some((timer, patient)) = &timer {
            timer.set(patient.idle_timeout);
        }
        Vigil { timer, progress: 0, has_left: false }
    }

    /// The action to take now.
    pub(crate) fn poll(
        &mut self,
        standing: impl FnOnce() -> Standing,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let Some((timer, patient)) = &self.timer else { return Verdict::Wait };
        let Standing { progress, is_ours, is_tunnelling } = standing();
        let moved = std::mem::replace(&mut self.progress, progress) != progress;
        if !self.has_left && (moved || is_ours) {
            let Patient { idle_timeout, tunnel_timeout, .. } = *patient;
            timer.set(if is_tunnelling { tunnel_timeout } else { idle_timeout });
        }
        if timer.poll_expired(cx).is_pending() {
            return Verdict::Wait;
        }
        timer.set(LINGER);
        if std::mem::replace(&mut self.has_left, true) { Verdict::End } else { Verdict::Leave }
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
