//! What a flood of full packets gets through.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use units::{BitsPerSec, Time};
use world::UdpSocket;

use super::{Bench, Way};

const HEADERS: usize = 28;
/// The flood is a quarter faster than the link.
const OVERLOAD: u32 = 5;
/// How long the flood lasts at least, and how many packets it has at least and at most.
const AT_LEAST: Duration = Duration::from_secs(10);
const FEWEST_PACKETS: u32 = 400;
const MOST_PACKETS: u32 = 200_000;

/// The rate delivered, beside the one that is configured. IP headers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// The link's rate.
    pub configured: BitsPerSec,
    /// From the first packet's arrival to the last one's.
    pub delivered: BitsPerSec,
}

impl Speed {
    /// Delivered over configured.
    pub fn ratio(&self) -> f64 {
        self.delivered.0 as f64 / self.configured.0 as f64
    }
}

/// What has arrived.
#[derive(Clone, Copy, Default)]
struct Arrivals {
    first: Option<Time>,
    last: Time,
    /// Bytes after the first packet.
    bytes: u64,
}

pub(super) fn measure(bench: &Bench<'_>, way: Way) -> Option<Speed> {
    let link = bench.link(way);
    let packet = link.mtu as usize;
    let service = link.rate.mean().time_for(packet as u64);
    if service.is_zero() {
        return None;
    }
    let packets = (AT_LEAST.as_nanos() / service.as_nanos()) as u32;
    let packets = packets.clamp(FEWEST_PACKETS, MOST_PACKETS) / (OVERLOAD - 1) * OVERLOAD;
    let interval = service * (OVERLOAD - 1) / OVERLOAD;
    let mut setup = bench.set_up(way);
    setup.plan.limit(Duration::from_secs(7 * 24 * 3600));
    let (from, to) = (setup.from, setup.to);
    let arrivals = Rc::new(Cell::new(Arrivals::default()));
    let seen = Rc::clone(&arrivals);
    setup.plan.spawn(setup.receiver, async move {
        let socket = UdpSocket::bind(to).expect("a fresh node's ports are free");
        let mut buf = vec![0; packet];
        while let Ok((len, _)) = socket.recv_from(&mut buf).await {
            let mut arrivals = seen.get();
            match arrivals.first {
                None => arrivals.first = Some(world::now()),
                Some(_) => arrivals.bytes += (len + HEADERS) as u64,
            }
            arrivals.last = world::now();
            seen.set(arrivals);
        }
    });
    let ended = setup.plan.run(setup.sender, async move {
        let socket = UdpSocket::bind(from).expect("a fresh node's ports are free");
        let body = vec![0; packet - HEADERS];
        for _ in 0..packets {
            let _ = socket.send_to(&body, to).await;
            world::sleep(interval).await;
        }
    });
    debug_assert!(ended.is_ok(), "the test ends by itself: {ended:?}");
    let arrivals = arrivals.get();
    let span = arrivals.first.map_or(Duration::ZERO, |first| arrivals.last - first);
    Some(Speed { configured: link.rate.mean(), delivered: rate(arrivals.bytes, span) })
}

/// `bytes` over `span`, rounded; nothing in no time.
pub(super) fn rate(bytes: u64, span: Duration) -> BitsPerSec {
    let nanos = span.as_nanos();
    if nanos == 0 {
        return BitsPerSec(0);
    }
    BitsPerSec(((u128::from(bytes) * 8_000_000_000 + nanos / 2) / nanos) as u64)
}
