//! How long a client may keep a connection of HTTP/2, SPDY or HTTP/3 without moving anything on.
//!
//! Heads and bodies count, either way; PING, SETTINGS and WINDOW_UPDATE do not: a client that sends only those wants to be waited for. As
//! long as a handler is at work it is the server's turn.

use std::task::{Context, Poll};
use std::time::Duration;

use super::{Common, Patient};
use crate::wheel::Timer;

/// How long a client that was told of the end may take to read that.
const LINGER: Duration = Duration::from_secs(2);

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Go on.
    Wait,
    /// Say that it is over.
    Leave,
    /// It was said: go.
    End,
}

/// How a connection stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Bytes of heads and bodies that have passed so far.
    pub(crate) progress: u64,
    /// A handler is at work.
    pub(crate) is_ours: bool,
    /// Tunnels are open.
    pub(crate) is_tunnelling: bool,
}

/// The watch over one connection.
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

    /// What is to be done.
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

    /// The connection is over, but for what is still to be passed on.
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
