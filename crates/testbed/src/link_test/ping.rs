//! Round trips of small datagrams on the idle network.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use net::{EmulatorModel, JitterShape, LinkConfig, Rate, Reorder};
use units::Time;
use world::UdpSocket;

use super::{PacketDirection, TestedNetwork, Z};

/// Number of pings.
pub(super) const PINGS: usize = 200;
/// Size of the IP packet of a `ping` with its default of 56 bytes.
pub(super) const PACKET_BYTES: u32 = 84;
const HEADERS: u32 = 28;
/// Interval of pings: at least this, and at least two round trips.
pub(super) const INTERVAL: Duration = Duration::from_millis(200);

/// Measured round trips, beside the configured one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Sum of the delays of all links and of the packet's serialisation times.
    pub configured: Duration,
    /// Allowed deficit of the mean: truncation by an emulator's clock.
    pub less: Duration,
    /// Allowed excess of the mean: an emulator's clock; `None` if unbounded, since with a recorded rate a ping
    /// waits as long as the recording says.
    pub more: Option<Duration>,
    /// Pings sent.
    pub sent: usize,
    /// Round trips of the answered pings, in the order of the answers.
    pub round_trips: Vec<Duration>,
}

impl Ping {
    /// The smallest, mean and largest round trip, if any came back.
    pub fn summary(&self) -> Option<(Duration, Duration, Duration)> {
        let least = self.round_trips.iter().min()?;
        let most = self.round_trips.iter().max()?;
        let mean = self.round_trips.iter().sum::<Duration>() / self.round_trips.len() as u32;
        Some((*least, mean, *most))
    }

    /// True if the mean is the configured one, within the tolerance of the clocks and the mean's own
    /// measurement error (99 %), or 1 % if that is more. `None` if no ping was answered: that is loss.
    pub fn agrees(&self) -> Option<bool> {
        let mean = self.summary()?.1.as_secs_f64();
        let configured = self.configured.as_secs_f64();
        let margin = (0.01 * configured).max(Z * self.standard_error(mean)) + 1e-9;
        let is_enough = mean >= configured - self.less.as_secs_f64() - margin;
        let is_no_more =
            self.more.is_none_or(|more| mean <= configured + more.as_secs_f64() + margin);
        Some(is_enough && is_no_more)
    }

    /// The standard error of the mean in seconds.
    fn standard_error(&self, mean: f64) -> f64 {
        let n = self.round_trips.len() as f64;
        let squares = self.round_trips.iter().map(|trip| (trip.as_secs_f64() - mean).powi(2));
        (squares.sum::<f64>() / (n - 1.0).max(1.0) / n).sqrt()
    }
}

pub(super) fn measure(bench: &TestedNetwork<'_>) -> Ping {
    let of_links = of_links(bench);
    let interval = INTERVAL.max(2 * of_links.configured);
    let round_trips = send(bench, PINGS, interval).into_values().collect();
    Ping { sent: PINGS, round_trips, ..of_links }
}

/// A ping over the links, not yet sent.
pub(super) fn of_links(bench: &TestedNetwork<'_>) -> Ping {
    let links = || {
        [PacketDirection::Up, PacketDirection::Down].into_iter().flat_map(|way| bench.links(way))
    };
    let configured = links().map(expected).sum::<Duration>();
    let less = links().map(cut_off).sum();
    let more = links().map(added).sum();
    Ping { configured, less, more, sent: 0, round_trips: Vec::new() }
}

/// Sends pings at this interval. Returns the round trips by time of sending.
pub(super) fn send(
    bench: &TestedNetwork<'_>,
    pings: usize,
    interval: Duration,
) -> BTreeMap<u64, Duration> {
    let patience = 2 * bench.network.rtt() + Duration::from_secs(1);
    let mut setup = bench.set_up(PacketDirection::Up);
    let (from, to) = (setup.from, setup.to);
    setup.plan.spawn(setup.receiver, async move {
        let socket = UdpSocket::bind(to).expect("a fresh node's ports are free");
        let mut buf = [0; 64];
        while let Ok((len, from)) = socket.recv_from(&mut buf).await {
            let _ = socket.send_to(&buf[..len], from).await;
        }
    });
    let round_trips = setup.plan.run(setup.sender, async move {
        let socket = Rc::new(UdpSocket::bind(from).expect("a fresh node's ports are free"));
        let answers = Rc::new(RefCell::new(BTreeMap::new()));
        world::spawn(collect(Rc::clone(&socket), Rc::clone(&answers)));
        for _ in 0..pings {
            let mut body = [0; (PACKET_BYTES - HEADERS) as usize];
            body[..8].copy_from_slice(&world::now().as_nanos().to_be_bytes());
            let _ = socket.send_to(&body, to).await;
            world::sleep(interval).await;
        }
        // The last one may still be in flight.
        world::sleep(interval.max(patience)).await;
        answers.take()
    });
    round_trips.unwrap_or_default()
}

/// Expected time of the packet on a link. A recorded rate counts as always available.
fn expected(link: &LinkConfig) -> Duration {
    let delay = match link.reorder {
        Reorder::Jump(share) => link.delay.mul_f64(1.0 - share),
        Reorder::Never | Reorder::ByJitter => link.delay,
    };
    service(link) + delay + below_zero(link)
}

/// Serialisation time of the packet.
pub(super) fn service(link: &LinkConfig) -> Duration {
    match &link.rate {
        Rate::Constant(rate) => rate.time_for(u64::from(PACKET_BYTES)).div_f64(link.channels.of(0)),
        Rate::Trace(_) => Duration::ZERO,
    }
}

/// Increase of a varying delay's mean by clamping at zero.
fn below_zero(link: &LinkConfig) -> Duration {
    let (delay, spread) = (link.delay.as_secs_f64(), link.jitter.spread.as_secs_f64());
    let grows = match link.jitter.shape {
        // The mean of max(0, U) for U uniform in d - s .. d + s is (d + s)^2 / 4 s.
        JitterShape::Uniform if spread > delay => (delay + spread).powi(2) / (4.0 * spread) - delay,
        JitterShape::Uniform => 0.0,
        // At most the mean of the part below zero: s / sqrt(2 pi), all of it if d is 0.
        JitterShape::Normal if spread > 0.0 => {
            let z = delay / spread;
            let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
            spread * density - delay * tail(z)
        }
        JitterShape::Normal => 0.0,
    };
    Duration::from_secs_f64(grows.max(0.0))
}

/// The tail probability of a normal distribution beyond `z` deviations: Abramowitz and Stegun, 26.2.17 (error
/// below 8e-8).
fn tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = series.iter().rev().fold(0.0, |sum, a| (sum + a) * t);
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt() * sum
}

/// Truncation of a delay by an emulator's clock.
fn cut_off(link: &LinkConfig) -> Duration {
    match link.emulator {
        EmulatorModel::Dummynet { tick, .. } => tick,
        EmulatorModel::Farlink | EmulatorModel::Netem => Duration::ZERO,
    }
}

/// Delay added by an emulator's clock; `None` if unbounded.
fn added(link: &LinkConfig) -> Option<Duration> {
    if link.handover.is_some() {
        return None;
    }
    match (&link.rate, link.emulator) {
        (Rate::Trace(_), _) => None,
        // A packet waits for one timer run to be served and for one to be released.
        (_, EmulatorModel::Dummynet { tick, timer }) => Some(timer + tick),
        (_, EmulatorModel::Farlink | EmulatorModel::Netem) => Some(Duration::ZERO),
    }
}

/// Receives answers until the world ends; the first answer of each ping counts.
async fn collect(socket: Rc<UdpSocket>, answers: Rc<RefCell<BTreeMap<u64, Duration>>>) {
    let mut buf = [0; 64];
    while let Ok((8.., _)) = socket.recv_from(&mut buf).await {
        let stamp = u64::from_be_bytes(buf[..8].try_into().expect("eight bytes are eight bytes"));
        let trip = world::now() - Time::from_nanos(stamp);
        answers.borrow_mut().entry(stamp).or_insert(trip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_judged_by_its_own_spread() {
        let ms = Duration::from_millis;
        let exact = Ping {
            configured: ms(100),
            less: Duration::ZERO,
            more: Some(Duration::ZERO),
            sent: 4,
            round_trips: vec![ms(100); 4],
        };
        assert_eq!(exact.agrees(), Some(true));
        let slow = Ping { round_trips: vec![ms(104); 4], ..exact.clone() };
        assert_eq!(slow.agrees(), Some(false));
        assert_eq!(Ping { more: Some(ms(4)), ..slow.clone() }.agrees(), Some(true));
        assert_eq!(Ping { more: None, ..slow.clone() }.agrees(), Some(true));
        assert_eq!(
            Ping { configured: ms(110), more: None, ..slow.clone() }.agrees(),
            Some(false),
            "faster than light"
        );
        let jittery = Ping { round_trips: vec![ms(60), ms(150), ms(70), ms(136)], ..exact.clone() };
        assert_eq!(jittery.agrees(), Some(true));
        assert_eq!(Ping { round_trips: Vec::new(), ..exact }.agrees(), None);
    }

    #[test]
    fn the_tail_is_that_of_the_tables() {
        for (z, share) in [(0.0, 0.5), (1.0, 0.158_655_25), (2.576, 0.004_997_6)] {
            assert!((tail(z) - share).abs() < 1e-6, "{z}: {}", tail(z));
        }
    }
}
