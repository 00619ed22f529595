//! The link emulator: carries packets between two interfaces as the simulator's links say, in real time.
//!
//! One thread. A packet's fate and departure are decided from the time at which the kernel saw it arrive, so that waking up late costs no
//! capacity; it only delivers late, and how late is logged. Waiting is `ppoll` with a deadline in nanoseconds. Each packet is released by itself
//! at its own time, without spinning: good for some 100 Mbit/s.
//!
//! Left out: coalescing of releases for faster links; queues whose drops depend on when packets *leave* see arrivals in batches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use net::Verdict;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::Time;

use crate::clock::Clock;
use crate::headers::{TcpNumbers, locate};
use crate::log::{Fate, Log, Passage};
use crate::offload::{Frame, cut};
use crate::packet_socket::PacketSocket;
use crate::path::Path;
use crate::realtime;
use crate::testbed::Side;
use crate::{Error, headers};

/// How soon a request to stop is noticed.
const PATIENCE: Duration = Duration::from_millis(20);

/// A packet in a link, and its place in the log.
pub struct Carried {
    frame: Frame,
    passage: usize,
}

/// One direction.
struct Lane {
    from: Side,
    path: Path<Carried>,
    /// Nothing enters or leaves before what entered or left last.
    reached: Time,
}

/// An emulator between the two ends of a testbed.
pub struct Emulator {
    clock: Clock,
    client: PacketSocket,
    server: PacketSocket,
    lanes: [Lane; 2],
    log: Log,
}

impl Emulator {
    /// Opens the interfaces in the middle of a [`Testbed`](crate::Testbed); call it in there.
    pub fn new(up: Path<Carried>, down: Path<Carried>) -> Result<Emulator, Error> {
        let lane = |from, path| Lane { from, path, reached: Time::ZERO };
        Ok(Emulator {
            clock: Clock::start(),
            client: PacketSocket::open(Side::Client.interface())?,
            server: PacketSocket::open(Side::Server.interface())?,
            lanes: [lane(Side::Client, up), lane(Side::Server, down)],
            log: Log::default(),
        })
    }

    /// Carries packets until `stop` is set; `delivered` is called after each that reached its end.
    pub fn run(
        mut self,
        stop: &AtomicBool,
        mut delivered: impl FnMut(usize, &Passage),
    ) -> Result<Log, Error> {
        self.log.realtime = realtime::prioritise();
        while !stop.load(Ordering::Relaxed) {
            for lane in 0..self.lanes.len() {
                self.take_in(lane)?;
            }
            for lane in 0..self.lanes.len() {
                self.give_out(lane, &mut delivered)?;
            }
            self.wait()?;
        }
        self.log.overruns = self.client.overruns()? + self.server.overruns()?;
        Ok(self.log)
    }

    /// Hands everything that arrived on one side to its link.
    fn take_in(&mut self, lane: usize) -> Result<(), Error> {
        let lane = &mut self.lanes[lane];
        let socket = match lane.from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        while let Some(arrival) = socket.receive(&self.clock)? {
            lane.reached = lane.reached.max(arrival.at);
            for frame in cut(arrival.header, arrival.bytes) {
                lane.enter(frame, &mut self.log);
            }
        }
        Ok(())
    }

    /// Releases everything that is due.
    fn give_out(
        &mut self,
        lane: usize,
        delivered: &mut impl FnMut(usize, &Passage),
    ) -> Result<(), Error> {
        let lane = &mut self.lanes[lane];
        let socket = match lane.from {
            Side::Client => &self.server,
            Side::Server => &self.client,
        };
        while let Some(due) = lane.path.deadline().filter(|due| *due <= self.clock.now()) {
            lane.reached = lane.reached.max(self.clock.now());
            let Some(carried) = lane.path.poll(lane.reached) else { break };
            socket.send(&carried.frame)?;
            let passage = &mut self.log.passages[carried.passage];
            passage.fate = Fate::Delivered { due, left: self.clock.now() };
            delivered(carried.passage, passage);
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), Error> {
        let now = self.clock.now();
        let due = self.lanes.iter().filter_map(|lane| lane.path.deadline()).min();
        let wait = due.map_or(PATIENCE, |due| (due - now).min(PATIENCE));
        let mut fds = [&self.client, &self.server]
            .map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN));
        match ppoll(&mut fds, Some(TimeSpec::from(wait)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(Error::System { what: "failed to wait for packets", errno }),
        }
    }
}

impl Lane {
    fn enter(&mut self, frame: Frame, log: &mut Log) {
        let at = locate(&frame.bytes);
        let wire_bytes = at.map_or(frame.bytes.len() - headers::ETHERNET, |at| at.wire_bytes());
        let payload_bytes = at.map_or(0, |at| at.payload_bytes());
        let tcp = at.map(|at| TcpNumbers::read(&frame.bytes, &at));
        let carried = Carried { frame, passage: log.passages.len() };
        let verdict = self.path.handle(self.reached, wire_bytes, payload_bytes, carried);
        log.passages.push(Passage {
            from: self.from,
            arrived: self.reached,
            wire_bytes: wire_bytes as u32,
            tcp,
            fate: match verdict {
                Verdict::Queued => Fate::Underway,
                Verdict::Dropped(cause) => Fate::Dropped(cause),
            },
        });
    }
}
