//! Loss of datagrams without queueing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use net::{EmulatorModel, GilbertElliott, LinkConfig, LossModel, QueueLimit, Rate};
use world::UdpSocket;

use super::{PacketDirection, TestedNetwork, Z};

/// Number of datagrams sent.
const PROBES: u32 = 20_000;
const PAYLOAD: usize = 72;
const HEADERS: usize = 28;
/// Probes in each round of a recording: fewer than any common queue holds.
const PROBES_A_ROUND: u32 = 20;

/// Counted losses, beside the configured ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The long-run ratio of the network's description; `None` if it has none: a file lists the losses, a link
    /// finally stands still, or packets that wait for a handover are lost.
    pub configured: Option<f64>,
    /// Datagrams sent.
    pub sent: u32,
    /// Datagrams that did not arrive.
    pub lost: u32,
    /// Variance relative to that of independent losses.
    pub inflation: f64,
}

impl Loss {
    /// The measured loss ratio.
    pub fn ratio(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.sent)
    }

    /// Confidence interval of the true ratio, at 99 %: Wilson's score interval, for the number of independent
    /// losses to which the correlated ones are equivalent.
    pub fn interval(&self) -> (f64, f64) {
        let (n, p) = (f64::from(self.sent) / self.inflation, self.ratio());
        let scale = 1.0 + Z * Z / n;
        let centre = (p + Z * Z / (2.0 * n)) / scale;
        let half = Z / scale * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        // Rounding must not exclude a ratio of 0 or 1.
        let low = if self.lost == 0 { 0.0 } else { centre - half };
        let high = if self.lost == self.sent { 1.0 } else { centre + half };
        (low, high)
    }

    /// True if the configured ratio is consistent with the measured one; `None` if there is nothing to compare with.
    pub fn agrees(&self) -> Option<bool> {
        let (low, high) = self.interval();
        self.configured.map(|configured| (low..=high).contains(&configured))
    }
}

pub(super) fn measure(bench: &TestedNetwork<'_>, way: PacketDirection) -> Loss {
    let links = bench.links(way);
    let interval = links.iter().map(|link| spacing(link).max(rounds(&link.loss))).max();
    let interval = interval.unwrap_or_default();
    let interval = interval.max(Duration::from_millis(1));
    let mut setup = bench.set_up(way);
    let spread: Duration = links.iter().map(|link| 12 * link.jitter.spread).sum();
    let patience = 2 * bench.network.rtt() + spread + interval + Duration::from_secs(1);
    setup.plan.limit(interval * PROBES + patience + Duration::from_secs(24 * 3600));
    let (from, to) = (setup.from, setup.to);
    let arrived = Rc::new(RefCell::new(BTreeSet::new()));
    let noted = Rc::clone(&arrived);
    setup.plan.spawn(setup.receiver, async move {
        let socket = UdpSocket::bind(to).expect("a fresh node's ports are free");
        let mut buf = [0; PAYLOAD];
        while socket.recv_from(&mut buf).await.is_ok() {
            let number = buf[..4].try_into().expect("four bytes are four bytes");
            noted.borrow_mut().insert(u32::from_be_bytes(number));
        }
    });
    let ended = setup.plan.run(setup.sender, async move {
        let socket = UdpSocket::bind(from).expect("a fresh node's ports are free");
        for number in 0..PROBES {
            let mut body = [0; PAYLOAD];
            body[..4].copy_from_slice(&number.to_be_bytes());
            let _ = socket.send_to(&body, to).await;
            world::sleep(interval).await;
        }
        world::sleep(patience).await;
    });
    debug_assert!(ended.is_ok(), "the test ends by itself: {ended:?}");
    let arrived = arrived.borrow().len() as u32;
    Loss {
        configured: configured(&links),
        sent: PROBES,
        lost: PROBES - arrived,
        inflation: links.iter().map(|link| inflation(&link.loss, interval)).fold(1.0, f64::max),
    }
}

/// Interval at which no datagram waits for another: half of a link's rate, or a few per round of a recording.
fn spacing(link: &LinkConfig) -> Duration {
    let of_rate = match &link.rate {
        Rate::Constant(rate) => 2 * rate.time_for((PAYLOAD + HEADERS) as u64),
        Rate::Trace(trace) => trace.duration() / PROBES_A_ROUND,
    };
    let of_limit = match (link.emulator, link.queue) {
        // Netem's limit includes packets in flight.
        (EmulatorModel::Netem, QueueLimit::Packets(limit)) => 2 * link.delay / limit,
        // Dummynet's queue waits for the next timer run.
        (EmulatorModel::Dummynet { timer, .. }, QueueLimit::Packets(limit)) => 2 * timer / limit,
        _ => Duration::ZERO,
    };
    of_rate.max(of_limit)
}

/// Timed bursts are sampled one burst period apart, so that the probes meet many of them.
fn rounds(loss: &LossModel) -> Duration {
    match loss {
        LossModel::TimedGilbertElliott(model) => model.good + model.bad,
        _ => Duration::ZERO,
    }
}

/// Loss ratio over all links. A loss takes only one copy of a duplicated datagram.
fn configured(links: &[&LinkConfig]) -> Option<f64> {
    let mut passes = 1.0;
    for link in links {
        let stands_still =
            matches!(&link.rate, Rate::Trace(trace) if trace.stands_still_from().is_some());
        if stands_still || link.handover.is_some_and(|handover| !handover.lossless) {
            return None;
        }
        passes *= 1.0 - link.loss.mean()? * (1.0 - link.duplicate);
    }
    Some(1.0 - passes)
}

/// The asymptotic variance of a mean of correlated losses over that of independent ones, `1 + 2 sum of the
/// autocorrelations` (Geyer, "Practical Markov Chain Monte Carlo", 1992, section 3.1). In the two-state chain
/// the autocorrelation of the state decays by the factor `1 - p - r` per packet, or by `e^-(1/good + 1/bad)`
/// per second, and only the state has memory.
fn inflation(loss: &LossModel, interval: Duration) -> f64 {
    let (in_bad, memory, difference) = match loss {
        LossModel::GilbertElliott(GilbertElliott {
            to_bad,
            to_good,
            loss_in_bad,
            loss_in_good,
        }) => {
            let sum = to_bad + to_good;
            (to_bad / sum, 1.0 - sum, loss_in_bad - loss_in_good)
        }
        LossModel::TimedGilbertElliott(model) => {
            let changes = 1.0 / model.good.as_secs_f64() + 1.0 / model.bad.as_secs_f64();
            let memory = (-changes * interval.as_secs_f64()).exp();
            (model.share_of_bad(), memory, model.loss_in_bad - model.loss_in_good)
        }
        LossModel::Random(_) | LossModel::Listed(_) => return 1.0,
    };
    let mean = loss.mean().unwrap_or_default();
    let variance = mean * (1.0 - mean);
    if memory == 1.0 || variance == 0.0 {
        return 1.0;
    }
    let of_state = in_bad * (1.0 - in_bad) * difference.powi(2);
    (1.0 + 2.0 * of_state / variance * memory / (1.0 - memory)).max(1.0)
}

#[cfg(test)]
mod tests {
    use net::TimedGilbertElliott;

    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        let loss = Loss { configured: Some(0.01), sent: 20_000, lost: 200, inflation: 1.0 };
        let (low, high) = loss.interval();
        assert!((low - 0.008_346).abs() < 1e-5 && (high - 0.011_978).abs() < 1e-5, "{low} {high}");
        assert_eq!(loss.agrees(), Some(true));
        assert_eq!(Loss { configured: Some(0.02), ..loss }.agrees(), Some(false));
        assert_eq!(Loss { configured: None, ..loss }.agrees(), None);
        assert_eq!(Loss { lost: 0, ..loss }.interval().0, 0.0);
        let correlated = Loss { inflation: 4.0, ..loss };
        assert!(correlated.interval().1 > high);
    }

    /// Bursts of 1 / r = 4 packets, all lost: about 2 / r - 1 = 7 times the variance.
    #[test]
    fn bursts_are_worth_fewer_losses() {
        let burst =
            GilbertElliott { to_bad: 0.001, to_good: 0.25, loss_in_bad: 1.0, loss_in_good: 0.0 };
        let inflation = |loss: &LossModel| inflation(loss, Duration::from_millis(1));
        let factor = inflation(&LossModel::GilbertElliott(burst));
        assert!((factor - 7.0).abs() < 0.1, "{factor}");
        let forgetful = GilbertElliott { to_good: 0.999, ..burst };
        assert!((inflation(&LossModel::GilbertElliott(forgetful)) - 1.0).abs() < 1e-9);
        // At one probe per millisecond, bursts of 4 ms once a second equal those of 4 packets.
        let (good, bad) = (Duration::from_secs(1), Duration::from_millis(4));
        let timed = TimedGilbertElliott { good, bad, loss_in_bad: 1.0, loss_in_good: 0.0 };
        let factor = inflation(&LossModel::TimedGilbertElliott(timed));
        assert!((factor - 8.0).abs() < 0.1, "{factor}");
    }
}
