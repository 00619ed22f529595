//! Throughput of a flood of full packets, and of one TCP flow.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use net::{EmulatorModel, Jitter, JitterShape, LinkConfig, LossModel, QueueLimit, Rate};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use units::{BitsPerSec, Time};
use world::{TcpListener, TcpStream, UdpSocket};

use super::{PacketDirection, TestedNetwork, speed};

const HEADERS: usize = 28;
/// Rate of the flood: a quarter above the slowest link, and twice the peak of a recorded rate.
const OVERLOAD: f64 = 1.25;
const OVERLOAD_OF_PEAK: f64 = 2.0;
/// Shortest duration of the flood, longest part of a recording that it sees, and limits of its packets.
const AT_LEAST: Duration = Duration::from_secs(10);
const LONGEST_RECORDING: Duration = Duration::from_secs(60);
const FEWEST_PACKETS: u32 = 400;
const MOST_PACKETS: u32 = 200_000;
/// Allowed relative deviation of the delivered rate from the configured one.
const TOLERANCE: f64 = 0.01;

/// The delivered rate, beside the configured one. IP headers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// The slowest link's rate, less losses behind it; for a recorded rate, its mean over the time of the test.
    pub configured: BitsPerSec,
    /// True if `configured` is only an upper bound: a recorded rate is not the slowest all the time, losses
    /// come in long bursts, or handovers interrupt the network.
    pub is_bound: bool,
    /// Rate from the first packet's arrival to the last one's.
    pub delivered: BitsPerSec,
    /// Measurement error: two packets, and the jitter of the first and the last.
    pub error: BitsPerSec,
}

impl Speed {
    /// True if the delivered rate is the configured one, within 1 % and the measurement error.
    pub fn agrees(&self) -> bool {
        let (configured, delivered) = (self.configured.0 as f64, self.delivered.0 as f64);
        let margin = TOLERANCE * configured + self.error.0 as f64;
        let is_enough = self.is_bound || delivered >= configured - margin;
        is_enough && delivered <= configured + margin
    }
}

/// Packets that have arrived.
#[derive(Clone, Copy, Default)]
struct ArrivedPackets {
    first: Option<Time>,
    last: Time,
    /// Bytes after the first packet.
    bytes: u64,
}

impl ArrivedPackets {
    fn span(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| self.last - first)
    }
}

/// The packets of a flood.
struct PacketFlood {
    packet: usize,
    packets: u32,
    interval: Duration,
}

/// Measures the rate; `None` if nothing limits it, or if nothing ever moves.
pub(super) fn measure(bench: &TestedNetwork<'_>, way: PacketDirection) -> Option<Speed> {
    let links = bench.links(way);
    let flood = PacketFlood::over(&links)?;
    let packet = flood.packet;
    let arrivals = flood.send(bench, way);
    let span = arrivals.span();
    let (configured, is_bound) = configured(&links, &arrivals);
    Some(Speed {
        configured,
        is_bound,
        delivered: rate(arrivals.bytes, span),
        error: error(&links, packet, &arrivals),
    })
}

impl PacketFlood {
    fn over(links: &[&LinkConfig]) -> Option<PacketFlood> {
        let packet = links.iter().map(|link| link.mtu).min()? as usize;
        let fastest = links.iter().map(|link| link.rate.peak()).min()?;
        let service = fastest.time_for(packet as u64);
        if service.is_zero() || fastest.0 == 0 {
            return None;
        }
        let recordings = links.iter().filter_map(|link| match &link.rate {
            Rate::Trace(trace) => Some(trace.duration().min(LONGEST_RECORDING)),
            Rate::Constant(_) => None,
        });
        let longest = recordings.max();
        let overload = if longest.is_some() { OVERLOAD_OF_PEAK } else { OVERLOAD };
        // Losses on the way must not leave the slowest link idle.
        let lost = links.iter().map(|link| link.loss.mean().unwrap_or_default()).sum::<f64>();
        let interval = service.div_f64(overload).mul_f64((1.0 - lost).max(0.1));
        let lasts = longest.unwrap_or_default().max(AT_LEAST);
        let packets = (lasts.as_nanos() / interval.as_nanos().max(1)) as u32;
        Some(PacketFlood { packet, packets: packets.clamp(FEWEST_PACKETS, MOST_PACKETS), interval })
    }

    fn send(self, bench: &TestedNetwork<'_>, way: PacketDirection) -> ArrivedPackets {
        let PacketFlood { packet, packets, interval } = self;
        let mut setup = bench.set_up(way);
        setup.plan.limit(Duration::from_secs(7 * 24 * 3600));
        let (from, to) = (setup.from, setup.to);
        let arrivals = Rc::new(Cell::new(ArrivedPackets::default()));
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
        arrivals.get()
    }
}

/// Measurement error of the rate of these arrivals.
fn error(links: &[&LinkConfig], packet: usize, arrivals: &ArrivedPackets) -> BitsPerSec {
    // Difference of the least and the largest jitter; a normal one is within three deviations.
    let width = |jitter: Jitter| match jitter.shape {
        JitterShape::Uniform => 2 * jitter.spread,
        JitterShape::Normal => 6 * jitter.spread,
    };
    let jitter: Duration = links.iter().map(|link| width(link.jitter)).sum();
    let span = arrivals.span();
    let share = jitter.as_secs_f64() / span.as_secs_f64().max(f64::MIN_POSITIVE);
    let of_jitter = (rate(arrivals.bytes, span).0 as f64 * share).round() as u64;
    BitsPerSec(rate(2 * packet as u64, span).0.saturating_add(of_jitter))
}

/// The smallest rate at which a link passes a flood, and true if that is only a bound.
fn configured(links: &[&LinkConfig], arrivals: &ArrivedPackets) -> (BitsPerSec, bool) {
    let capacity = |at: usize| (through(&links[at..], arrivals), at);
    let all = (0..links.len()).map(capacity);
    let (least, slowest) = all.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0));
    let others = links.iter().enumerate().filter(|(at, _)| *at != slowest);
    let is_slowest_throughout = links.iter().all(|link| matches!(link.rate, Rate::Constant(_)))
        || others.into_iter().all(|(_, other)| {
            matches!(other.rate, Rate::Constant(rate) if rate >= links[slowest].rate.peak())
        });
    let may_idle = |link: &&LinkConfig| link.handover.is_some() || may_leave_idle(&link.loss);
    let is_bound = !is_slowest_throughout || links.iter().any(may_idle);
    (BitsPerSec(least.round() as u64), is_bound)
}

/// True if losses come in bursts that a queue may not bridge.
fn may_leave_idle(loss: &LossModel) -> bool {
    const LONG_BURST: f64 = 50.0;
    match loss {
        LossModel::Random(probability) => *probability > 0.5,
        LossModel::GilbertElliott(model) => model.to_good * LONG_BURST < 1.0,
        LossModel::TimedGilbertElliott(_) | LossModel::Listed(_) => true,
    }
}

/// The mean rate, while packets arrived, of the first of `links` if it is always busy, less the losses and plus
/// the duplicates of the others.
fn through(links: &[&LinkConfig], arrivals: &ArrivedPackets) -> f64 {
    let Some((link, rest)) = links.split_first() else { return 0.0 };
    let own = match &link.rate {
        Rate::Constant(rate) => rate.0 as f64,
        Rate::Trace(trace) => {
            let behind: Duration = links.iter().map(|link| link.delay).sum();
            let served_by = |arrived: Time| trace.capacity_bytes(arrived - behind);
            let first = arrivals.first.unwrap_or(arrivals.last);
            let bytes = served_by(arrivals.last).saturating_sub(served_by(first));
            rate(bytes, arrivals.span()).0 as f64
        }
    };
    let own = (own * link.channels.of(0)).min(limit_of_netem(link));
    rest.iter()
        .fold(own, |rate, link| rate * (1.0 - lost_at_least(&link.loss)) * (1.0 + link.duplicate))
}

/// The smallest loss ratio of a flood: it may fall between two timed bursts.
fn lost_at_least(loss: &LossModel) -> f64 {
    match loss {
        LossModel::TimedGilbertElliott(model) => model.loss_in_good.min(model.loss_in_bad),
        _ => loss.mean().unwrap_or_default(),
    }
}

/// Netem's limit includes packets in flight: at most that many per delay.
fn limit_of_netem(link: &LinkConfig) -> f64 {
    match (link.emulator, link.queue) {
        (EmulatorModel::Netem, QueueLimit::Packets(limit)) if !link.delay.is_zero() => {
            f64::from(limit) * f64::from(link.mtu) * 8.0 / link.delay.as_secs_f64()
        }
        _ => f64::INFINITY,
    }
}

/// `bytes` over `span`, rounded; zero for an empty span.
pub(super) fn rate(bytes: u64, span: Duration) -> BitsPerSec {
    let nanos = span.as_nanos();
    if nanos == 0 {
        return BitsPerSec(0);
    }
    BitsPerSec(((u128::from(bytes) * 8_000_000_000 + nanos / 2) / nanos) as u64)
}

// One TCP flow, as in a speed test on the web: the rate that users get.

/// Duration of the flow.
const SPAN: Duration = Duration::from_secs(30);
/// The flow begins with slow start, which is not counted.
const WARM_UP: Duration = Duration::from_secs(5);

/// A flow of Linux 6's CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Payload delivered to the application, over the 30 s after the first five.
    pub goodput: BitsPerSec,
    /// Retransmitted segments.
    pub retransmitted_segments: u64,
    /// The sender's smoothed round trip at the end, which shows the queueing delay.
    pub srtt: Option<Duration>,
}

pub(super) fn measure_bulk(bench: &TestedNetwork<'_>, way: PacketDirection) -> Option<Bulk> {
    if bench.links(way).iter().all(|link| link.rate.mean().time_for(1500).is_zero()) {
        return None;
    }
    let mut setup = bench.set_up(way);
    let to = setup.to;
    setup.plan.spawn(setup.sender, async move {
        if let Ok(mut stream) = TcpStream::connect(to).await {
            let chunk = vec![0; 64 * 1024];
            while stream.write_all(&chunk).await.is_ok() {}
        }
    });
    let (bytes, report) = setup
        .plan
        .run(setup.receiver, async move {
            let received = Rc::new(Cell::new(0));
            world::spawn(receive(to, Rc::clone(&received)));
            world::sleep(WARM_UP).await;
            let before = received.get();
            world::sleep(SPAN).await;
            let report = world::sim::report().expect("the test runs in the simulated world");
            (received.get() - before, report)
        })
        .ok()?;
    let sender = report.endpoints.iter().find(|end| end.active);
    let stats = sender.and_then(|end| end.stats.as_ref());
    Some(Bulk {
        goodput: speed::rate(bytes, SPAN),
        retransmitted_segments: stats.map_or(0, |stats| stats.retransmitted_segments),
        srtt: stats.and_then(|stats| stats.srtt),
    })
}

/// Receives from the only sender.
async fn receive(at: std::net::SocketAddr, received: Rc<Cell<u64>>) {
    let listener = TcpListener::bind(at).expect("a fresh node's ports are free");
    let Ok((mut stream, _)) = listener.accept().await else { return };
    let mut buf = vec![0; 64 * 1024];
    while let Ok(len @ 1..) = stream.read(&mut buf).await {
        received.set(received.get() + len as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_judged_by_a_hundredth() {
        let mbit = BitsPerSec::mbit;
        let speed = Speed {
            configured: mbit(100),
            is_bound: false,
            delivered: mbit(100),
            error: BitsPerSec(0),
        };
        assert!(speed.agrees());
        assert!(!Speed { delivered: mbit(98), ..speed }.agrees());
        assert!(Speed { delivered: mbit(98), error: mbit(1), ..speed }.agrees());
        assert!(!Speed { delivered: mbit(102), ..speed }.agrees());
        let bound = Speed { is_bound: true, ..speed };
        assert!(Speed { delivered: mbit(50), ..bound }.agrees());
        assert!(!Speed { delivered: mbit(102), ..bound }.agrees());
    }
}
