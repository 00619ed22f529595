//! Two endpoints joined by a simple path: a rate, a delay, a droptail queue, seeded mishaps.

#![allow(dead_code)] // Each test binary uses its own part.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chance::RandomStream;
use farlink_tcp::{Config, Connection, Ecn, Segment};
use units::{BitsPerSec, Time};

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// Observer of the segments that each end sends and receives.
pub trait Tap {
    /// `segment` left `end`.
    fn sent(&mut self, side: Side, end: &Connection, segment: &Segment);
    /// `segment` is about to be handed to that end.
    fn arrived(&mut self, side: Side, segment: &Segment);
    /// `end` has sent all that it can for now.
    fn settled(&mut self, side: Side, end: &Connection);
}

/// One direction of a path.
pub struct Pipe {
    pub rate: BitsPerSec,
    pub delay: Duration,
    /// Maximum number of packets waiting behind the one in service.
    pub queue_packets: usize,
    /// With more than this many waiting, ECN-capable packets are marked.
    pub mark_above: usize,
    pub loss: f64,
    /// The probability that the packet after a lost one is lost, too; none: the same as for any other.
    pub burst: Option<f64>,
    pub duplicate: f64,
    /// The probability that an ECN-capable packet is marked instead of carried unchanged.
    pub mark: f64,
    /// Each packet is delayed by a random span up to this, which reorders.
    pub jitter: Duration,
    /// Packets to drop, counted from 0 in the order of sending.
    pub drops: Vec<u64>,
    /// Drop one packet in this many, evenly spaced; 0: none.
    pub drop_every: u64,
    pub sent: u64,
    pub dropped: u64,
    pub marked: u64,
    pub delivered_wire_bytes: u64,
    chance: RandomStream,
    lost_last: bool,
    /// Time at which each queued packet will have been sent; after the last the line is free.
    departures: VecDeque<Time>,
}

impl Pipe {
    pub fn new(purpose: &str, seed: u64) -> Pipe {
        Pipe {
            rate: BitsPerSec::UNLIMITED,
            delay: Duration::from_millis(50),
            queue_packets: usize::MAX,
            mark_above: usize::MAX,
            loss: 0.0,
            burst: None,
            duplicate: 0.0,
            mark: 0.0,
            jitter: Duration::ZERO,
            drops: Vec::new(),
            drop_every: 0,
            sent: 0,
            dropped: 0,
            marked: 0,
            delivered_wire_bytes: 0,
            chance: chance::RandomSource::new(seed, 0).stream(purpose),
            lost_last: false,
            departures: VecDeque::new(),
        }
    }

    /// Arrival times of the copies of a packet.
    fn carry(&mut self, now: Time, segment: &mut Segment) -> Vec<Time> {
        let bytes = u64::from(segment.wire_bytes());
        let number = self.sent;
        self.sent += 1;
        let loss = self.burst.filter(|_| self.lost_last).unwrap_or(self.loss);
        let unlucky = self.chance.happens(loss);
        self.lost_last = unlucky;
        let twice = self.chance.happens(self.duplicate);
        while self.departures.front().is_some_and(|at| *at <= now) {
            self.departures.pop_front();
        }
        let full = self.departures.len() > self.queue_packets;
        let unwanted = self.drop_every > 0 && number % self.drop_every == self.drop_every - 1;
        if unlucky || full || unwanted || self.drops.contains(&number) {
            self.dropped += 1;
            return Vec::new();
        }
        if self.departures.len() > self.mark_above && segment.ecn == Ecn::Ect0 {
            segment.ecn = Ecn::Ce;
            self.marked += 1;
        }
        let free = self.departures.back().copied().unwrap_or(now).max(now);
        let departs = free + self.rate.time_for(bytes);
        if self.rate != BitsPerSec::UNLIMITED {
            self.departures.push_back(departs);
        }
        self.delivered_wire_bytes += bytes;
        let copies = if twice { 2 } else { 1 };
        (0..copies).map(|_| departs + self.delay + self.chance.span(self.jitter)).collect()
    }
}

struct Arrival {
    at: Time,
    order: u64,
    to_server: bool,
    segment: Segment,
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Arrival) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Arrival {}
impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Arrival) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Arrival {
    fn cmp(&self, other: &Arrival) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// A client, a server and the path between them.
pub struct World {
    pub now: Time,
    pub client: Connection,
    pub server: Option<Connection>,
    server_config: Arc<Config>,
    pub up: Pipe,
    pub down: Pipe,
    arrivals: BinaryHeap<Reverse<Arrival>>,
    order: u64,
    pub tap: Option<Box<dyn Tap>>,
    /// Time at which an application wants to act again if nothing happens before.
    pub wake: Option<Time>,
    /// Segments that the server has sent: time, sequence number and length, without keeping the payload alive.
    pub server_log: Vec<(Time, u64, usize)>,
    /// Acknowledgements of the client, by time.
    pub client_log: Vec<(Time, u64)>,
}

impl World {
    pub fn new(client: Config, server: Config, seed: u64) -> World {
        World {
            now: Time::ZERO,
            client: Connection::connect(Arc::new(client), Time::ZERO),
            server: None,
            server_config: Arc::new(server),
            up: Pipe::new("up", seed),
            down: Pipe::new("down", seed),
            arrivals: BinaryHeap::new(),
            order: 0,
            tap: None,
            wake: None,
            server_log: Vec::new(),
            client_log: Vec::new(),
        }
    }

    pub fn both(&mut self, set: impl Fn(&mut Pipe)) {
        set(&mut self.up);
        set(&mut self.down);
    }

    fn launch(&mut self, to_server: bool, mut segment: Segment) {
        let pipe = if to_server { &mut self.up } else { &mut self.down };
        if segment.ecn == Ecn::Ect0 && pipe.chance.happens(pipe.mark) {
            segment.ecn = Ecn::Ce;
            pipe.marked += 1;
        }
        for at in pipe.carry(self.now, &mut segment) {
            self.order += 1;
            let arrival = Arrival { at, order: self.order, to_server, segment: segment.clone() };
            self.arrivals.push(Reverse(arrival));
        }
    }

    fn flush(&mut self) {
        while let Some(segment) = self.client.poll(self.now) {
            if let Some(tap) = &mut self.tap {
                tap.sent(Side::Client, &self.client, &segment);
            }
            self.client_log.push((self.now, segment.ack));
            self.launch(true, segment);
        }
        while let Some(server) = &mut self.server
            && let Some(segment) = server.poll(self.now)
        {
            if let Some(tap) = &mut self.tap {
                tap.sent(Side::Server, server, &segment);
            }
            self.server_log.push((self.now, segment.seq, segment.payload.len()));
            self.launch(false, segment);
        }
        if let Some(tap) = &mut self.tap {
            tap.settled(Side::Client, &self.client);
            self.server.iter().for_each(|server| tap.settled(Side::Server, server));
        }
    }

    /// Runs one event; returns false when nothing is left to happen before `until`.
    pub fn step(&mut self, until: Time) -> bool {
        self.flush();
        let arrival = self.arrivals.peek().map_or(Time::NEVER, |Reverse(arrival)| arrival.at);
        let server = self.server.as_ref().and_then(Connection::deadline);
        let timer = self.client.deadline().into_iter().chain(server).min().unwrap_or(Time::NEVER);
        let wake = self.wake.unwrap_or(Time::NEVER);
        let next = arrival.min(timer).min(wake);
        if next > until || next == Time::NEVER {
            self.now = if until == Time::NEVER { self.now } else { until.max(self.now) };
            return false;
        }
        self.now = next.max(self.now);
        if wake <= self.now {
            self.wake = None;
        }
        if arrival.min(timer) > next {
            return true;
        }
        if arrival <= timer {
            let Some(Reverse(arrival)) = self.arrivals.pop() else { return false };
            if let Some(tap) = &mut self.tap {
                let side = if arrival.to_server { Side::Server } else { Side::Client };
                tap.arrived(side, &arrival.segment);
            }
            if arrival.to_server {
                match &mut self.server {
                    Some(server) => server.handle(self.now, arrival.segment),
                    None => {
                        let config = self.server_config.clone();
                        self.server = Some(Connection::accept(config, self.now, &arrival.segment));
                    }
                }
            } else {
                self.client.handle(self.now, arrival.segment);
            }
        } else {
            self.client.handle_timeout(self.now);
            if let Some(server) = &mut self.server {
                server.handle_timeout(self.now);
            }
        }
        true
    }

    /// Runs until `done` or `limit`; calls `app` between events. Returns the time at which it was done.
    pub fn run(&mut self, limit: Time, mut app: impl FnMut(&mut World) -> bool) -> Option<Time> {
        loop {
            if app(self) {
                self.flush();
                return Some(self.now);
            }
            if !self.step(limit) {
                return None;
            }
        }
    }

    /// The client sends a request of `request` bytes; the server answers with `response` bytes. Returns the time at which the client
    /// has read all of it.
    pub fn fetch(&mut self, request: usize, response: usize, limit: Time) -> Option<Time> {
        let (mut asked, mut heard, mut answered, mut received) = (0, 0, 0, 0);
        let mut buf = vec![0; 1 << 16];
        self.run(limit, |world| {
            let now = world.now;
            if world.client.is_established() && asked < request {
                asked += world.client.write(now, &vec![1; request - asked]);
            }
            if let Some(server) = &mut world.server {
                heard += server.read(now, &mut buf);
                while heard >= request
                    && answered < response
                    && (answered == 0 || server.is_writable())
                {
                    let n = server.write(now, &buf[..buf.len().min(response - answered)]);
                    if n == 0 {
                        break;
                    }
                    answered += n;
                }
            }
            loop {
                let n = world.client.read(now, &mut buf);
                received += n;
                if n == 0 {
                    break;
                }
            }
            received >= response
        })
    }

    /// The server sends without end once it got a request; returns the number of bytes that the client has read by `until`.
    pub fn download_until(&mut self, until: Time) -> usize {
        self.download_watched(until, |_, _| ())
    }

    /// Like [`download_until`](World::download_until); `watch` sees the world between events, and the number of bytes read.
    pub fn download_watched(&mut self, until: Time, mut watch: impl FnMut(&World, usize)) -> usize {
        let (mut asked, mut received) = (false, 0);
        let mut buf = vec![0; 1 << 16];
        self.run(until, |world| {
            let now = world.now;
            if world.client.is_established() && !asked {
                asked = world.client.write(now, b"?") > 0;
            }
            if let Some(server) = &mut world.server {
                server.read(now, &mut buf);
                // Until it takes no more, like a sender with unlimited data.
                while server.write(now, &buf) > 0 {}
            }
            loop {
                let n = world.client.read(now, &mut buf);
                received += n;
                if n == 0 {
                    break;
                }
            }
            watch(world, received);
            false
        });
        received
    }
}
