//! Probabilities of many tests, adjusted so that one of them is not called certain by chance.

/// Holm's step-down adjustment: with results below `a` called certain, the probability that any of them is chance is at most `a`.
///
/// Holm, "A simple sequentially rejective multiple test procedure", 1979.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let tests = probabilities.len();
    let mut adjusted = vec![0.0; tests];
    let mut largest: f64 = 0.0;
    for (rank, at) in ascending(probabilities).into_iter().enumerate() {
        largest = largest.max((tests - rank) as f64 * probabilities[at]).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

fn ascending(probabilities: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    order
}
