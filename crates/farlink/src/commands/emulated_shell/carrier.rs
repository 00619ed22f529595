//! The emulator in a thread of its own, and its account in the end.

use std::thread::JoinHandle;

use anstream::eprintln;
use emu::{Control, Emulator, Error, Snapshot, Testbed, Topology};
use net::Network;

use crate::failure::Failure;

/// A running emulator.
pub struct Carrier {
    control: Control,
    thread: JoinHandle<Result<Snapshot, Error>>,
}

impl Carrier {
    /// Starts it between the two sides of `testbed`.
    pub fn start(testbed: &Testbed, networks: &[Network], seed: u64) -> Result<Carrier, Failure> {
        let topology = Topology::of(&networks[0]);
        let emulator = testbed
            .middle()
            .run(move || Emulator::new(topology, &chance::Source::new(seed, 0)))
            .map_err(Failure::machine)?;
        let control = emulator.control();
        let thread = std::thread::spawn(move || Ok(emulator.run()?.snapshot));
        Ok(Carrier { control, thread })
    }

    /// Ends it and tells what it did.
    pub fn stop(self) -> Result<(), Failure> {
        self.control.stop();
        let snapshot = self.thread.join().map_err(|_| Failure::machine("the emulator panicked"))?;
        let snapshot = snapshot.map_err(Failure::machine)?;
        eprintln!("farlink: {}", snapshot.punctuality);
        Ok(())
    }
}
