//! The signed-rank test of pairs: whether the differences within pairs tend to one side (Wilcoxon, "Individual comparisons by ranking
//! methods", 1945).
//!
//! Pairs without a difference are left out. Without ties and with few pairs the probability is exact, from the number of sets of ranks
//! that have each sum; otherwise it is that of the normal distribution, with the correction for ties and none for continuity, as
//! SciPy's. Always two-sided.

use statrs::function::erf::erfc;

use super::Pair;
use crate::correlation::{ranks, ties};

/// Maximum number of pairs for an exact probability.
const EXACT_UP_TO: usize = 50;

/// Result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wilcoxon {
    /// Sum of the ranks of pairs whose first value is larger.
    pub larger: f64,
    /// Matched-pairs rank-biserial correlation (Kerby, 2014): 1 if the first value is larger in all pairs, -1 if the second is.
    pub effect: f64,
    /// The probability of a sum at least as far from its mean, if differences had no tendency.
    pub p: f64,
}

/// Tests pairs; `None` if there are none or values are not finite. Pairs that are all equal have no tendency for certain: p is 1.
pub fn wilcoxon(pairs: &[Pair]) -> Option<Wilcoxon> {
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.first - pair.second).collect();
    if pairs.is_empty() || differences.iter().any(|it| !it.is_finite()) {
        return None;
    }
    let differences: Vec<f64> = differences.into_iter().filter(|it| *it != 0.0).collect();
    let n = differences.len();
    if n == 0 {
        return Some(Wilcoxon { larger: 0.0, effect: 0.0, p: 1.0 });
    }
    let sizes: Vec<f64> = differences.iter().map(|it| it.abs()).collect();
    let signed = differences.iter().zip(ranks(&sizes));
    let larger: f64 = signed.filter(|(it, _)| **it > 0.0).map(|(_, rank)| rank).sum();
    let total = (n * (n + 1)) as f64 / 2.0;
    let farther = larger.max(total - larger);
    let ties = ties(&sizes);
    let is_exact = n <= EXACT_UP_TO && n == pairs.len() && ties.iter().all(|group| *group == 1);
    let one_sided = match is_exact {
        true => exact(n, farther as usize),
        false => normal(n as f64, farther, &ties),
    };
    Some(Wilcoxon { larger, effect: 2.0 * larger / total - 1.0, p: (2.0 * one_sided).min(1.0) })
}

/// The probability of a sum of `sum` or more among all sets of the ranks from 1 to `n`.
fn exact(n: usize, sum: usize) -> f64 {
    // Up to 2^50 sets: exact in a float.
    let mut sets = vec![0.0; n * (n + 1) / 2 + 1];
    sets[0] = 1.0;
    for rank in 1..=n {
        for total in (rank..sets.len()).rev() {
            sets[total] += sets[total - rank];
        }
    }
    sets[sum..].iter().sum::<f64>() / 2.0_f64.powi(n as i32)
}

/// The same probability by the normal distribution, for any values.
fn normal(n: f64, sum: f64, ties: &[usize]) -> f64 {
    let tied: f64 = ties.iter().map(|group| *group as f64).map(|t| t * (t * t - 1.0)).sum();
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tied / 48.0;
    let z = (sum - n * (n + 1.0) / 4.0) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(differences: &[f64]) -> Vec<Pair> {
        differences.iter().map(|it| Pair { first: 10.0 + it, second: 10.0 }).collect()
    }

    #[test]
    fn sets_by_hand() {
        // Three pairs that all differ to one side: 2 of 8 sets of signs are as far out.
        let test = wilcoxon(&pairs(&[1.0, 2.0, 3.5])).unwrap();
        assert_eq!((test.larger, test.effect), (6.0, 1.0));
        assert!((test.p - 0.25).abs() < 1e-12);
        let test = wilcoxon(&pairs(&[-1.0, 2.0, 3.5])).unwrap();
        assert_eq!(test.larger, 5.0);
        assert!((test.p - 0.5).abs() < 1e-12);
    }

    #[test]
    fn equal_pairs_say_nothing_and_swapping_changes_sides_alone() {
        assert_eq!(wilcoxon(&pairs(&[0.0; 4])).unwrap().p, 1.0);
        assert_eq!(wilcoxon(&[]), None);
        let one = wilcoxon(&pairs(&[1.0, -2.0, 0.0, 4.0, 4.0])).unwrap();
        let other = wilcoxon(&pairs(&[-1.0, 2.0, 0.0, -4.0, -4.0])).unwrap();
        assert_eq!(one.p, other.p);
        assert!((one.effect + other.effect).abs() < 1e-12);
    }
}
