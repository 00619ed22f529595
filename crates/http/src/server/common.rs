//! What the connections of a core have in common, whatever they speak.

use std::time::Duration;

use super::{Drain, Pace, Paced, RequestBody, Watch};
use crate::spdy::Recall;
use crate::wheel::{Timer, Wheel};

/// What the connections of HTTP/2, SPDY and HTTP/3 share: the word that the server goes away, timers, and how patient they are. Clones are
/// the same. HTTP/1 has its own settings: see [`h1::server`](crate::h1::server).
#[derive(Clone, Default)]
pub struct Common {
    /// Tells them to end.
    pub drain: Drain,
    /// Their timers.
    pub wheel: Wheel,
    /// How patient they are; `None`: for ever. That is the default: a connection is kept as long as its client keeps it.
    pub patience: Option<Patient>,
    /// Where SPDY's header blocks are looked up, for who simulates. The default is nowhere.
    pub recall: Option<Recall>,
}

/// How patient a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patient {
    /// How long a client may take to say what it speaks: TLS's handshake, or its first bytes.
    pub accept_timeout: Duration,
    /// How long a connection may be without a request, and how long a client may neither send what it is waited for nor take
    /// what waits for it, or have a request's head under way.
    pub idle_timeout: Duration,
    /// The least speed of a request's body.
    pub body_pace: Pace,
    /// How long nothing may pass while tunnels are all that is open.
    pub tunnel_timeout: Duration,
}

impl Default for Patient {
    /// As HTTP/1's; nginx gives TLS's handshake `client_header_timeout`, too.
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

    /// A timer, for those whose patience ends.
    pub(crate) fn timer(&self) -> Option<(Timer, Patient)> {
        self.patience.map(|patient| (self.wheel.timer(), patient))
    }

    /// The same body, which stalls if its client is too slow.
    pub(crate) fn paced(&self, body: RequestBody) -> RequestBody {
        match self.timer() {
            Some((timer, patient)) => Paced::body(body, timer, patient),
            None => body,
        }
    }
}
