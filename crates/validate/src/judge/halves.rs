//! The effect of chance alone on a comparison: the emulation compared with itself.
//!
//! A quantile of n loads scatters. Let its variance (of the logarithm) be c²/n; that holds for every quantile of
//! a smooth distribution (Mosteller, "On some useful inefficient statistics", 1946), with another c each. Two
//! random halves of one cell's n_e emulated loads, h and n_e - h of them, then differ by a variance of
//! c² (1/h + 1/(n_e - h)), and n_s simulated loads would differ from all n_e emulated ones, were both drawn
//! from the same distribution, by c² (1/n_s + 1/n_e). The difference of halves times
//!
//! ```text
//! scale = sqrt((1/n_s + 1/n_e) / (1/h + 1/(n_e - h)))
//! ```
//!
//! is therefore the one that a perfect model would show: for n_s = 100 and n_e = 50 it is 0.61 of the halves'
//! difference. Many random halves are drawn, seeded. Not covered: a drift of the machine between loads is part
//! of both halves, and a distribution with two heaps far apart has no single c at the quantile that falls
//! between them.

use chance::{Source, Stream};

use statistics::Sample;

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
pub fn halve(emu: &Sample, model_loads: Option<usize>, stream: &mut Stream) -> Vec<Halving> {
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

fn shuffle(values: &mut [f64], stream: &mut Stream) {
    for last in (1..values.len()).rev() {
        values.swap(last, stream.below(last as u64 + 1) as usize);
    }
}

/// The stream that halves the cell at `index`.
pub fn stream(seed: u64, index: usize) -> Stream {
    Source::new(seed, index as u64).stream("validate/halves")
}

/// The relative error of each quartile due to chance: root mean square over the halvings; 0 without any.
pub fn noise(halvings: &[Halving]) -> LogQuartiles {
    [0, 1, 2].map(|q| {
        let squares = halvings.iter().map(|h| relative(h.model[q] - h.reference[q]).powi(2));
        (squares.sum::<f64>() / halvings.len().max(1) as f64).sqrt()
    })
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
        let mut stream = Source::new(5, 0).stream("test");
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
