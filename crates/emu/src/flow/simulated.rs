//! The flow by the simulated TCP, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use net::Packet;
use tcp::{Config, Connection, Segment};
use units::Time;

use super::{
    Acknowledgement, CHUNK_BYTES, ComparedFlow, DataPacket, FlowBuffers, FlowTrace, REQUEST_BYTES,
};
use crate::DroppingLink;

/// A flow that takes longer is given up.
const LIMIT: Time = Time::from_millis(600_000);
/// Equivalent of the kernel run's settings: half of the receiver's memory is window.
const AMPLE_WINDOW_BYTES: u64 = 8 << 20;
const AMPLE_SEND_BYTES: u64 = 64 << 20;
static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// Step of the clock phase between runs: a sixteenth of a millisecond, modulo one, and a large part of a tick of 4 ms.
const PHASE_STEP_US: u64 = 812;

/// Sends `flow` between endpoints configured by `config`, with the flow's own congestion control. `run` sets what differs between
/// runs of a kernel: the phase of its clocks, and its random numbers. Run 0 begins with a tick.
pub fn simulate(flow: &ComparedFlow, config: &Config, run: u64) -> FlowTrace {
    let mut run = Simulation::new(flow, config, run);
    while !run.is_over() && run.now < LIMIT {
        run.step();
    }
    run.trace
}

struct Simulation {
    began: Time,
    now: Time,
    client: Connection,
    server: Option<Connection>,
    server_config: Arc<Config>,
    /// Seed of the server's random numbers.
    seed: u64,
    up: DroppingLink<Segment>,
    /// Segments, each with its index in the trace if it carries data.
    down: DroppingLink<(Segment, Option<usize>)>,
    user: User,
    origin: Application,
    trace: FlowTrace,
}

/// The client's application.
struct User {
    /// Think time and response of the remaining exchanges, the next one last.
    left: Vec<(Duration, u64)>,
    /// Time of the next request.
    asks: Option<Time>,
    /// Bytes of the response still to come.
    awaits: u64,
}

/// The server's application.
struct Application {
    /// Remaining responses, the next one last.
    responses: Vec<u64>,
    /// Bytes of the current response not yet written.
    unwritten: u64,
    /// The last write found no room: the next one waits until the socket is writable.
    blocked: bool,
}

impl Simulation {
    fn new(flow: &ComparedFlow, config: &Config, run: u64) -> Simulation {
        let began = Time::ZERO + Duration::from_micros(run * PHASE_STEP_US);
        // Neither end sets TCP_NODELAY.
        let mut config = Config { nagle: true, ..config.clone() };
        if flow.buffers == FlowBuffers::Ample {
            config.receive_buffer.initial_bytes = AMPLE_WINDOW_BYTES;
            config.receive_buffer.max_bytes = AMPLE_WINDOW_BYTES;
            config.send_buffer.initial_bytes = AMPLE_SEND_BYTES;
            config.send_buffer.max_bytes = AMPLE_SEND_BYTES;
        }
        let server_config = Config { congestion: flow.congestion, ..config.clone() };
        let exchanges = flow.exchanges.iter().rev();
        let left = exchanges.clone().map(|exchange| (exchange.think, exchange.response_bytes));
        let responses = exchanges.map(|exchange| exchange.response_bytes);
        Simulation {
            began,
            now: began,
            client: Connection::connect(Arc::new(config), began),
            server: None,
            server_config: Arc::new(server_config),
            seed: run,
            up: flow.up(),
            down: flow.down(),
            user: User { left: left.collect(), asks: None, awaits: 0 },
            origin: Application { responses: responses.collect(), unwritten: 0, blocked: false },
            trace: FlowTrace::default(),
        }
    }

    /// The time in the trace.
    fn elapsed(&self) -> Time {
        Time::ZERO + (self.now - self.began)
    }

    /// True if everything was requested, received and acknowledged.
    fn is_over(&self) -> bool {
        let unacknowledged =
            self.server.as_ref().map_or(0, |server| server.stats().unacknowledged_bytes);
        self.user.left.is_empty() && self.user.awaits == 0 && unacknowledged == 0
    }

    fn step(&mut self) {
        self.run_client();
        self.run_server();
        let server = self.server.as_ref().and_then(Connection::deadline);
        let times = [
            self.up.deadline(),
            self.down.deadline(),
            self.client.deadline(),
            server,
            self.user.asks,
        ];
        let Some(next) = times.into_iter().flatten().min() else {
            self.now = LIMIT;
            return;
        };
        self.now = self.now.max(next);
        while let Some(segment) = self.up.poll(self.now) {
            self.deliver_up(segment.body);
        }
        while let Some(arrived) = self.down.poll(self.now) {
            let (segment, index) = arrived.body;
            self.trace.data_arrived(index, self.elapsed());
            self.client.handle(self.now, segment);
            self.run_client();
        }
        self.client.handle_timeout(self.now);
        if let Some(server) = &mut self.server {
            server.handle_timeout(self.now);
        }
    }

    fn deliver_up(&mut self, segment: Segment) {
        let Some(server) = &mut self.server else {
            let config = self.server_config.clone();
            let mut server = Connection::accept(config, self.now, &segment);
            server
                .draw_from(self.now, chance::RandomSource::new(self.seed, 0).stream("congestion"));
            self.server = Some(server);
            self.send_down();
            return;
        };
        let (ack, window_bytes) = (segment.ack, segment.window_bytes);
        server.handle(self.now, segment);
        self.send_down();
        self.run_server();
        let stats = self.server.as_ref().map(Connection::stats);
        let at = self.elapsed();
        self.trace.acknowledgements.extend(stats.map(|stats| Acknowledgement {
            at,
            ack,
            window_bytes,
            cwnd: stats.cwnd,
            ssthresh: stats.ssthresh,
        }));
    }

    /// Runs the client's application and endpoint as far as possible.
    fn run_client(&mut self) {
        let now = self.now;
        while let Some(slice) = self.client.read_bytes(now, CHUNK_BYTES) {
            self.user.awaits -= slice.len() as u64;
        }
        self.user.run(now, &mut self.client);
        while let Some(segment) = self.client.poll(now) {
            let (packet, payload) = sizes(&segment);
            let _unlimited = self.up.handle(now, packet, payload, segment);
        }
    }

    /// Runs the server's application and endpoint as far as possible; each write is pushed before the next.
    fn run_server(&mut self) {
        let now = self.now;
        self.send_down();
        while self.server.as_mut().is_some_and(|server| self.origin.run(now, server)) {
            self.send_down();
        }
    }

    fn send_down(&mut self) {
        let at = self.elapsed();
        let Some(server) = &mut self.server else { return };
        while let Some(segment) = server.poll(self.now) {
            let (packet, payload) = sizes(&segment);
            let index = (payload > 0).then_some(self.trace.data.len());
            if payload > 0 {
                self.trace.data.push(DataPacket {
                    at,
                    seq: segment.seq,
                    len: payload as u32,
                    arrives: None,
                });
            }
            let _traced = self.down.handle(self.now, packet, payload, (segment, index));
        }
    }
}

fn sizes(segment: &Segment) -> (Packet, usize) {
    (Packet::new(segment.wire_bytes()), segment.payload.len())
}

impl User {
    fn run(&mut self, now: Time, client: &mut Connection) {
        if !client.is_established() || self.awaits > 0 {
            return;
        }
        let Some((think, response)) = self.left.last().copied() else { return };
        let asks = *self.asks.get_or_insert(now + think);
        if asks <= now {
            client.write(now, &[0; REQUEST_BYTES]);
            self.awaits = response;
            self.asks = None;
            self.left.pop();
        }
    }
}

impl Application {
    /// Reads everything available and writes once; returns true if the write succeeded.
    fn run(&mut self, now: Time, server: &mut Connection) -> bool {
        while server.read_bytes(now, REQUEST_BYTES).is_some() {
            // A request is one segment.
            self.unwritten += self.responses.pop().unwrap_or(0);
        }
        if self.unwritten == 0 || (self.blocked && !server.is_writable()) {
            return false;
        }
        let len = self.unwritten.min(CHUNK_BYTES as u64) as usize;
        let written = server.write_bytes(now, Bytes::from_static(&ZEROS[..len]));
        self.unwritten -= written as u64;
        self.blocked = written == 0;
        !self.blocked
    }
}

impl FlowTrace {
    fn data_arrived(&mut self, index: Option<usize>, at: Time) {
        if let Some(packet) = index.and_then(|index| self.data.get_mut(index)) {
            packet.arrives = Some(at);
        }
    }
}
