//! Run of a real world.

use std::future::Future;
use std::io;

use super::config::{Config, Recording};
use super::{clock, recorder};
use crate::ambient::{self, Common, Kind};
use crate::report::Keeping;

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
    let common = Common::new(config.source, config.hosts, keeping);
    let _entered = ambient::enter(Kind::Real, common);
    clock::start(config.began)?;
    recorder::install(config.recording);
    let _running = Running;
    let tasks = tokio::task::LocalSet::new();
    if let Recording::Series(sampling) = config.recording {
        tasks.spawn_local(recorder::sample(sampling));
    }
    Ok(tasks.block_on(&runtime, future))
}

/// Removes the world's state after its tasks, also if one panics.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        ambient::forget_added();
        recorder::uninstall();
        clock::stop();
    }
}
