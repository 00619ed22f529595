//! Ranks of values, and sizes of ties.

/// The rank of each value, from 1; equal values share the mean of their ranks ("midranks").
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equals in ordered(values).chunk_by(|a, b| values[*a] == values[*b]) {
        let shared = before as f64 + (equals.len() + 1) as f64 / 2.0;
        equals.iter().for_each(|index| ranks[*index] = shared);
        before += equals.len();
    }
    ranks
}

/// The size of each group of equal values, in order; a single value is a group of 1.
pub(super) fn ties(values: &[f64]) -> Vec<usize> {
    ordered(values).chunk_by(|a, b| values[*a] == values[*b]).map(<[usize]>::len).collect()
}

/// The indices of the values in ascending order of value.
fn ordered(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_equals_are_shared() {
        assert_eq!(ranks(&[10.0, 30.0, 20.0, 30.0]), [1.0, 3.5, 2.0, 3.5]);
        assert_eq!(ties(&[10.0, 30.0, 20.0, 30.0]), [1, 1, 2]);
        assert!(ranks(&[]).is_empty() && ties(&[]).is_empty());
    }
}
