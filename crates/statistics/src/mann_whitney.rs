//! The Mann-Whitney U test of the tendency of one sample's values to be larger than another's, whatever their
//! distributions (Mann and Whitney, "On a test of whether one of two random variables is stochastically larger
//! than the other", 1947).
//!
//! Without ties and with few values the probability is exact, from the number of orders that have each U;
//! otherwise it is that of the normal distribution, with the correction for ties (Lehmann, "Nonparametrics",
//! section 1.4) and for continuity. Always two-sided.

use statrs::function::erf::erfc;

use crate::correlation::{ranks, ties};

/// Maximum number of values, of both samples together, for an exact probability: the number of orders, at most
/// C(50, 25) = 1.26e14, is then exact in a float.
const EXACT_UP_TO: usize = 50;

/// Result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// The pairs in which the first sample's value is larger, equal ones counting half.
    pub u: f64,
    /// The same as a share of all pairs: the probability that a value of the first sample exceeds one of the
    /// second. One half: neither tends to be larger.
    pub share: f64,
    /// The probability of a U at least as far from its mean, if both samples had the same distribution.
    pub p: f64,
}

/// Tests two samples; `None` if one is empty or has values that are not finite.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    let values: Vec<f64> = first.iter().chain(second).copied().collect();
    if first.is_empty() || second.is_empty() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let (n, m) = (first.len() as f64, second.len() as f64);
    let rank_sum: f64 = ranks(&values)[..first.len()].iter().sum();
    let u = rank_sum - n * (n + 1.0) / 2.0;
    let farther = u.max(n * m - u);
    let ties = ties(&values);
    let is_exact = values.len() <= EXACT_UP_TO && ties.iter().all(|group| *group == 1);
    let one_sided = match is_exact {
        true => exact(first.len(), second.len(), farther as usize),
        false => normal(n, m, farther, &ties),
    };
    Some(MannWhitney { u, share: u / (n * m), p: (2.0 * one_sided).min(1.0) })
}

/// The probability of a U of `u` or more among all orders of `n` and `m` different values.
fn exact(n: usize, m: usize, u: usize) -> f64 {
    let counts = orders_by_u(n, m);
    let total: u64 = counts.iter().sum();
    let tail: u64 = counts[u..].iter().sum();
    tail as f64 / total as f64
}

/// Number of orders of `n` and `m` values for which U is 0, 1, ..., n m: the coefficients of the Gaussian
/// binomial coefficient, the product of (1 - q^(m+i)) / (1 - q^i) over i from 1 to n.
fn orders_by_u(n: usize, m: usize) -> Vec<u64> {
    let degree = n * m;
    let mut counts = vec![0_i64; degree + 1];
    counts[0] = 1;
    for i in 1..=n {
        for power in (m + i..=degree).rev() {
            counts[power] -= counts[power - m - i];
        }
        for power in i..=degree {
            counts[power] += counts[power - i];
        }
    }
    counts.into_iter().map(i64::unsigned_abs).collect()
}

/// The same probability by the normal distribution, for any values.
fn normal(n: f64, m: f64, u: f64, ties: &[usize]) -> f64 {
    let all = n + m;
    let tied: f64 = ties.iter().map(|group| *group as f64).map(|t| t * (t * t - 1.0)).sum();
    let variance = n * m / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 0.5; // all values are the same: no order says anything
    }
    let z = (u - n * m / 2.0 - 0.5) / variance.sqrt();
    erfc(z / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_hand() {
        // Two a's and two b's: aabb 0, abab 1, abba 2, baab 2, baba 3, bbaa 4.
        assert_eq!(orders_by_u(2, 2), [1, 1, 2, 1, 1]);
        let binomial = |n, m| orders_by_u(n, m).iter().sum::<u64>();
        assert_eq!(binomial(10, 10), 184_756);
        assert_eq!(binomial(25, 25), 126_410_606_437_752);
    }

    #[test]
    fn samples_apart() {
        // All 9 pairs one way: 2 of 20 orders are as far out.
        let test = mann_whitney(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((test.u, test.share), (9.0, 1.0));
        assert!((test.p - 0.1).abs() < 1e-12);
    }

    #[test]
    fn copies_say_nothing_and_swapping_changes_sides_alone() {
        let same = mann_whitney(&[2.0; 4], &[2.0; 3]).unwrap();
        assert_eq!((same.share, same.p), (0.5, 1.0));
        let (a, b) = ([1.0, 4.0, 4.0, 9.0], [2.0, 4.0, 7.0]);
        let (one, other) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
        assert_eq!(one.u + other.u, 12.0);
        assert_eq!(one.p, other.p);
        assert_eq!(mann_whitney(&[], &a), None);
        assert_eq!(mann_whitney(&[f64::NAN], &a), None);
    }
}
