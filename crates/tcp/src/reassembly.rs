//! Reassembly of arriving data in order, and the set of ranges that it keeps.
//!
//! Source: Linux 6.18 `tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_ofo_queue`, and the SACK list of RFC 2018
//! section 4 (most recent block first), RFC 2883 (a duplicate before all).

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use bytes::Bytes;

use crate::Payload;
use crate::segment::{SackBlocks, copy_out};

/// Blocks remembered, most recent first (`TCP_NUM_SACKS`).
const REMEMBERED: usize = 4;

/// Number of blocks for which an acknowledgement surely has room (`TCP_SACK_BLOCKS_EXPECTED`).
const REPORTED: usize = 2;

/// Position of a segment relative to the data received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It was the next in order.
    InOrder,
    /// It was the next in order and closed the last gap.
    FilledGap,
    /// It lies beyond a gap.
    Ahead,
    /// It contained nothing new.
    Duplicate,
}

/// The receive queue and the data behind gaps.
#[derive(Debug)]
pub(crate) struct Reassembly {
    /// The first number of data.
    first: u64,
    /// The next number expected (`rcv_nxt`).
    next: u64,
    ready: VecDeque<Bytes>,
    ready_bytes: u64,
    /// Data behind gaps, in disjoint pieces.
    held: BTreeMap<u64, Payload>,
    held_bytes: u64,
    /// Ranges covered by `held`, a FIN included.
    coverage: RangeSet,
    /// Sequence numbers of blocks to report, most recent first: any number inside the block.
    recent: Vec<u64>,
    /// The latest number remembered had not been among the first [`REPORTED`], of which there were as many.
    crowded: bool,
    duplicate: Option<Range<u64>>,
    /// Reporting of blocks, and of duplicates.
    reports: (bool, bool),
    /// The number of the peer's FIN.
    fin: Option<u64>,
}

impl Reassembly {
    pub(crate) fn new(next: u64) -> Reassembly {
        Reassembly {
            first: next,
            next,
            ready: VecDeque::new(),
            ready_bytes: 0,
            held: BTreeMap::new(),
            held_bytes: 0,
            coverage: RangeSet::default(),
            recent: Vec::new(),
            crowded: false,
            duplicate: None,
            reports: (true, true),
            fin: None,
        }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes that arrived in order so far.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.next - self.first - u64::from(self.is_finished())
    }

    /// Bytes that wait for the application.
    pub(crate) fn ready_bytes(&self) -> u64 {
        self.ready_bytes
    }

    /// Bytes behind gaps.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    pub(crate) fn has_gap(&self) -> bool {
        !self.coverage.is_empty()
    }

    /// True if the latest arrival beyond a gap pushes out a block that a withheld acknowledgement should report.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// The end of the data furthest ahead.
    pub(crate) fn highest(&self) -> u64 {
        self.coverage.end().unwrap_or(self.next)
    }

    /// True if everything up to and including the FIN has arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Inserts a segment's data and FIN.
    pub(crate) fn insert(&mut self, seq: u64, payload: Payload, fin: bool) -> Fit {
        let data_end = seq + payload.len() as u64;
        let end = data_end + u64::from(fin);
        if fin {
            self.fin = Some(data_end);
        }
        self.duplicate = None;
        if end <= self.next {
            self.duplicate = (seq < end).then_some(seq..end);
            return Fit::Duplicate;
        }
        if seq < self.next {
            self.duplicate = Some(seq..self.next);
        }
        if seq <= self.next && !self.has_gap() {
            // The common case: nothing to sort.
            self.deliver(seq, payload);
            self.next = end;
            return Fit::InOrder;
        }
        if seq <= self.next {
            self.insert_next(seq, payload, end)
        } else {
            self.hold(seq, payload, end)
        }
    }

    /// Appends data that starts at or before the next number.
    fn deliver(&mut self, seq: u64, payload: Payload) {
        let old = (self.next - seq) as usize;
        if old >= payload.len() {
            return;
        }
        let fresh = if old > 0 { payload.slice(old, payload.len() - old) } else { payload };
        self.ready_bytes += fresh.len() as u64;
        self.ready.extend(fresh.into_iter().filter(|slice| !slice.is_empty()));
    }

    fn insert_next(&mut self, seq: u64, payload: Payload, end: u64) -> Fit {
        if let Some(known) = self.coverage.containing(end - 1) {
            self.note_duplicate(known.start.max(seq)..end);
        }
        self.deliver(seq, payload);
        self.next = end;
        while let Some(entry) = self.held.first_entry()
            && *entry.key() <= self.next
        {
            let (start, piece) = entry.remove_entry();
            self.held_bytes -= piece.len() as u64;
            let piece_end = start + piece.len() as u64;
            if piece_end > self.next {
                self.deliver(start, piece);
                self.next = piece_end;
            }
        }
        if self.fin == Some(self.next) {
            self.next += 1;
        }
        self.coverage.remove_below(self.next);
        let coverage = &self.coverage;
        self.recent.retain(|at| coverage.containing(*at).is_some());
        if self.has_gap() { Fit::InOrder } else { Fit::FilledGap }
    }

    /// Holds data that lies beyond a gap.
    fn hold(&mut self, seq: u64, payload: Payload, end: u64) -> Fit {
        let (held, held_bytes) = (&mut self.held, &mut self.held_bytes);
        let mut fresh = 0;
        self.coverage.insert(seq..end, |gap| {
            fresh += gap.end - gap.start;
            let from = (gap.start - seq) as usize;
            let len = ((gap.end - seq) as usize).min(payload.len()).saturating_sub(from);
            if len > 0 {
                held.insert(gap.start, payload.slice(from, len));
                *held_bytes += len as u64;
            }
        });
        if fresh < end - seq {
            self.note_duplicate(seq..end);
        }
        self.remember(seq);
        if fresh == 0 { Fit::Duplicate } else { Fit::Ahead }
    }

    fn note_duplicate(&mut self, range: Range<u64>) {
        self.duplicate.get_or_insert(range);
    }

    /// Puts the block that contains `at` first.
    fn remember(&mut self, at: u64) {
        let Some(block) = self.coverage.containing(at) else { return };
        let place = self.recent.iter().position(|other| block.contains(other));
        self.crowded = place.unwrap_or(self.recent.len()) >= REPORTED;
        self.recent.retain(|other| !block.contains(other));
        self.recent.insert(0, at);
        self.recent.truncate(REMEMBERED);
    }

    /// Sets the reports: blocks at all (RFC 2018), duplicates (RFC 2883).
    pub(crate) fn set_reports(&mut self, blocks: bool, duplicates: bool) {
        self.reports = (blocks, blocks && duplicates);
    }

    /// The blocks to report, at most `room` of them; a duplicate is reported once.
    pub(crate) fn take_sack(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        if let Some(duplicate) = self.duplicate.take().filter(|_| self.reports.1) {
            blocks.push(duplicate);
        }
        for at in self.recent.iter().filter(|_| self.reports.0) {
            if blocks.len() >= room {
                break;
            }
            if let Some(block) = self.coverage.containing(*at) {
                blocks.push(block);
            }
        }
        blocks
    }

    /// True if there is anything to report.
    pub(crate) fn has_sack(&self) -> bool {
        let (blocks, duplicates) = self.reports;
        (duplicates && self.duplicate.is_some()) || (blocks && !self.recent.is_empty())
    }

    pub(crate) fn read(&mut self, buf: &mut [u8]) -> usize {
        let copied = copy_out(&mut self.ready, buf);
        self.ready_bytes -= copied as u64;
        copied
    }

    pub(crate) fn read_bytes(&mut self, max: usize) -> Option<Bytes> {
        if max == 0 {
            return None;
        }
        let front = self.ready.front_mut()?;
        let slice = if front.len() <= max { self.ready.pop_front()? } else { front.split_to(max) };
        self.ready_bytes -= slice.len() as u64;
        Some(slice)
    }

    /// Drops data that will not be read.
    pub(crate) fn clear(&mut self) {
        let Reassembly { first, next, fin, .. } = *self;
        *self = Reassembly { first, fin, ..Reassembly::new(next) };
    }
}

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

    fn piece(range: Range<u64>) -> Payload {
        Bytes::from(range.map(|n| n as u8).collect::<Vec<u8>>()).into()
    }

    /// The blocks to report, as pairs.
    fn blocks(reassembly: &mut Reassembly) -> Vec<(u64, u64)> {
        reassembly.take_sack(3).iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn reports_the_most_recent_block_first_and_duplicates_before_all() {
        let mut queue = Reassembly::new(0);
        assert_eq!(queue.insert(20, piece(20..30), false), Fit::Ahead);
        assert_eq!(queue.insert(40, piece(40..50), false), Fit::Ahead);
        assert_eq!(blocks(&mut queue), [(40, 50), (20, 30)]);
        assert_eq!(queue.insert(30, piece(30..35), false), Fit::Ahead);
        assert_eq!(blocks(&mut queue), [(20, 35), (40, 50)]);
        assert_eq!(queue.insert(20, piece(20..30), false), Fit::Duplicate);
        assert_eq!(blocks(&mut queue), [(20, 30), (20, 35), (40, 50)]);
        assert_eq!(blocks(&mut queue), [(20, 35), (40, 50)], "a duplicate is reported once");
        assert_eq!(queue.insert(0, piece(0..20), false), Fit::InOrder);
        assert_eq!((queue.next(), blocks(&mut queue)), (35, vec![(40, 50)]));
        assert_eq!(queue.insert(35, piece(35..40), false), Fit::FilledGap);
        assert_eq!((queue.next(), queue.ready_bytes(), queue.held_bytes()), (50, 50, 0));
        assert_eq!(queue.insert(10, piece(10..20), false), Fit::Duplicate);
        assert_eq!(blocks(&mut queue), [(10, 20)]);
    }

    #[test]
    fn a_fin_behind_a_gap_ends_the_stream_when_the_gap_is_filled() {
        let mut queue = Reassembly::new(1);
        assert_eq!(queue.insert(3, piece(3..5), true), Fit::Ahead);
        assert_eq!(blocks(&mut queue), [(3, 6)]);
        assert!(!queue.is_finished());
        assert_eq!(queue.insert(1, piece(1..3), false), Fit::FilledGap);
        assert!(queue.is_finished());
        assert_eq!((queue.next(), queue.ready_bytes()), (6, 4));
        assert_eq!(queue.insert(5, piece(5..5), true), Fit::Duplicate);
    }

    proptest! {
        #[test]
        fn any_order_and_overlap_gives_the_stream(
            cuts in prop::collection::vec((0u64..100, 1u64..30), 1..60),
            seed in any::<u64>(),
        ) {
            let mut queue = Reassembly::new(0);
            let total = 120;
            for (start, len) in cuts {
                let end = (start + len).min(total);
                queue.insert(start, piece(start..end), end == total);
            }
            // Then everything again in small pieces, in an order drawn from the seed.
            let mut order: Vec<u64> = (0..total).collect();
            let mut stream = chance::RandomSource::new(seed, 0).stream("order");
            for n in (1..order.len()).rev() {
                order.swap(n, stream.below(n as u64 + 1) as usize);
            }
            for start in order {
                queue.insert(start, piece(start..start + 1), start + 1 == total);
            }
            prop_assert!(queue.is_finished());
            prop_assert_eq!(queue.held_bytes(), 0);
            let mut all = vec![0; 200];
            let n = queue.read(&mut all);
            prop_assert_eq!(&all[..n], &(0..total).map(|n| n as u8).collect::<Vec<u8>>()[..]);
        }
    }

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
