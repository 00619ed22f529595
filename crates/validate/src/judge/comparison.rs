//! Comparison of one set of page load times with another, cell by cell.

use std::collections::BTreeMap;

use chance::{RandomSource, RandomStream};
use statistics::{Sample, pearson, spearman};

use crate::cell::{DIFFERS, Figure};

/// The properties of a cell that figures need.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCell {
    /// Index among the suite's cells.
    pub cell: usize,
    /// True if its network loses packets at random.
    pub lossy: bool,
    /// Name of its network.
    pub network: String,
}

/// Two subjects that differ in protocol alone, as indices of the subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolPair {
    /// The first.
    pub first: usize,
    /// The second.
    pub second: usize,
}

/// The subjects, with model and reference.
pub struct Comparison<'a> {
    /// The compared cells.
    pub subjects: &'a [JudgedCell],
    /// The pairs among them that differ only in the protocol.
    pub pairs: &'a [ProtocolPair],
    /// The reference, for each subject.
    pub reference: Vec<LogQuartiles>,
    /// The model to be judged, for each subject.
    pub model: Vec<LogQuartiles>,
    /// The relative error that chance alone makes, for each subject.
    pub noise: Vec<LogQuartiles>,
}

impl Comparison<'_> {
    /// A figure's value; `None` if it rests on nothing.
    pub fn value(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::RatioMedian => quantile(self.ratio_errors(), 0.5),
            Figure::RatioP95 => quantile(self.ratio_errors(), 0.95),
            Figure::RatioSign => self.signs_right(),
            Figure::LosslessMedian => quantile(self.lossless_errors(), 0.5),
            Figure::LosslessP95 => quantile(self.lossless_errors(), 0.95),
            Figure::LossyMedian => quantile(self.lossy_errors(net), 0.5),
            Figure::LossyP95 => quantile(self.lossy_errors(net), 0.95),
            Figure::LossyGrossMedian => quantile(self.lossy_errors(gross), 0.5),
            Figure::LossyGrossP95 => quantile(self.lossy_errors(gross), 0.95),
            Figure::Pearson => pearson(&medians(&self.reference), &medians(&self.model)),
            Figure::Spearman => spearman(&medians(&self.reference), &medians(&self.model)),
            Figure::SpearmanWithin => self.least_within_networks(),
        }
    }

    /// The number of cells or pairs that a figure rests on.
    pub fn basis(&self, figure: Figure) -> usize {
        match figure {
            Figure::RatioMedian | Figure::RatioP95 => self.pairs.len(),
            Figure::RatioSign => self.differing().count(),
            Figure::LosslessMedian | Figure::LosslessP95 => self.of_loss(false).count(),
            Figure::LossyMedian
            | Figure::LossyP95
            | Figure::LossyGrossMedian
            | Figure::LossyGrossP95 => self.of_loss(true).count(),
            Figure::Pearson | Figure::Spearman | Figure::SpearmanWithin => self.subjects.len(),
        }
    }

    /// The relative error of a quartile, noise included.
    pub fn error(&self, subject: usize, quartile: usize) -> f64 {
        relative(self.model[subject][quartile] - self.reference[subject][quartile])
    }

    fn ratio_errors(&self) -> impl Iterator<Item = f64> {
        self.pairs.iter().map(|p| (ratio(&self.model, *p) - ratio(&self.reference, *p)).abs())
    }

    /// The pairs whose protocols differ by enough to matter.
    fn differing(&self) -> impl Iterator<Item = &ProtocolPair> {
        let enough = (1.0 + DIFFERS).ln();
        self.pairs.iter().filter(move |pair| ratio(&self.reference, **pair).abs() > enough)
    }

    fn signs_right(&self) -> Option<f64> {
        let is_right = |pair: &&ProtocolPair| {
            ratio(&self.reference, **pair).signum() == ratio(&self.model, **pair).signum()
        };
        let (right, all) = (self.differing().filter(is_right).count(), self.differing().count());
        (all > 0).then(|| right as f64 / all as f64)
    }

    /// The subjects with random loss, or those without.
    fn of_loss(&self, lossy: bool) -> impl Iterator<Item = usize> {
        let subjects = self.subjects.iter().enumerate();
        subjects.filter(move |(_, subject)| subject.lossy == lossy).map(|(index, _)| index)
    }

    fn lossless_errors(&self) -> impl Iterator<Item = f64> {
        self.of_loss(false).map(|subject| self.error(subject, MEDIAN))
    }

    /// All quartiles' errors; `left` returns the part of an error that noise does not explain.
    fn lossy_errors(&self, left: fn(f64, f64) -> f64) -> impl Iterator<Item = f64> {
        let quartiles = self.of_loss(true).flat_map(|subject| [0, 1, 2].map(|q| (subject, q)));
        quartiles.map(move |(subject, q)| left(self.error(subject, q), self.noise[subject][q]))
    }

    /// The least rank correlation within a network that has enough subjects for one.
    fn least_within_networks(&self) -> Option<f64> {
        let mut networks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, subject) in self.subjects.iter().enumerate() {
            networks.entry(&subject.network).or_default().push(index);
        }
        let of = |quartiles: &[LogQuartiles], subjects: &[usize]| -> Vec<f64> {
            subjects.iter().map(|subject| quartiles[*subject][MEDIAN]).collect()
        };
        let within = networks.values().filter_map(|subjects| {
            spearman(&of(&self.reference, subjects), &of(&self.model, subjects))
        });
        within.min_by(f64::total_cmp)
    }
}

/// An error without deduction.
fn gross(error: f64, _noise: f64) -> f64 {
    error
}

/// The log ratio of the medians of a pair.
pub fn ratio(quartiles: &[LogQuartiles], pair: ProtocolPair) -> f64 {
    quartiles[pair.first][MEDIAN] - quartiles[pair.second][MEDIAN]
}

fn medians(quartiles: &[LogQuartiles]) -> Vec<f64> {
    quartiles.iter().map(|q| q[MEDIAN]).collect()
}

fn quantile(errors: impl Iterator<Item = f64>, q: f64) -> Option<f64> {
    Some(Sample::new(errors)?.quantile(q))
}

// The effect of chance alone on a comparison: the emulation compared with itself.
//
// A quantile of n loads scatters. Let its variance (of the logarithm) be c²/n; that holds for every quantile of
// a smooth distribution (Mosteller, "On some useful inefficient statistics", 1946), with another c each. Two
// random halves of one cell's n_e emulated loads, h and n_e - h of them, then differ by a variance of
// c² (1/h + 1/(n_e - h)), and n_s simulated loads would differ from all n_e emulated ones, were both drawn
// from the same distribution, by c² (1/n_s + 1/n_e). The difference of halves times
//
// ```text
// scale = sqrt((1/n_s + 1/n_e) / (1/h + 1/(n_e - h)))
// ```
//
// is therefore the one that a perfect model would show: for n_s = 100 and n_e = 50 it is 0.61 of the halves'
// difference. Many random halves are drawn, seeded. Not covered: a drift of the machine between loads is part
// of both halves, and a distribution with two heaps far apart has no single c at the quantile that falls
// between them.

/// Number of times that a cell is halved.
pub const SPLITS: usize = 200;

/// The 25th, 50th and 75th percentile of the logarithm of the page load time.
pub type LogQuartiles = [f64; 3];

/// The probabilities of [`LogQuartiles`].
pub const QUARTILES: [f64; 3] = [0.25, 0.5, 0.75];

/// Index of the median in [`LogQuartiles`].
pub const MEDIAN: usize = 1;

/// One halving: the first half, and the corresponding result of a perfect model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halving {
    /// The quartiles of the first half.
    pub reference: LogQuartiles,
    /// The first half's, moved towards the second half's by `scale`.
    pub model: LogQuartiles,
}

/// The logarithms of a sample's quartiles. Its values are positive: a page takes time to load.
pub fn log_quartiles(sample: &Sample) -> LogQuartiles {
    QUARTILES.map(|q| sample.quantile(q).ln())
}

/// Halves `emu` [`SPLITS`] times, as a stand-in for a model with `model_loads` loads (`None`: a model without
/// chance). Returns nothing for fewer than two loads.
pub fn halve(emu: &Sample, model_loads: Option<usize>, stream: &mut RandomStream) -> Vec<Halving> {
    let n = emu.values().len();
    if n < 2 {
        return Vec::new();
    }
    let scale = scale(n, model_loads);
    let mut values = emu.values().to_vec();
    let halving = |_| {
        shuffle(&mut values, stream);
        let (first, second) = values.split_at(n / 2);
        let quartiles = |half: &[f64]| {
            log_quartiles(&Sample::new(half.iter().copied()).expect("a half has values"))
        };
        let (reference, other) = (quartiles(first), quartiles(second));
        let model = [0, 1, 2].map(|q| reference[q] + scale * (other[q] - reference[q]));
        Halving { reference, model }
    };
    (0..SPLITS).map(halving).collect()
}

/// Ratio of the difference between `n` loads and `model_loads` loads to the difference of two halves of `n`
/// loads.
fn scale(n: usize, model_loads: Option<usize>) -> f64 {
    let (n, half) = (n as f64, (n / 2) as f64);
    let compared = 1.0 / n + model_loads.map_or(0.0, |loads| 1.0 / loads as f64);
    (compared / (1.0 / half + 1.0 / (n - half))).sqrt()
}

fn shuffle(values: &mut [f64], stream: &mut RandomStream) {
    for last in (1..values.len()).rev() {
        values.swap(last, stream.below(last as u64 + 1) as usize);
    }
}

/// The stream that halves the cell at `index`.
pub fn stream(seed: u64, index: usize) -> RandomStream {
    RandomSource::new(seed, index as u64).stream("validate/halves")
}

/// The relative error of each quartile due to chance: root mean square over the halvings; 0 without any.
pub fn noise(halvings: &[Halving]) -> LogQuartiles {
    [0, 1, 2].map(|q| {
        let squares = halvings.iter().map(|h| relative(h.model[q] - h.reference[q]).powi(2));
        (squares.sum::<f64>() / halvings.len().max(1) as f64).sqrt()
    })
}

/// The relative error of the median of `emu`, the loads of the cell at `index`, due to chance alone.
pub fn chance_of_median(emu: &Sample, seed: u64, index: usize) -> f64 {
    noise(&halve(emu, None, &mut stream(seed, index)))[MEDIAN]
}

/// The relative error that corresponds to a difference of logarithms.
pub fn relative(log_difference: f64) -> f64 {
    (log_difference.exp() - 1.0).abs()
}

/// The part of `error` that remains without `noise`, which is independent of it: errors add up in squares.
pub fn net(error: f64, noise: f64) -> f64 {
    (error * error - noise * noise).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(lossy: bool, network: &str) -> JudgedCell {
        JudgedCell { cell: 0, lossy, network: network.to_owned() }
    }

    /// Equal quartiles, at `ms`.
    fn flat(ms: f64) -> LogQuartiles {
        [ms.ln(); 3]
    }

    fn close(value: Option<f64>, expected: f64) {
        let value = value.expect("a value");
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn figures_by_hand() {
        let subjects = [
            subject(false, "near"),
            subject(false, "near"),
            subject(false, "near"),
            subject(true, "far"),
        ];
        let pairs = [ProtocolPair { first: 0, second: 1 }, ProtocolPair { first: 2, second: 1 }];
        let comparison = Comparison {
            subjects: &subjects,
            pairs: &pairs,
            reference: vec![flat(1000.0), flat(500.0), flat(520.0), flat(2000.0)],
            model: vec![flat(1020.0), flat(500.0), flat(468.0), flat(2100.0)],
            noise: vec![[0.0; 3], [0.0; 3], [0.0; 3], [0.03, 0.03, 0.06]],
        };
        // Errors 2 %, 0 %, 10 %: p95 at place 1.9 is 2 + 0.9 * 8.
        close(comparison.value(Figure::LosslessMedian), 0.02);
        close(comparison.value(Figure::LosslessP95), 0.092);
        // log(1020/500) - log(1000/500) = log 1.02, and log(468/500) - log(520/500) = log 0.9.
        let (one, other) = (1.02f64.ln(), -(0.9f64.ln()));
        close(comparison.value(Figure::RatioMedian), (one + other) / 2.0);
        close(comparison.value(Figure::RatioP95), one + 0.95 * (other - one));
        // 520 against 500 is not a difference that matters; 1000 against 500 is, and the model agrees.
        close(comparison.value(Figure::RatioSign), 1.0);
        assert_eq!(comparison.basis(Figure::RatioSign), 1);
        // 5 % each; net of 3 %: 4 %, 4 %; net of 6 %: nothing.
        close(comparison.value(Figure::LossyGrossMedian), 0.05);
        close(comparison.value(Figure::LossyMedian), 0.04);
        close(comparison.value(Figure::LossyP95), 0.04);
        // Ranks 3 1 2 4 and 3 2 1 4: 1 - 6 * 2 / (4 * 15); within "near" 1 - 6 * 2 / (3 * 8).
        close(comparison.value(Figure::Spearman), 0.8);
        close(comparison.value(Figure::SpearmanWithin), 0.5);
    }

    #[test]
    fn the_wrong_winner_is_seen() {
        let subjects = [subject(false, "near"), subject(false, "near")];
        let comparison = Comparison {
            subjects: &subjects,
            pairs: &[ProtocolPair { first: 0, second: 1 }],
            reference: vec![flat(1000.0), flat(900.0)],
            model: vec![flat(900.0), flat(1000.0)],
            noise: vec![[0.0; 3]; 2],
        };
        assert_eq!(comparison.value(Figure::RatioSign), Some(0.0));
        assert_eq!(comparison.value(Figure::LossyMedian), None);
        assert_eq!(comparison.value(Figure::Spearman), None);
    }

    #[test]
    fn the_scale_by_hand() {
        // (1/100 + 1/50) / (1/25 + 1/25) = 0.03 / 0.08 = 0.375, and its root 0.612.
        assert!((scale(50, Some(100)) - 0.375f64.sqrt()).abs() < 1e-12);
        // As many simulated as emulated loads: 2/50 over 4/50.
        assert!((scale(50, Some(50)) - 0.5f64.sqrt()).abs() < 1e-12);
        assert!((scale(50, None) - 0.5).abs() < 1e-12);
        // An odd number: (1/3) / (1/1 + 1/2).
        assert!((scale(3, None) - (2.0f64 / 9.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn halves_scatter_as_the_mean_of_a_normal_sample_does() {
        // For a normal distribution the median's variance is pi/2 * s^2 / n: c = 1.2533 s. Log-normal loads with
        // s = 0.1; 400 emulated and as many simulated: 0.12533 * sqrt(2/400) = 0.00886.
        let mut stream = RandomSource::new(5, 0).stream("test");
        let loads = (0..400).map(|_| 1000.0 * (0.1 * stream.normal()).exp());
        let sample = Sample::new(loads).unwrap();
        let halvings = halve(&sample, Some(400), &mut stream);
        assert_eq!(halvings.len(), SPLITS);
        let noise = noise(&halvings)[MEDIAN];
        assert!((0.006..0.012).contains(&noise), "{noise}");
    }

    #[test]
    fn loads_without_spread_have_no_noise_and_one_load_no_halves() {
        let same = Sample::new([7.0; 10]).unwrap();
        let halvings = halve(&same, None, &mut stream(1, 0));
        assert_eq!(noise(&halvings), [0.0; 3]);
        assert_eq!(halvings[0].reference, [7.0f64.ln(); 3]);
        let one = Sample::new([7.0]).unwrap();
        assert!(halve(&one, None, &mut stream(1, 0)).is_empty());
    }

    #[test]
    fn errors_add_up_in_squares() {
        assert!((net(0.05, 0.03) - 0.04).abs() < 1e-12);
        assert_eq!(net(0.02, 0.03), 0.0);
        assert!((relative(1.1f64.ln()) - 0.1).abs() < 1e-12);
        assert!((relative(0.8f64.ln()) - 0.2).abs() < 1e-12);
    }
}
