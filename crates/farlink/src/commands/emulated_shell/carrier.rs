//! The emulator in a thread of its own, and its account in the end.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anstream::eprintln;
use emu::{Drops, Emulator, Log, Path, Testbed};
use net::Network;

use crate::failure::Failure;

/// A running emulator.
pub struct Carrier {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Log>,
}

impl Carrier {
    /// Starts it between the two sides of `testbed`. Should it fail, the sandbox ends: nothing runs over a link that is not emulated.
    pub fn start(testbed: &Testbed, networks: &[Network], _seed: u64) -> Result<Carrier, Failure> {
        let network = &networks[0];
        let up = Path::new("up", network.up.clone(), Drops::default());
        let down = Path::new("down", network.down.clone(), Drops::default());
        let emulator =
            testbed.middle().run(move || Emulator::new(up, down)).map_err(Failure::machine)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            emulator.run(&stopped, |_, _| {}).unwrap_or_else(|error| {
                let failure = Failure::machine(error);
                failure.tell();
                process::exit(failure.code() as i32)
            })
        });
        Ok(Carrier { stop, thread })
    }

    /// Ends it and tells what it did.
    pub fn stop(self) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let log = self.thread.join().map_err(|_| Failure::machine("the emulator panicked"))?;
        eprintln!("farlink: carried {} packets, {}", log.passages.len(), log.punctuality());
        if let Err(invalid) = log.check() {
            eprintln!("warning: {invalid}: what was measured is not what this network does");
        }
        Ok(())
    }
}
