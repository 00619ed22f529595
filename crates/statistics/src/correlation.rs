//! Correlation of two lists of values.

use super::Sample;
use super::ranks::ranks;

/// Pearson's product-moment correlation; `None` with fewer than three pairs or where one list is constant.
///
/// # Panics
/// If the lists differ in length: their values are pairs.
pub fn pearson(first: &[f64], second: &[f64]) -> Option<f64> {
    assert_eq!(first.len(), second.len(), "correlated values come in pairs");
    if first.len() < FEWEST {
        return None;
    }
    let centred = |values: &[f64]| -> Option<Vec<f64>> {
        let mean = Sample::new(values.iter().copied())?.mean();
        Some(values.iter().map(|v| v - mean).collect())
    };
    let (first, second) = (centred(first)?, centred(second)?);
    let products = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let scale = (products(&first, &first) * products(&second, &second)).sqrt();
    (scale > 0.0).then(|| (products(&first, &second) / scale).clamp(-1.0, 1.0))
}

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs.
///
/// # Panics
/// If the lists differ in length.
pub fn spearman(first: &[f64], second: &[f64]) -> Option<f64> {
    pearson(&ranks(first), &ranks(second))
}

/// With two pairs either correlation is 1 or -1, whatever the values.
const FEWEST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_by_hand() {
        // Means 2 and 3, so -1 0 1 and -2 -1 3: products 2 + 0 + 3 = 5,
        // squares 2 and 14: 5 / sqrt(28) = 0.944911.
        let (x, y) = ([1.0, 2.0, 3.0], [1.0, 2.0, 6.0]);
        assert!((pearson(&x, &y).unwrap() - 0.944_911_183).abs() < 1e-9);
        assert_eq!(spearman(&x, &y), Some(1.0));
        // Ranks 1 2 3 4 and 2 1 4 3: 1 - 6 * (1 + 1 + 1 + 1) / (4 * 15) = 0.6.
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [20.0, 10.0, 40.0, 30.0]);
        assert!((spearman(&x, &y).unwrap() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn too_little_to_tell() {
        assert_eq!(pearson(&[1.0, 2.0], &[1.0, 2.0]), None);
        assert_eq!(pearson(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }
}
