//! The network that explains a recording best together with its servers' think times.
//!
//! The first search (`network`) takes servers for instant. Responses that servers delay are out of each other's way, as
//! they are on a faster link, so its rate may be too high. Here each network near it is judged by the think times that it
//! needs and by what they leave unexplained.

use std::collections::BTreeMap;

use page::{Page, RateEstimate, RecordedNetwork};

use super::network::{AS_GOOD_PERCENT, SLOWEST_UP, nearest_round_rates, settled};
use super::{Fit, think};

/// Objects of all simulations together: a bound on the time that the search takes.
const MOST_OBJECTS: usize = 20_000;
/// Networks that are tried, about.
const NETWORKS: usize = 15;
/// Simulations for each.
const FEWEST_SIMULATIONS: usize = 6;
const MOST_SIMULATIONS: usize = 25;

/// Queues that are tried, in packets.
const QUEUES: [u64; 3] = [1000, 300, 100];

/// The network near `first` with the best explanation, with one of these rates down over rates up; `None` if the page
/// does not load.
pub(super) fn near(
    fit: &Fit<'_>,
    page: &Page,
    first: RecordedNetwork,
    shares: &[f64],
) -> Option<RecordedNetwork> {
    let objects = page.objects.len();
    let mut explanations = Explanations {
        fit,
        page,
        simulations: (MOST_OBJECTS / NETWORKS / objects)
            .clamp(FEWEST_SIMULATIONS, MOST_SIMULATIONS),
        best: first,
        least: i64::MAX,
        costs: BTreeMap::new(),
    };
    let share = first.down_bit_per_s as f64 / first.up_bit_per_s as f64;
    explanations.compare(first.down_bit_per_s as f64, share, first.queue_packets)?;
    let rate = match first.down {
        RateEstimate::Told { .. } => first.down_bit_per_s as f64,
        RateEstimate::AtLeast(low) => {
            for rate in nearest_round_rates(low as f64) {
                explanations.compare(rate, share, first.queue_packets)?;
            }
            if explanations.best == first || !explanations.is_told()? {
                return Some(first);
            }
            explanations.rate()
        }
    };
    for queue_packets in [first.queue_packets].into_iter().chain(QUEUES) {
        for rate in nearest_round_rates(rate) {
            explanations.compare(rate, share, queue_packets)?;
        }
    }
    for share in shares {
        explanations.compare(explanations.rate(), *share, explanations.best.queue_packets)?;
    }
    Some(explanations.told())
}

/// Networks that were tried, with the cost of their explanations.
struct Explanations<'a> {
    fit: &'a Fit<'a>,
    page: &'a Page,
    simulations: usize,
    best: RecordedNetwork,
    least: i64,
    /// By both rates and queue.
    costs: BTreeMap<(u64, u64, u64), i64>,
}

impl Explanations<'_> {
    fn rate(&self) -> f64 {
        self.best.down_bit_per_s as f64
    }

    /// True if twice the best rate explains the recording clearly worse: the link was full.
    fn is_told(&self) -> Option<bool> {
        let down_bit_per_s = self.best.down_bit_per_s * 2;
        let twice = self.cost(RecordedNetwork { down_bit_per_s, ..self.best })?;
        Some(twice > self.least + self.least * AS_GOOD_PERCENT / 100)
    }

    /// The best network, with an interval that contains its rate.
    fn told(&self) -> RecordedNetwork {
        let rate = self.best.down_bit_per_s;
        let (low, high) = match self.best.down {
            RateEstimate::Told { low, high } => (low.min(rate), high.max(rate)),
            RateEstimate::AtLeast(low) => (low.min(rate), rate),
        };
        RecordedNetwork { down: RateEstimate::Told { low, high }, ..self.best }
    }

    /// Tries a network, unless the best one explains everything; `None` if the page does not load.
    fn compare(&mut self, rate: f64, share: f64, queue_packets: u64) -> Option<()> {
        let (down_bit_per_s, up_bit_per_s) = (rate as u64, ((rate / share) as u64).max(SLOWEST_UP));
        let network = RecordedNetwork { down_bit_per_s, up_bit_per_s, queue_packets, ..self.best };
        let key = (down_bit_per_s, up_bit_per_s, queue_packets);
        let is_explained = self.least <= think::RESOLUTION * self.page.objects.len() as i64;
        if is_explained || self.costs.contains_key(&key) {
            return Some(());
        }
        let cost = self.cost(network)?;
        self.costs.insert(key, cost);
        if cost < self.least {
            (self.best, self.least) = (network, cost);
        }
        Some(())
    }

    /// Cost of explaining the recording by a network.
    fn cost(&self, mut network: RecordedNetwork) -> Option<i64> {
        let page = settled(self.fit, self.page.clone(), &mut network, 1)?.page;
        Some(think::fit(self.fit, page, &network, self.simulations)?.cost(self.fit))
    }
}
