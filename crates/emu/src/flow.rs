//! One TCP flow over the same link twice: by the kernel in real time, and by the simulated TCP in virtual time.
//!
//! Both runs yield a [`Trace`]: each data packet as it entered the link and the sender's window after each acknowledgement; [`Comparison`]
//! sets them side by side. What differs is then the TCP alone, for the link's code is the same.

mod comparison;
mod kernel;
mod simulated;
mod trace;

use std::time::Duration;

use congestion::Algorithm;
use net::{LinkConfig, QueueLimit};
use units::BitsPerSec;

use crate::{Drops, Path, Topology};

pub use comparison::{Comparison, Divergence};
pub use kernel::{Measurement, kernel_name, measure};
pub use simulated::simulate;
pub use trace::{Acknowledgement, DataPacket, Trace};

/// Bytes of a request.
const REQUEST_BYTES: usize = 100;
/// How much an application writes or reads at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A flow: what is sent over what.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Rate of the link, both ways.
    pub rate: BitsPerSec,
    /// Round trip without queueing; half of it each way.
    pub rtt: Duration,
    /// What may wait for the link towards the client.
    pub queue: QueueLimit,
    /// Numbers of the data packets towards the client that are dropped (see [`Drops`]).
    pub drops: Vec<u64>,
    /// The sockets' buffers.
    pub buffers: Buffers,
    /// The server's congestion control.
    pub congestion: Algorithm,
    /// What the client asks for, one after the other.
    pub exchanges: Vec<Exchange>,
}

/// How much the sockets of both ends hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Buffers that grow, as Linux has them. The receiver's grows once a round trip of its own estimate, in milliseconds of a clock of any phase,
    /// and each growth brings more acknowledgements; the sender's is refilled when the scheduler lets the application run. So the kernel
    /// does not repeat itself to the packet.
    Autotuned,
    /// Buffers that never fill: what is sent depends on the network alone.
    Ample,
}

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// How long the client waits after the response before.
    pub think: Duration,
    /// Length of the response.
    pub response_bytes: u64,
}

impl Flow {
    /// Bytes of all responses.
    pub fn total_bytes(&self) -> u64 {
        self.exchanges.iter().map(|exchange| exchange.response_bytes).sum()
    }

    fn link(&self, queue: QueueLimit) -> LinkConfig {
        LinkConfig::new(self.rate, self.rtt / 2, queue)
    }

    /// What the emulator carries packets over.
    fn topology(&self) -> Topology {
        Topology::between(self.link(QueueLimit::Unlimited), self.link(self.queue))
            .losing("down", self.losses())
    }

    /// Towards the server, simulated.
    fn up<P: Clone + Send + 'static>(&self) -> Path<P> {
        Path::new("up", self.link(QueueLimit::Unlimited), Drops::default(), &source())
    }

    /// Towards the client, simulated.
    fn down<P: Clone + Send + 'static>(&self) -> Path<P> {
        Path::new("down", self.link(self.queue), self.losses(), &source())
    }

    fn losses(&self) -> Drops {
        Drops::of(self.drops.iter().copied())
    }
}

/// Where the links' chance would come from: nothing about them is random.
fn source() -> chance::Source {
    chance::Source::new(0, 0)
}
