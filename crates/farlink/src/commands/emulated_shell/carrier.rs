//! The emulator in a thread of its own.

use std::process;
use std::thread::{self, JoinHandle};

use emu::{Account, Control, Release, Testbed, Topology};
use net::Network;

use crate::failure::Failure;

/// A running emulator.
pub struct Carrier {
    control: Control,
    thread: JoinHandle<Account<()>>,
}

/// The links of several chained networks, the first next to the client.
pub fn chain(networks: &[Network]) -> Topology {
    let (first, others) = networks.split_first().expect("the command line demands a network");
    others.iter().fold(Topology::of(first), |topology, network| {
        let links = network.up_links().zip(network.down_links());
        links.fold(topology, |topology, (up, down)| topology.beyond(up.clone(), down.clone()))
    })
}

impl Carrier {
    /// Starts it between the two sides of `testbed`. If the emulator fails, the sandbox ends: nothing runs over a
    /// link that is not emulated.
    pub fn start(testbed: &Testbed, topology: Topology, seed: u64) -> Result<Carrier, Failure> {
        let release = Release::suiting(&topology);
        let emulator = testbed.emulator(topology, &chance::Source::new(seed, 0));
        let emulator = emulator.map_err(Failure::machine)?.releasing(release);
        let control = emulator.control();
        let thread = thread::spawn(move || {
            emulator.run().unwrap_or_else(|error| {
                let failure = Failure::machine(error);
                failure.tell();
                process::exit(failure.code() as i32)
            })
        });
        Ok(Carrier { control, thread })
    }

    /// Handle by which other threads query the emulator.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Ends it.
    pub fn stop(self) -> Result<Account<()>, Failure> {
        self.control.stop();
        self.thread.join().map_err(|_| Failure::machine("the emulator's thread panicked"))
    }
}
