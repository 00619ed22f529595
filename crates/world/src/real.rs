//! The machine's own clock and sockets: tokio on one thread, no work stealing.
//!
//! The only place, besides the real-time emulator and the command line, that reads a clock.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use chance::RandomSource;

use crate::ambient::{self, SharedContext, WorldKind};
use crate::report::Keeping;

mod clock;
mod inherited;
mod recorder;
mod tcp_socket;
mod timers;
mod udp_socket;

pub(crate) use clock::{epoch, now};
pub use inherited::inherit;
pub use recorder::report;
pub(crate) use tcp_socket::{TcpListener, TcpStream};
pub(crate) use timers::{Sleep, sleep_until};
pub(crate) use udp_socket::{BatchSocket, bind_udp};

/// Runs `future` on this thread, with the machine's clock and the kernel's sockets. Tasks that it
/// spawned and that are unfinished when it is done are dropped.
///
/// # Errors
/// If the runtime cannot be built (out of descriptors), or the clock cannot be shared as configured (on systems other than Linux).
///
/// # Panics
/// If the thread is in a world already.
pub fn run<F: Future>(config: Config, future: F) -> io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let keeping = match config.recording {
        Recording::Nothing => Keeping::Nothing,
        Recording::Endpoints => Keeping::Endpoints,
        Recording::Series(_) => Keeping::Series,
    };
    let common = SharedContext::new(config.source, config.hosts, keeping);
    let _entered = ambient::enter(WorldKind::Real, common);
    clock::start(config.began)?;
    recorder::install(config.recording);
    let _running = TeardownGuard;
    let tasks = tokio::task::LocalSet::new();
    tasks.spawn_local(timers::Dispatcher::default());
    if let Recording::Series(sampling) = config.recording {
        tasks.spawn_local(recorder::sample(sampling));
    }
    Ok(tasks.block_on(&runtime, future))
}

/// Removes the world's state after its tasks, also if one panics.
struct TeardownGuard;

impl Drop for TeardownGuard {
    fn drop(&mut self) {
        ambient::forget_added();
        recorder::uninstall();
        timers::stop();
        clock::stop();
    }
}

/// A real world that has not begun.
#[derive(Clone, Debug)]
pub struct Config {
    /// Source of random streams.
    pub source: RandomSource,
    /// Names and addresses.
    pub hosts: BTreeMap<String, IpAddr>,
    /// The zero of the world's clock, on `CLOCK_MONOTONIC`: processes with the same value share their time. None: the start of the world.
    pub began: Option<Duration>,
    /// Amount of data kept of TCP connections.
    pub recording: Recording,
}

impl Config {
    /// A world without names, with a clock that starts when it begins, and no records of its connections.
    pub fn new(source: RandomSource) -> Config {
        Config { source, hosts: BTreeMap::new(), began: None, recording: Recording::Nothing }
    }
}

/// Amount of data kept of TCP connections for [`report`](report). It stays until the world ends, and each open connection
/// takes a second descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Nothing: for servers that run without end.
    #[default]
    Nothing,
    /// Both ends in their state when they were closed, or now.
    Endpoints,
    /// Their time series, too.
    Series(Sampling),
}

/// Sampling of series: the kernel is polled, and changes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The interval between two polls, in whole milliseconds, at least one (tokio's timers). There are none while no connection is open.
    pub every: Duration,
}

impl Default for Sampling {
    /// Every millisecond.
    fn default() -> Sampling {
        Sampling { every: Duration::from_millis(1) }
    }
}
