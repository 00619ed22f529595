//! Datagrams that do not arrive while nothing queues.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use world::UdpSocket;

use super::{Bench, Way};

/// How many datagrams are sent.
const PROBES: u32 = 20_000;
const PAYLOAD: usize = 72;
const HEADERS: usize = 28;
/// The normal deviate of a two-sided interval of 99 %.
const Z: f64 = 2.576;

/// Losses counted, beside the ratio that is configured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The long-run ratio of the network's description.
    pub configured: f64,
    /// Datagrams sent.
    pub sent: u32,
    /// Datagrams that did not arrive.
    pub lost: u32,
}

impl Loss {
    /// The ratio that was lost.
    pub fn ratio(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.sent)
    }

    /// What the true ratio may be, with 99 % confidence, if losses are independent (Wilson's score interval).
    pub fn interval(&self) -> (f64, f64) {
        let (n, p) = (f64::from(self.sent), self.ratio());
        let scale = 1.0 + Z * Z / n;
        let centre = (p + Z * Z / (2.0 * n)) / scale;
        let half = Z / scale * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        // Rounding must not exclude a ratio of nothing or all.
        let low = if self.lost == 0 { 0.0 } else { centre - half };
        let high = if self.lost == self.sent { 1.0 } else { centre + half };
        (low, high)
    }

    /// Whether what is configured may be what was delivered.
    pub fn agrees(&self) -> bool {
        let (low, high) = self.interval();
        (low..=high).contains(&self.configured)
    }
}

pub(super) fn measure(bench: &Bench<'_>, way: Way) -> Loss {
    let link = bench.link(way);
    // Half of the rate, so that none waits for another.
    let interval =
        (2 * link.rate.mean().time_for((PAYLOAD + HEADERS) as u64)).max(Duration::from_millis(1));
    let mut setup = bench.set_up(way);
    setup.plan.limit(interval * PROBES + Duration::from_secs(24 * 3600));
    let (from, to) = (setup.from, setup.to);
    let arrived = Rc::new(Cell::new(0));
    let counter = Rc::clone(&arrived);
    setup.plan.spawn(setup.receiver, async move {
        let socket = UdpSocket::bind(to).expect("a fresh node's ports are free");
        let mut buf = [0; PAYLOAD];
        while socket.recv_from(&mut buf).await.is_ok() {
            counter.set(counter.get() + 1);
        }
    });
    let patience = 2 * bench.network.rtt() + Duration::from_secs(1);
    let ended = setup.plan.run(setup.sender, async move {
        let socket = UdpSocket::bind(from).expect("a fresh node's ports are free");
        for _ in 0..PROBES {
            let _ = socket.send_to(&[0; PAYLOAD], to).await;
            world::sleep(interval).await;
        }
        world::sleep(patience).await;
    });
    debug_assert!(ended.is_ok(), "the test ends by itself: {ended:?}");
    let lost = PROBES.saturating_sub(arrived.get());
    Loss { configured: link.loss.mean().unwrap_or_default(), sent: PROBES, lost }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        let loss = Loss { configured: 0.01, sent: 20_000, lost: 200 };
        let (low, high) = loss.interval();
        assert!((low - 0.008_346).abs() < 1e-5 && (high - 0.011_978).abs() < 1e-5, "{low} {high}");
        assert!(loss.agrees());
        assert!(!Loss { configured: 0.02, ..loss }.agrees());
        assert_eq!(Loss { lost: 0, ..loss }.interval().0, 0.0);
    }
}
