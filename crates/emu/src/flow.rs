//! One TCP flow over the same link twice: by the kernel in real time, and by the simulated TCP in virtual time.
//!
//! Both runs yield a [`Trace`]: each data packet as it entered the link and the sender's window after each acknowledgement; [`Comparison`]
//! sets them side by side. Differences are due to TCP alone, for the link's code is the same.

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
/// Size of an application's writes and reads.
const CHUNK_BYTES: usize = 64 * 1024;

/// A flow: its traffic and its link.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Rate of the link, both ways.
    pub rate: BitsPerSec,
    /// Round trip without queueing; half of it each way.
    pub rtt: Duration,
    /// Queue limit of the link towards the client.
    pub queue: QueueLimit,
    /// Numbers of the data packets towards the client that are dropped (see [`Drops`]).
    pub drops: Vec<u64>,
    /// The sockets' buffers.
    pub buffers: Buffers,
    /// The server's congestion control.
    pub congestion: Algorithm,
    /// Exchanges, one after the other.
    pub exchanges: Vec<Exchange>,
}

/// Socket buffer sizes of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Buffers that grow, as in Linux. The receiver's grows once per round trip of its own estimate, in milliseconds of a clock of arbitrary phase,
    /// and each growth causes more acknowledgements; the sender's is refilled when the scheduler lets the application run. So the kernel
    /// is not reproducible to the packet.
    Autotuned,
    /// Buffers that never fill: traffic depends on the network alone.
    Ample,
}

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Think time of the client before the request.
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

    /// The emulator's topology.
    fn topology(&self) -> Topology {
        Topology::between(self.link(QueueLimit::Unlimited), self.link(self.queue))
            .losing("down", self.losses())
    }

    /// The simulated path towards the server.
    fn up<P: Clone + Send + 'static>(&self) -> Path<P> {
        Path::new("up", self.link(QueueLimit::Unlimited), Drops::default(), &source())
    }

    /// The simulated path towards the client.
    fn down<P: Clone + Send + 'static>(&self) -> Path<P> {
        Path::new("down", self.link(self.queue), self.losses(), &source())
    }

    fn losses(&self) -> Drops {
        Drops::of(self.drops.iter().copied())
    }
}

/// Random source of the links: nothing about them is random.
fn source() -> chance::Source {
    chance::Source::new(0, 0)
}
