//! The link emulator: carries packets between two interfaces as the simulator's links say, in real time.
//!
//! One thread, two clocks. The link's time runs from departure to departure, in their order; the machine's time decides when each is carried out. A
//! packet's fate follows from when the kernel saw it arrive, so that waking up late costs no capacity; it only delivers late, and how late is
//! logged. What an end sends *while* it is handed a packet - the acknowledgement of data, the data that an acknowledgement lets out - enters
//! its link at the time at which that packet was due: lateness does not add up along a connection, and the ends' own processing takes no time, as
//! in the simulation. What timers and applications send enters when it is sent.
//!
//! Waiting is `ppoll` with a deadline in nanoseconds. Each packet is released by itself, without spinning: good for some 100 Mbit/s. Left out:
//! coalescing of releases for faster links.

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
#[derive(Clone)]
pub struct Carried {
    frame: Frame,
    passage: usize,
}

/// One direction.
struct Lane {
    from: Side,
    path: Path<Carried>,
    /// The link's time: nothing enters or leaves before what entered or left last.
    reached: Time,
}

/// A packet that was handed to an end.
#[derive(Clone, Copy)]
struct Delivery {
    due: Time,
    left: Time,
}

/// An emulator between the two ends of a testbed.
pub struct Emulator {
    clock: Clock,
    /// By [`Side`].
    sockets: [PacketSocket; 2],
    /// By the [`Side`] whence packets come.
    lanes: [Lane; 2],
    log: Log,
}

impl Emulator {
    /// Opens the interfaces in the middle of a [`Testbed`](crate::Testbed); call it in there.
    pub fn new(up: Path<Carried>, down: Path<Carried>) -> Result<Emulator, Error> {
        let lane = |from, path| Lane { from, path, reached: Time::ZERO };
        Ok(Emulator {
            clock: Clock::start(),
            sockets: [
                PacketSocket::open(Side::Client.interface())?,
                PacketSocket::open(Side::Server.interface())?,
            ],
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
            self.take_in(Side::Client, None)?;
            self.take_in(Side::Server, None)?;
            self.give_out(&mut delivered)?;
            self.wait()?;
        }
        for socket in &self.sockets {
            self.log.overruns += socket.overruns()?;
        }
        Ok(self.log)
    }

    /// Hands everything that arrived on one side to its link; `answers` says what has just been handed to that side.
    fn take_in(&mut self, from: Side, answers: Option<Delivery>) -> Result<(), Error> {
        let lane = &mut self.lanes[from as usize];
        let socket = &mut self.sockets[from as usize];
        while let Some(arrival) = socket.receive(&self.clock)? {
            let at = match answers {
                Some(delivery) if arrival.at >= delivery.left => delivery.due,
                _ => arrival.at,
            };
            lane.reached = lane.reached.max(at);
            for frame in cut(arrival.header, arrival.bytes) {
                lane.enter(frame, &mut self.log);
            }
        }
        Ok(())
    }

    /// Releases everything that is due, in the order of the link's time.
    fn give_out(&mut self, delivered: &mut impl FnMut(usize, &Passage)) -> Result<(), Error> {
        while let Some((due, from)) = self.next_due().filter(|(due, _)| *due <= self.clock.now()) {
            let lane = &mut self.lanes[from as usize];
            lane.reached = lane.reached.max(due);
            let Some(carried) = lane.path.poll(lane.reached) else { break };
            let to = from.peer();
            // Before the call: the far end answers within it.
            let left = self.clock.now();
            self.sockets[to as usize].send(&carried.frame)?;
            let passage = &mut self.log.passages[carried.passage];
            passage.fate = Fate::Delivered { due, left };
            delivered(carried.passage, passage);
            self.take_in(to, Some(Delivery { due, left }))?;
        }
        Ok(())
    }

    fn next_due(&self) -> Option<(Time, Side)> {
        let due = |lane: &Lane| lane.path.deadline().map(|due| (due, lane.from));
        self.lanes.iter().filter_map(due).min_by_key(|(due, _)| *due)
    }

    fn wait(&self) -> Result<(), Error> {
        let now = self.clock.now();
        let wait = self.next_due().map_or(PATIENCE, |(due, _)| (due - now).min(PATIENCE));
        let mut fds =
            self.sockets.each_ref().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN));
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
