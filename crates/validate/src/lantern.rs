//! A model like Lantern, Lighthouse's estimate of page load times, written from its published description.
//!
//! A validation that a simpler model would pass as well is worth little. Lantern is the simpler model that people use: it
//! replays the page's graph over connections that know slow start and nothing else.
//!
//! - A connection costs a round trip for TCP, and for TLS none, one (TLS 1.3) or two (TLS 1.2). HTTP/1 opens as many per host as the
//!   browser does; all other protocols, HTTP/3 among them, open one.
//! - A response arrives in rounds, a round trip each: ten segments in the first, twice as many in each one after, never more than
//!   an equal share of the rate carries in a round trip.
//! - At most ten requests are in flight, and no more than the path holds segments; the others wait in the order of their discovery.
//! - An object is discovered when the objects that it waits for are complete, after their work.
//!
//! No queue, no loss, no uplink, no priorities. It is a function of page, network and stack, and has no repetitions.
//!
//! Source: Lighthouse, `docs/lantern.md`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use net::Network;
use page::{Object, Page};
use scenario::{Protocol, Stack, Tls};
use units::Time;

/// Payload of a segment.
const SEGMENT_BYTES: u64 = 1460;
/// Segments of the first round.
const INITIAL_WINDOW: u64 = 10;
/// Maximum number of requests in flight.
const MAX_IN_FLIGHT: u64 = 10;

/// The model's page load time of `page`, loaded with at most `connections` connections of HTTP/1 per host.
pub fn page_load_time(
    page: &Page,
    network: &Network,
    stack: &Stack,
    connections: usize,
) -> Duration {
    Load::new(page, network, stack, connections).run()
}

/// A connection, idle unless it is multiplexed or its request is done.
#[derive(Clone, Copy, Debug)]
struct Connection {
    host: usize,
    is_open: bool,
    is_busy: bool,
    /// Segments of a round.
    window: u64,
}

/// An event of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A round of its response has arrived.
    Round,
    /// It is discovered.
    Discovered,
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    connection: usize,
    left: u64,
    window: u64,
}

struct Load<'a> {
    page: &'a Page,
    stack: &'a Stack,
    connections_per_host: usize,
    rtt: Duration,
    bytes_per_rtt: u64,
    agenda: BinaryHeap<Reverse<(Time, Event, usize)>>,
    waiting: Vec<usize>,
    connections: Vec<Connection>,
    transfers: Vec<Option<Transfer>>,
    in_flight: u64,
    /// Objects that each object still waits for.
    missing: Vec<usize>,
}

impl<'a> Load<'a> {
    fn new(page: &'a Page, network: &Network, stack: &'a Stack, connections: usize) -> Load<'a> {
        let rtt = network.rtt();
        let rate = network.down_links().map(|link| link.rate.mean().0).min().unwrap_or(u64::MAX);
        let bytes_per_rtt = rate as f64 / 8.0 * rtt.as_secs_f64();
        Load {
            page,
            stack,
            connections_per_host: connections.max(1),
            rtt,
            bytes_per_rtt: bytes_per_rtt as u64,
            agenda: BinaryHeap::new(),
            waiting: Vec::new(),
            connections: Vec::new(),
            transfers: vec![None; page.objects.len()],
            in_flight: 0,
            missing: page.objects.iter().map(|object| object.waits_for.len()).collect(),
        }
    }

    fn run(mut self) -> Duration {
        for (index, object) in self.page.objects.iter().enumerate() {
            if object.waits_for.is_empty() {
                self.agenda.push(Reverse((Time::ZERO, Event::Discovered, index)));
            }
        }
        let mut loaded = Time::ZERO;
        while let Some(Reverse((now, event, index))) = self.agenda.pop() {
            match event {
                Event::Discovered => self.waiting.push(index),
                Event::Round if self.take_round(now, index) => {
                    if self.page.objects[index].blocks_load {
                        loaded = now;
                    }
                    self.discover_from(now, index);
                }
                Event::Round => continue,
            }
            self.start_waiting(now);
        }
        loaded.since(Time::ZERO)
    }

    /// Takes the bytes of a round; returns true if they complete the response.
    fn take_round(&mut self, now: Time, index: usize) -> bool {
        let limit = (self.bytes_per_rtt / self.in_flight.max(1) / SEGMENT_BYTES).max(1);
        let transfer = self.transfers[index].as_mut().expect("rounds belong to requests in flight");
        let window = transfer.window.min(limit);
        transfer.left = transfer.left.saturating_sub(window * SEGMENT_BYTES);
        transfer.window = window * 2;
        if transfer.left > 0 {
            self.agenda.push(Reverse((now + self.rtt, Event::Round, index)));
            return false;
        }
        let connection = &mut self.connections[transfer.connection];
        (connection.is_busy, connection.window) = (false, window);
        self.in_flight -= 1;
        true
    }

    /// Lets the objects be discovered that waited for this one last.
    fn discover_from(&mut self, now: Time, parent: usize) {
        for (index, object) in self.page.objects.iter().enumerate().skip(parent + 1) {
            let edge = object.waits_for.iter().find(|edge| edge.object.0 as usize == parent);
            let Some(edge) = edge else { continue };
            self.missing[index] -= 1;
            if self.missing[index] == 0 {
                let at = now + edge.compute.value;
                self.agenda.push(Reverse((at, Event::Discovered, index)));
            }
        }
    }

    /// Sends the requests that find a connection.
    fn start_waiting(&mut self, now: Time) {
        let most = (self.bytes_per_rtt / SEGMENT_BYTES).clamp(1, MAX_IN_FLIGHT);
        let mut still = Vec::new();
        for index in std::mem::take(&mut self.waiting) {
            let connection = if self.in_flight < most { self.connection(index) } else { None };
            match connection {
                Some(connection) => self.start(now, index, connection),
                None => still.push(index),
            }
        }
        self.waiting = still;
    }

    fn start(&mut self, now: Time, index: usize, connection: usize) {
        let object = &self.page.objects[index];
        let Connection { is_open, window, .. } = self.connections[connection];
        let handshakes = if is_open { 0 } else { 1 + self.tls_round_trips(object) };
        let first = self.rtt * (handshakes + 1) + object.think.value;
        self.connections[connection].is_open = true;
        self.connections[connection].is_busy = !self.is_multiplexed(object);
        let left = object.body_bytes + u64::from(object.response_header_bytes);
        self.transfers[index] = Some(Transfer { connection, left, window });
        self.in_flight += 1;
        self.agenda.push(Reverse((now + first, Event::Round, index)));
    }

    /// A connection for this object: one that is open, or else a new one.
    fn connection(&mut self, index: usize) -> Option<usize> {
        let object = &self.page.objects[index];
        let host = object.host.0 as usize;
        let own = self.connections.iter().filter(|connection| connection.host == host).count();
        let idle = |connection: &Connection| connection.host == host && !connection.is_busy;
        let limit = if self.is_multiplexed(object) { 1 } else { self.connections_per_host };
        if self.stack.protocol == Protocol::H10
            && let Some(used) = self.connections.iter_mut().find(|connection| idle(connection))
        {
            (used.is_open, used.window) = (false, INITIAL_WINDOW);
        }
        let found = self.connections.iter().position(idle);
        if found.is_some() || own >= limit {
            return found;
        }
        let new = Connection { host, is_open: false, is_busy: false, window: INITIAL_WINDOW };
        self.connections.push(new);
        Some(self.connections.len() - 1)
    }

    fn tls_round_trips(&self, object: &Object) -> u32 {
        match self.stack.tls {
            _ if self.page.host_of(object).in_clear => 0,
            Tls::None => 0,
            Tls::Tls10 | Tls::Tls12 => 2,
            Tls::Tls13 => 1,
        }
    }

    fn is_multiplexed(&self, object: &Object) -> bool {
        match self.stack.protocol {
            Protocol::H10 | Protocol::H1 | Protocol::H1Pipelined => false,
            Protocol::H2 | Protocol::Spdy | Protocol::Spdy3 | Protocol::Spdy2 => true,
            Protocol::H3Deployed | Protocol::H3Matched => true,
            Protocol::Recorded => {
                let recorded = self.page.host_of(object).recorded_protocol.as_deref();
                matches!(recorded, Some("h2" | "h3" | "spdy"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(page: &str, network: &str, stack: &Stack) -> f64 {
        let page = page::open(page).unwrap();
        let network = Network::parse(network).unwrap();
        page_load_time(&page, &network, stack, 6).as_secs_f64()
    }

    fn stack(protocol: Protocol, tls: Tls) -> Stack {
        Stack { protocol, tls, ..Stack::default() }
    }

    #[track_caller]
    fn close(measured: f64, expected: f64) {
        assert!((measured - expected).abs() < 1e-6, "{measured}, not {expected}");
    }

    #[test]
    fn round_trips_by_hand() {
        // 100 ms at 100 Mbit/s hold 856 segments: ten requests in flight have 85 each, an object of 10 KB takes one round.
        let network = "rtt=100ms,down=100mbit,up=5mbit";
        // TCP, TLS, the document; ten images, then two.
        let h2 = time("synthetic:12x10KB", network, &stack(Protocol::H2, Tls::Tls13));
        close(h2, 0.5);
        // TCP, the document; six images, of which five on new connections and one on the document's; the other six.
        let h1 = time("synthetic:12x10KB", network, &stack(Protocol::H1, Tls::None));
        close(h1, 0.5);
        // Every request has its own connection: the document, six images, six more.
        let h10 = time("synthetic:12x10KB", network, &stack(Protocol::H10, Tls::None));
        close(h10, 0.6);
    }

    #[test]
    fn windows_double_up_to_the_share_of_the_rate() {
        // 100 KB with its head are 69 segments: 10, 20 and 39 of 40; at 2 Mbit/s 17 segments a round: 10, 17, 17, 17, 8.
        let h2 = stack(Protocol::H2, Tls::None);
        close(time("synthetic:1x100KB", "rtt=100ms,down=100mbit,up=5mbit", &h2), 0.2 + 0.3);
        close(time("synthetic:1x100KB", "rtt=100ms,down=2mbit,up=5mbit", &h2), 0.2 + 0.5);
    }
}
