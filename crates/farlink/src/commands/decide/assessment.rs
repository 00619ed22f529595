//! Assessment of a choice: its gain over the first choice, its costs, and the networks where another one is faster.

use record::VisitRecord;

use super::server_cpu;
use crate::budget::metric;
use crate::commands::compare::difference::{Difference, signed};
use crate::show::arms::Arm;

/// Gains below this are of no consequence, however certain they are.
const OF_CONSEQUENCE: f64 = 0.02;

/// Quantile of the normal distribution for intervals of 95 %.
const NORMAL_975: f64 = 1.959_963_985;

/// One way of carrying the page, over each network.
pub struct Choice {
    /// Its name: `h2`, or `h2 caching-proxy`.
    pub name: String,
    /// Its loads over each network; `None` if the combination is left out or a load or an object is lost.
    arms: Vec<Option<Arm>>,
}

impl Choice {
    /// The choices of a grid in which networks alone are conditions.
    pub fn all(arms: Vec<Arm>, networks: usize) -> Vec<Choice> {
        let mut of_networks = Vec::new();
        let mut choices: Vec<Choice> = Vec::new();
        for arm in arms {
            let network = arm.scenario().network.clone();
            let known = of_networks.iter().position(|known| *known == network);
            let index = known.unwrap_or_else(|| {
                of_networks.push(network);
                of_networks.len() - 1
            });
            let at = choices.iter().position(|choice| choice.name == arm.name());
            let at = at.unwrap_or_else(|| {
                let arms = (0..networks).map(|_| None).collect();
                choices.push(Choice { name: arm.name().to_owned(), arms });
                choices.len() - 1
            });
            choices[at].arms[index] = Some(arm).filter(is_whole);
        }
        choices
    }

    /// Median load time over a network, in ns.
    pub fn median(&self, network: usize) -> Option<f64> {
        Some(self.arms[network].as_ref()?.plt()?.median())
    }
}

/// True if all loads succeeded with all objects: one that loses some would win with another page.
fn is_whole(arm: &Arm) -> bool {
    arm.failures().next().is_none() && arm.partial() == 0 && arm.plt().is_some()
}

/// Change of the load time over a mix of networks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Change of the geometric mean, weighted by shares, as a fraction.
    pub change: f64,
    /// Its 95 % interval; `None` with too few loads.
    pub interval: Option<(f64, f64)>,
}

impl Mix {
    /// The changes over networks with their shares. Networks are independent samples: variances of logarithms add up, weighted by the
    /// squares of shares.
    fn of<'a>(changes: impl Iterator<Item = (&'a Difference, f64)>) -> Mix {
        let (mut mean, mut variance, mut is_known) = (0.0, 0.0, true);
        for (difference, share) in changes {
            mean += share * (difference.after / difference.before).ln();
            match difference.interval {
                Some((low, high)) => {
                    let error = ((1.0 + high).ln() - (1.0 + low).ln()) / (2.0 * NORMAL_975);
                    variance += (share * error).powi(2);
                }
                None => is_known &= difference.before == difference.after,
            }
        }
        let half = NORMAL_975 * f64::sqrt(variance);
        let change = |logarithm: f64| logarithm.exp() - 1.0;
        let interval = is_known.then(|| (change(mean - half), change(mean + half)));
        Mix { change: change(mean), interval }
    }

    /// The interval for people.
    pub fn shown_interval(&self) -> String {
        match self.interval {
            Some((low, high)) => format!("{} to {}", signed(low), signed(high)),
            None => "too few loads".to_owned(),
        }
    }
}

/// A network over which another choice is certainly faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// Index of the network.
    pub network: usize,
    /// The fastest choice there.
    pub better: String,
    /// Time that it takes less, as a fraction.
    pub by: f64,
}

/// Gains and costs of a choice.
pub struct Assessment<'a> {
    /// The choice.
    pub choice: &'a Choice,
    /// True for the first choice, which the others are measured against.
    pub is_first: bool,
    /// Change against the first choice over each network.
    pub against_first: Vec<Option<Difference>>,
    /// Change against the first choice over the mix; `None` unless both load over every network.
    pub mix: Option<Mix>,
    /// Mean bytes of a load in both directions.
    pub bytes: Option<f64>,
    /// Mean energy of the radio, tail included, over the networks that have one.
    pub joules: Option<f64>,
    /// Mean CPU time of the servers; `None` where costs are not known.
    pub cpu_ms: Option<f64>,
    /// Networks over which another choice is certainly faster.
    pub wrong: Vec<Wrong>,
}

impl Assessment<'_> {
    /// Order of choices: by the load time over the mix.
    pub fn rank(&self) -> f64 {
        self.mix.map_or(f64::INFINITY, |mix| mix.change)
    }

    /// True if both are of the same choice.
    pub fn is_same(&self, other: &Assessment<'_>) -> bool {
        self.choice.name == other.choice.name
    }
}

/// Assesses all choices against the first.
pub fn of_all<'a>(
    choices: &'a [Choice],
    networks: &[(String, f64)],
    seed: u64,
) -> Vec<Assessment<'a>> {
    let plt = metric("plt").expect("load time is a quantity");
    let difference = |one: &Choice, other: &Choice, network: usize| {
        let (one, other) = (one.arms[network].as_ref()?, other.arms[network].as_ref()?);
        Difference::of(one, other, plt, seed)
    };
    let fastest = |network: usize| {
        let known = choices.iter().filter_map(|it| Some((it.median(network)?, it)));
        known.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, it)| it)
    };
    let assess = |(index, choice): (usize, &'a Choice)| {
        let against_first: Vec<Option<Difference>> =
            (0..networks.len()).map(|network| difference(&choices[0], choice, network)).collect();
        let is_whole = against_first.iter().all(Option::is_some);
        let changes = against_first.iter().flatten().zip(networks);
        let mix = is_whole.then(|| Mix::of(changes.map(|(it, (_, share))| (it, *share))));
        let wrong = (0..networks.len()).filter_map(|network| {
            let better = fastest(network)?;
            let difference = difference(choice, better, network)?;
            let by = -difference.change();
            let is_wrong = difference.verdict() == "less" && by >= OF_CONSEQUENCE;
            is_wrong.then(|| Wrong { network, better: better.name.clone(), by })
        });
        Assessment {
            choice,
            is_first: index == 0,
            mix,
            bytes: mean(choice, networks, |record, _| {
                Some((record.wire_bytes_down + record.wire_bytes_up) as f64)
            }),
            joules: mean(choice, networks, |record, _| {
                let radio = record.radio.as_ref()?;
                Some((radio.energy_uj + radio.tail_uj) as f64 / 1e6)
            }),
            cpu_ms: mean(choice, networks, server_cpu::milliseconds),
            wrong: wrong.collect(),
            against_first,
        }
    };
    choices.iter().enumerate().map(assess).collect()
}

/// Mean of a quantity over loads and, weighted by shares, over the networks that have it.
fn mean(
    choice: &Choice,
    networks: &[(String, f64)],
    of: impl Fn(&VisitRecord, &scenario::Scenario) -> Option<f64>,
) -> Option<f64> {
    let (mut sum, mut shares) = (0.0, 0.0);
    for (arm, (_, share)) in choice.arms.iter().zip(networks) {
        let Some(arm) = arm else { continue };
        let values: Option<Vec<f64>> =
            arm.loads().iter().map(|load| of(&load.visit.record, arm.scenario())).collect();
        if let Some(values) = values.filter(|values| !values.is_empty()) {
            sum += share * values.iter().sum::<f64>() / values.len() as f64;
            shares += share;
        }
    }
    (shares > 0.0).then(|| sum / shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(before: f64, after: f64, interval: Option<(f64, f64)>) -> Difference {
        Difference::with_interval(metric("plt").unwrap(), before, after, interval)
    }

    #[test]
    fn a_mix_is_a_weighted_geometric_mean() {
        let faster = difference(100.0, 50.0, Some((-0.5, -0.5)));
        let slower = difference(100.0, 200.0, Some((1.0, 1.0)));
        let even = Mix::of([(&faster, 0.5), (&slower, 0.5)].into_iter());
        assert!(even.change.abs() < 1e-12);
        let mostly = Mix::of([(&faster, 0.75), (&slower, 0.25)].into_iter());
        assert!((mostly.change - (0.5_f64.sqrt() - 1.0)).abs() < 1e-12);
        let (low, high) = mostly.interval.unwrap();
        assert!((high - low).abs() < 1e-12);
    }

    #[test]
    fn intervals_of_independent_networks_shrink() {
        let one = difference(100.0, 100.0, Some((-0.1, 0.1)));
        let (low, high) = Mix::of([(&one, 1.0)].into_iter()).interval.unwrap();
        let (narrow, wide) = Mix::of([(&one, 0.5), (&one, 0.5)].into_iter()).interval.unwrap();
        assert!(((wide - narrow) / (high - low) - 0.5_f64.sqrt()).abs() < 0.01);
        let unknown = difference(100.0, 90.0, None);
        assert_eq!(Mix::of([(&unknown, 1.0)].into_iter()).interval, None);
    }
}
