//! A set of sequence numbers, kept as disjoint ranges.

use std::ops::Range;

/// Disjoint, non-adjacent ranges in order. A lookup costs O(log n) for n ranges; a change moves the ranges
/// behind it, which for the few gaps of a window is cheaper than a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The end of the highest range.
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.end)
    }

    /// The range that contains `at`.
    pub(crate) fn containing(&self, at: u64) -> Option<Range<u64>> {
        let after = self.ranges.partition_point(|range| range.end <= at);
        self.ranges.get(after).filter(|range| range.start <= at).cloned()
    }

    /// Adds `range`; calls `gap` with each part that was not in the set, in order.
    pub(crate) fn insert(&mut self, range: Range<u64>, mut gap: impl FnMut(Range<u64>)) {
        if range.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|known| known.end < range.start);
        let touching = self.ranges[first..].iter().take_while(|known| known.start <= range.end);
        let (mut at, mut count) = (range.start, 0);
        for known in touching {
            if at < known.start {
                gap(at..known.start);
            }
            at = at.max(known.end);
            count += 1;
        }
        if at < range.end {
            gap(at..range.end);
        }
        if count == 0 {
            self.ranges.insert(first, range);
            return;
        }
        let start = self.ranges[first].start.min(range.start);
        self.ranges[first] = start..at.max(range.end);
        self.ranges.drain(first + 1..first + count);
    }

    /// Removes everything below `limit`.
    pub(crate) fn remove_below(&mut self, limit: u64) {
        let below = self.ranges.partition_point(|range| range.end <= limit);
        self.ranges.drain(..below);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn insertion_merges_neighbours_and_reports_gaps() {
        let mut set = RangeSet::default();
        let mut gaps = Vec::new();
        for range in [10..20, 30..40, 15..35, 40..41, 5..50, 6..7] {
            set.insert(range, |gap| gaps.push(gap));
        }
        assert_eq!(gaps, [10..20, 30..40, 20..30, 40..41, 5..10, 41..50]);
        assert_eq!(set.containing(49), Some(5..50));
        assert_eq!(set.containing(50), None);
        set.remove_below(30);
        assert_eq!(set.containing(35), Some(30..50));
    }

    proptest! {
        #[test]
        fn behaves_as_a_set_of_numbers(inserts in prop::collection::vec((0u64..60, 0u64..12), 1..30), cut in 0u64..70) {
            let mut set = RangeSet::default();
            let mut model = std::collections::BTreeSet::new();
            for (start, len) in inserts {
                let mut fresh = Vec::new();
                set.insert(start..start + len, |gap| fresh.extend(gap));
                let expected: Vec<u64> = (start..start + len).filter(|n| model.insert(*n)).collect();
                prop_assert_eq!(fresh, expected);
            }
            set.remove_below(cut);
            model.retain(|n| *n >= cut);
            for n in 0..80 {
                prop_assert_eq!(set.containing(n).is_some(), model.contains(&n));
            }
            prop_assert_eq!(set.end(), model.last().map(|n| n + 1));
        }
    }
}
