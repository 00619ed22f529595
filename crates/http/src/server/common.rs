//! Common state of a core's connections, of any protocol.

use std::time::Duration;

use super::{Drain, Pace, Paced, RequestBody, Watch};
use crate::spdy::Recall;
use crate::wheel::{Timer, Wheel};

/// Shared state of HTTP/2, SPDY and HTTP/3 connections: shutdown signal, timers, and timeouts. Clones share it. HTTP/1
/// has its own settings: see [`h1::server`](crate::h1::server).
#[derive(Clone, Default)]
pub struct Common {
    /// Their shutdown signal.
    pub drain: Drain,
    /// Their timers.
    pub wheel: Wheel,
    /// Their timeouts; `None`: no timeouts. That is the default: a connection is kept as long as its client keeps it.
    pub patience: Option<Patient>,
    /// Cache of SPDY header blocks, for simulations. The default is none.
    pub recall: Option<Recall>,
}

/// A server's timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patient {
    /// Timeout until the client's protocol is known: the TLS handshake, or the first bytes.
    pub accept_timeout: Duration,
    /// Timeout of a connection without a request, of a client that neither sends awaited data nor reads waiting data,
    /// and of a request's head.
    pub idle_timeout: Duration,
    /// The lowest rate of a request's body.
    pub body_pace: Pace,
    /// Idle timeout while only tunnels are open.
    pub tunnel_timeout: Duration,
}

impl Default for Patient {
    /// As for HTTP/1; nginx applies `client_header_timeout` to the TLS handshake, too.
    fn default() -> Patient {
        Patient {
            accept_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(75),
            body_pace: Pace::APACHE,
            tunnel_timeout: Duration::from_secs(15 * 60),
        }
    }
}

impl Common {
    pub(crate) fn watch(&self) -> Watch {
        self.drain.watch()
    }

    /// A timer and the timeouts, if there are any.
    pub(crate) fn timer(&self) -> Option<(Timer, Patient)> {
        self.patience.map(|patient| (self.wheel.timer(), patient))
    }

    /// The same body, which fails as stalled if its client is too slow.
    pub(crate) fn paced(&self, body: RequestBody) -> RequestBody {
        match self.timer() {
            Some((timer, patient)) => Paced::body(body, timer, patient),
            None => body,
        }
    }
}
