//! Shared state of all connections of one core.

use std::cell::RefCell;
use std::time::Duration;

use super::outbox::Outbox;
use crate::h1::buffer::Buffer;
use crate::h1::codec::Limits;
use crate::relay::Patience;
use crate::server::{Drain, Pace};
use crate::wheel::{Timer, Wheel};

/// A server's policy. The timeouts are coarse: see [`crate::wheel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Limits on a request's head.
    pub limits: Limits,
    /// Bytes per read.
    pub read_bytes: usize,
    /// Idle timeout: the longest wait for a request, and for the next byte of a body in either direction.
    pub idle_timeout: Duration,
    /// True if a client that has half-closed is still answered. Otherwise its request is abandoned: most such clients
    /// have closed the other direction as well (nginx's and HAProxy's view).
    pub half_closed_clients: bool,
    /// Number of requests after which the connection is closed; the last response says so. `None`: no limit.
    pub requests: Option<u32>,
    /// Timeout of a head from its first byte to its last, even if it trickles in.
    pub head_timeout: Duration,
    /// The lowest rate of a request's body; `None`: only `idle_timeout` limits it.
    pub body_pace: Option<Pace>,
    /// Idle timeout of tunnels.
    pub tunnel_timeout: Duration,
    /// Time for the client to close after the server did (RFC 9112 section 9.6).
    pub linger_timeout: Duration,
    /// Time that a connection without a request stays open on shutdown: a request may be on its way.
    pub drain_timeout: Duration,
}

impl Default for Settings {
    /// nginx's `keepalive_timeout` 75 s and `client_header_timeout` 60 s, Apache's slowest body and lingering close of
    /// 2 s, Squid's `read_timeout` 15 min for tunnels. A read of 16 KiB holds the largest head.
    fn default() -> Settings {
        Settings {
            limits: Limits::SERVER,
            read_bytes: 16 * 1024,
            idle_timeout: Duration::from_secs(75),
            half_closed_clients: true,
            requests: None,
            head_timeout: Duration::from_secs(60),
            body_pace: Some(Pace::APACHE),
            tunnel_timeout: Duration::from_secs(15 * 60),
            linger_timeout: Duration::from_secs(2),
            drain_timeout: Duration::from_secs(1),
        }
    }
}

/// Number of buffers kept for the next connections: more are in use at once only while as many clients are in the
/// middle of a request or slow to read a response.
const SPARES: usize = 64;

/// Shared state of all connections of one core: settings, timer wheel, shutdown signal, and spare buffers.
pub struct Core {
    pub(crate) settings: Settings,
    wheel: Wheel,
    drain: Drain,
    inputs: RefCell<Vec<Buffer>>,
    outboxes: RefCell<Vec<Outbox>>,
}

impl Core {
    /// A core without connections. The `wheel` may be shared with servers of other protocols.
    pub fn new(settings: Settings, wheel: Wheel) -> Core {
        Core {
            settings,
            wheel,
            drain: Drain::default(),
            inputs: RefCell::new(Vec::new()),
            outboxes: RefCell::new(Vec::new()),
        }
    }

    /// The shutdown signal for the connections.
    pub fn drain(&self) -> &Drain {
        &self.drain
    }

    /// Idle timeouts of a tunnel.
    pub(crate) fn patience(&self) -> Patience {
        let Settings { tunnel_timeout, idle_timeout, .. } = self.settings;
        Patience { open: tunnel_timeout, half_closed: idle_timeout }
    }

    /// A timer of its wheel.
    pub(crate) fn timer(&self) -> Timer {
        self.wheel.timer()
    }

    /// An empty input buffer.
    pub(super) fn input(&self) -> Buffer {
        let spare = self.inputs.borrow_mut().pop();
        spare.unwrap_or_else(|| Buffer::new(self.settings.read_bytes))
    }

    /// Returns an empty input buffer to the pool.
    pub(super) fn return_input(&self, buffer: Buffer) {
        debug_assert!(buffer.is_empty(), "a buffer is returned when all of it is used");
        keep(&mut self.inputs.borrow_mut(), buffer);
    }

    /// An empty outbox.
    pub(super) fn outbox(&self) -> Outbox {
        self.outboxes.borrow_mut().pop().unwrap_or_default()
    }

    /// Returns an empty outbox to the pool.
    pub(super) fn return_outbox(&self, outbox: Outbox) {
        debug_assert!(outbox.is_empty(), "an outbox is returned when all of it is sent");
        keep(&mut self.outboxes.borrow_mut(), outbox);
    }
}

fn keep<T>(spares: &mut Vec<T>, spare: T) {
    if spares.len() < SPARES {
        spares.push(spare);
    }
}
