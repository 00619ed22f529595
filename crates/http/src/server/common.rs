//! Common state of a core's connections, of any protocol, and their graceful shutdown.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Pace, Paced, RequestBody};
use crate::spdy::Recall;
use crate::timer_wheel::{Timer, Wheel};

/// Shared state of HTTP/2, SPDY and HTTP/3 connections: shutdown signal, timers, and timeouts. Clones share it. HTTP/1
/// has its own settings: see [`h1::server`](crate::h1::server).
#[derive(Clone, Default)]
pub struct SharedServerState {
    /// Their shutdown signal.
    pub drain: Drain,
    /// Their timers.
    pub wheel: Wheel,
    /// Their timeouts; `None`: no timeouts. That is the default: a connection is kept as long as its client keeps it.
    pub patience: Option<ClientTimeouts>,
    /// Cache of SPDY header blocks, for simulations. The default is none.
    pub recall: Option<Recall>,
}

/// A server's timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientTimeouts {
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

impl Default for ClientTimeouts {
    /// As for HTTP/1; nginx applies `client_header_timeout` to the TLS handshake, too.
    fn default() -> ClientTimeouts {
        ClientTimeouts {
            accept_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(75),
            body_pace: Pace::APACHE,
            tunnel_timeout: Duration::from_secs(15 * 60),
        }
    }
}

impl SharedServerState {
    pub(crate) fn watch(&self) -> DrainWatch {
        self.drain.watch()
    }

    /// A timer and the timeouts, if there are any.
    pub(crate) fn timer(&self) -> Option<(Timer, ClientTimeouts)> {
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

// Graceful shutdown.
//
// A connection that sees the signal takes no new requests and finishes the current ones: HTTP/1 sends `Connection:
// close` with the next answer, the others send GOAWAY.

/// The shutdown signal of a core's connections. Clones share it.
#[derive(Clone, Default)]
pub struct Drain(Rc<DrainState>);

#[derive(Default)]
struct DrainState {
    has_begun: Cell<bool>,
    next: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, Waker>>,
}

impl Drain {
    /// Begins the shutdown: no new requests are taken.
    pub fn begin(&self) {
        self.0.has_begun.set(true);
        let waiting = std::mem::take(&mut *self.0.waiting.borrow_mut());
        waiting.into_values().for_each(Waker::wake);
    }

    /// Returns true once it has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.has_begun.get()
    }

    /// The signal for one connection.
    pub(crate) fn watch(&self) -> DrainWatch {
        let number = self.0.next.get();
        self.0.next.set(number + 1);
        DrainWatch { drain: self.clone(), number, is_told: false, waker: None }
    }
}

/// A connection's receiver of the signal.
pub(crate) struct DrainWatch {
    drain: Drain,
    number: u64,
    is_told: bool,
    /// The registered waker, kept here too to avoid a lookup.
    waker: Option<Waker>,
}

impl DrainWatch {
    /// Returns true once it has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.drain.has_begun()
    }

    /// Ready once, when it has begun.
    pub(crate) fn poll_begun(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.has_begun() {
            let is_news = !std::mem::replace(&mut self.is_told, true);
            return if is_news { Poll::Ready(()) } else { Poll::Pending };
        }
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
            self.drain.0.waiting.borrow_mut().insert(self.number, cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for DrainWatch {
    fn drop(&mut self) {
        if self.waker.is_some() {
            self.drain.0.waiting.borrow_mut().remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_is_told_once() {
        let drain = Drain::default();
        let (mut first, mut second) = (drain.watch(), drain.watch());
        let cx = Context::from_waker(Waker::noop());
        assert!(first.poll_begun(&cx).is_pending());
        drop(drain.watch());
        drain.clone().begin();
        assert!(first.poll_begun(&cx).is_ready() && first.poll_begun(&cx).is_pending());
        assert!(second.has_begun() && second.poll_begun(&cx).is_ready());
        drop((first, second));
        assert!(drain.0.waiting.borrow().is_empty());
    }
}
