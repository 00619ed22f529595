//! An HTTP/1.1 server's connections.
//!
//! [`serve`] answers the requests of one connection in their order. On the path of a ready answer it allocates, spawns
//! and boxes nothing and reads no clock: requests are decoded in place, the prepared heads and bodies of all requests
//! from one read leave in one write, and timeouts cost one store. A connection that waits for a request holds no buffer.
//!
//! A handler that answers later may read the request's body meanwhile, with backpressure, and stream the response's
//! body. A granted `CONNECT` turns the connection into the tunnel; a refused one is its last request.
//!
//! Left out: a `Date` field (a handler whose world has a date puts it among its fields), reading the next requests
//! while a delayed answer is awaited, trailers, and protocol upgrades: an `Upgrade` field is ignored (RFC 9110 section
//! 7.8 lets a server), HTTP/2's among them, which RFC 9113 has withdrawn.

use std::cell::RefCell;
use std::time::Duration;

use http::{Response, StatusCode};

use crate::h1::Buffer;
use crate::h1::codec::{CodecLimits, encode};
use crate::server::{Drain, Pace};
use crate::timer_wheel::{Timer, Wheel};
use crate::transport::{BufferPool, RelayEnd, RelayTimeout, join};
use crate::{Duplex, Transport};

mod connection;
mod delayed;
mod exchange;

use connection::ServerConnection;
use exchange::Outbox;

pub use connection::{Ended, serve};

/// A server's policy. The timeouts are coarse: see [`crate::timer_wheel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Limits on a request's head.
    pub limits: CodecLimits,
    /// Bytes per read.
    pub read_bytes: usize,
    /// Idle timeout: the longest wait for a request, and for the next byte of its body.
    pub idle_timeout: Duration,
    /// The longest wait for a client to accept more of a response.
    pub send_timeout: Duration,
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
    /// nginx's `keepalive_timeout` 75 s, `send_timeout` and `client_header_timeout` 60 s, Apache's slowest body and lingering close of
    /// 2 s, Squid's `read_timeout` 15 min for tunnels. A read of 16 KiB holds the largest head.
    fn default() -> Settings {
        Settings {
            limits: CodecLimits::SERVER,
            read_bytes: 16 * 1024,
            idle_timeout: Duration::from_secs(75),
            send_timeout: Duration::from_secs(60),
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
    pub(crate) fn patience(&self) -> RelayTimeout {
        let Settings { tunnel_timeout, idle_timeout, .. } = self.settings;
        RelayTimeout { open: tunnel_timeout, half_closed: idle_timeout }
    }

    /// A timer of its wheel.
    pub(crate) fn timer(&self) -> Timer {
        self.wheel.timer()
    }

    /// An empty input buffer.
    fn input(&self) -> Buffer {
        let spare = self.inputs.borrow_mut().pop();
        spare.unwrap_or_else(|| Buffer::new(self.settings.read_bytes))
    }

    /// Returns an empty input buffer to the pool.
    fn return_input(&self, buffer: Buffer) {
        debug_assert!(buffer.is_empty(), "a buffer is returned when all of it is used");
        keep(&mut self.inputs.borrow_mut(), buffer);
    }

    /// An empty outbox.
    fn outbox(&self) -> Outbox {
        self.outboxes.borrow_mut().pop().unwrap_or_default()
    }

    /// Returns an empty outbox to the pool.
    fn return_outbox(&self, outbox: Outbox) {
        debug_assert!(outbox.is_empty(), "an outbox is returned when all of it is sent");
        keep(&mut self.outboxes.borrow_mut(), outbox);
    }
}

fn keep<T>(spares: &mut Vec<T>, spare: T) {
    if spares.len() < SPARES {
        spares.push(spare);
    }
}

// A connection that has become a tunnel (RFC 9110 section 9.3.6), or has switched protocols (section 7.8).

impl<S: Transport> ServerConnection<'_, S> {
    /// Grants the tunnel, joins the connection to `far`, and returns how that ended. Bytes that the client sent ahead go first.
    async fn tunnel(&mut self, far: Box<dyn Duplex>) -> Ended {
        // No framing field: everything after it belongs to the tunnel.
        self.outbox.text(b"HTTP/1.1 200 OK\r\n\r\n");
        self.join(far).await
    }

    /// Announces the protocol switch, joins the connection to `far`, and returns how that ended.
    async fn switch(&mut self, head: &Response<()>, far: Box<dyn Duplex>) -> Ended {
        self.outbox.with_text(|text| {
            encode::open_head(text, StatusCode::SWITCHING_PROTOCOLS, head.headers());
            text.extend_from_slice(b"connection: upgrade\r\n\r\n");
        });
        self.join(far).await
    }

    async fn join(&mut self, mut far: Box<dyn Duplex>) -> Ended {
        if let Err(ended) = self.send().await {
            return ended;
        }
        let (carried, patience) = (self.input.take(), self.core.patience());
        let ends = (&mut self.stream, &mut *far);
        match join(ends, carried, self.core, &self.timer, patience).await {
            Ok(RelayEnd::Ended) => Ended::Orderly,
            Ok(RelayEnd::Stalled) => Ended::Stalled,
            Err(error) => Ended::Broken(error),
        }
    }
}

impl BufferPool for Core {
    fn lend(&self) -> Buffer {
        self.input()
    }

    fn take_back(&self, buffer: Buffer) {
        self.return_input(buffer);
    }
}
