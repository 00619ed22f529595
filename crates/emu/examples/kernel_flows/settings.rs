//! The links, and the traffic over them.

use std::time::Duration;

use congestion::Algorithm;
use farlink_emu::flow::{ComparedFlow, FlowBuffers, RequestResponse};
use net::QueueLimit;
use units::BitsPerSec;

/// A link and its losses.
pub struct Setting {
    /// Name in the tables.
    pub name: &'static str,
    /// Distinguishing property of the link.
    pub what: &'static str,
    /// Rate, Mbit/s.
    pub mbit: u64,
    /// Round trip without queueing.
    pub rtt_ms: u64,
    /// Queue limit towards the client.
    pub queue: QueueLimit,
    /// Numbers of the data packets that are dropped.
    pub drops: &'static [u64],
    /// Requests and responses.
    pub exchanges: &'static [RequestResponse],
}

const fn bulk(response_bytes: u64) -> RequestResponse {
    RequestResponse { think: Duration::ZERO, response_bytes }
}

const fn after(think_ms: u64, response_bytes: u64) -> RequestResponse {
    RequestResponse { think: Duration::from_millis(think_ms), response_bytes }
}

/// A flow over a link without losses of its own: its rate in Mbit/s, its round trip in ms, its queue in packets.
const fn download(
    name: &'static str,
    what: &'static str,
    (mbit, rtt_ms, queue): (u64, u64, u32),
    exchanges: &'static [RequestResponse],
) -> Setting {
    Setting { name, what, mbit, rtt_ms, queue: QueueLimit::Packets(queue), drops: &[], exchanges }
}

/// Links over which a kernel flow is reproducible: compared packet by packet.
pub const SETTINGS: [Setting; 12] = [
    download("clean", "nothing is lost", (10, 100, 1000), &[bulk(3_000_000)]),
    download(
        "narrow",
        "slow link, queue of 20 packets overflows",
        (1, 100, 20),
        &[bulk(1_000_000)],
    ),
    download("shallow", "queue of 20 packets overflows", (10, 100, 20), &[bulk(3_000_000)]),
    download("middling", "queue of 100 packets overflows", (10, 20, 100), &[bulk(5_000_000)]),
    download("bloated", "queue of 4 BDP", (10, 100, 333), &[bulk(5_000_000)]),
    download("wide", "fast link, queue of 1 BDP", (100, 20, 167), &[bulk(20_000_000)]),
    download("satellite", "long way, queue of 1 BDP", (10, 600, 500), &[bulk(5_000_000)]),
    Setting {
        drops: &[100],
        ..download("single", "packet 100 is lost", (10, 100, 1000), &[bulk(3_000_000)])
    },
    Setting {
        drops: &[100, 101, 102],
        ..download("burst", "packets 100-102 are lost", (10, 100, 1000), &[bulk(3_000_000)])
    },
    Setting {
        drops: &[205, 206, 207],
        ..download("tail", "the last three packets are lost", (10, 100, 1000), &[bulk(207 * 1448)])
    },
    Setting {
        drops: &[1, 13, 60, 120],
        ..download(
            "head",
            "the first packet is lost, its retransmission too, and packets 60 and 120",
            (10, 100, 1000),
            &[bulk(2_000_000)],
        )
    },
    download(
        "idle",
        "four responses, idle for 0.1, 1 and 3 s between",
        (10, 100, 1000),
        &[bulk(500_000), after(100, 300_000), after(1000, 300_000), after(3000, 300_000)],
    ),
];

/// Downloads with the kernel's own buffers, which grow.
pub const AUTOTUNED: [Setting; 9] = [
    download("page", "1 MB, nothing is lost", (10, 100, 100), &[bulk(1_000_000)]),
    download("page-shallow", "1 MB, short queue", (10, 100, 20), &[bulk(1_000_000)]),
    download("shallow", "3 MB, short queue", (10, 100, 20), &[bulk(3_000_000)]),
    download("bulk-shallow", "10 MB, short queue", (10, 100, 20), &[bulk(10_000_000)]),
    download("bulk", "10 MB", (10, 100, 100), &[bulk(10_000_000)]),
    download("narrow", "1 MB, slow link", (1, 100, 20), &[bulk(1_000_000)]),
    download("middling", "5 MB, queue of 6 BDP", (10, 20, 100), &[bulk(5_000_000)]),
    download("wide", "20 MB, fast link", (100, 20, 167), &[bulk(20_000_000)]),
    download("satellite", "5 MB, long way", (10, 600, 500), &[bulk(5_000_000)]),
];

impl Setting {
    /// The flow over this link.
    pub fn flow(&self, congestion: Algorithm, buffers: FlowBuffers) -> ComparedFlow {
        ComparedFlow {
            rate: BitsPerSec::mbit(self.mbit),
            rtt: Duration::from_millis(self.rtt_ms),
            queue: self.queue,
            drops: self.drops.to_vec(),
            buffers,
            congestion,
            exchanges: self.exchanges.to_vec(),
        }
    }
}
