//! A set of sequence numbers, kept as disjoint ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint, non-adjacent ranges in order. Each operation costs O(log n) for n ranges, amortised.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeSet {
    /// Start to end.
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The end of the highest range.
    pub(crate) fn end(&self) -> Option<u64> {
        self.ranges.last_key_value().map(|(_, end)| *end)
    }

    /// The range that contains `at`.
    pub(crate) fn containing(&self, at: u64) -> Option<Range<u64>> {
        let (start, end) = self.ranges.range(..=at).next_back()?;
        (at < *end).then_some(*start..*end)
    }

    /// Adds `range`; calls `gap` with each part that was not in the set, in order.
    pub(crate) fn insert(&mut self, range: Range<u64>, mut gap: impl FnMut(Range<u64>)) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end, mut at) = (range.start, range.end, range.start);
        if let Some((&before, &before_end)) = self.ranges.range(..range.start).next_back()
            && before_end >= range.start
        {
            (start, at) = (before, before_end);
            end = end.max(before_end);
        }
        while let Some((&next, &next_end)) = self.ranges.range(range.start..=range.end).next() {
            if at < next {
                gap(at..next);
            }
            self.ranges.remove(&next);
            at = at.max(next_end);
            end = end.max(next_end);
        }
        if at < range.end {
            gap(at..range.end);
        }
        self.ranges.insert(start, end);
    }

    /// Removes everything below `limit`.
    pub(crate) fn remove_below(&mut self, limit: u64) {
        while let Some(entry) = self.ranges.first_entry()
            && *entry.key() < limit
        {
            let end = entry.remove();
            if end > limit {
                self.ranges.insert(limit, end);
            }
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
