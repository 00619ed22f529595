//! The segments in flight: one record for each segment sent and not yet acknowledged.
//!
//! Linux keeps the same data in the retransmission queue (`tcp_rtx_queue`), the list of segments in
//! the order of their latest transmission (`tsorted_sent_queue`), and four counters. Here the records
//! lie in a queue by sequence number; the order of transmission is a list threaded through them.
//! Every operation is O(1) amortised, or O(log n) if it looks up a sequence number.
//!
//! Invariant: in flight = sent - (sacked + lost) + retransmitted (RFC 6675 "pipe", in segments).

mod counting;

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use units::Time;

use crate::reassembly::RangeSet;

/// Identifies a record for its lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentId(u64);

/// No neighbour in the order of transmission.
const NONE: SegmentId = SegmentId(u64::MAX);

/// One segment in flight (`struct tcp_skb_cb`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentSegment {
    pub(crate) seq: u64,
    pub(crate) end: u64,
    /// Time of the latest transmission.
    pub(crate) at: Time,
    /// Time of the first transmission.
    pub(crate) first_at: Time,
    /// `TCPCB_SACKED_ACKED`
    pub(crate) sacked: bool,
    /// `TCPCB_LOST`
    pub(crate) lost: bool,
    /// Its retransmission is believed in flight (`TCPCB_SACKED_RETRANS`).
    pub(crate) retransmitted: bool,
    /// `TCPCB_EVER_RETRANS`
    pub(crate) ever_retransmitted: bool,
    /// End of the data sent when it was last retransmitted (`ack_seq` of Linux 3).
    fence: u64,
    earlier: SegmentId,
    later: SegmentId,
}

/// The segments in flight.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    records: VecDeque<SentSegment>,
    /// The id of the first record.
    first: u64,
    /// Both ends of the order of transmission: records that are neither sacked nor waiting for
    /// their retransmission.
    oldest: SegmentId,
    newest: SegmentId,
    /// Lost and not yet retransmitted, lowest sequence number first.
    lost_waiting: BTreeSet<SegmentId>,
    covered: RangeSet,
    sacked: u32,
    /// Segments presumed to have arrived because of duplicate acknowledgements, without SACK.
    presumed: u32,
    lost: u32,
    retransmitted: u32,
}

impl Scoreboard {
    pub(crate) fn new() -> Scoreboard {
        Scoreboard {
            records: VecDeque::new(),
            first: 0,
            oldest: NONE,
            newest: NONE,
            lost_waiting: BTreeSet::new(),
            covered: RangeSet::default(),
            sacked: 0,
            presumed: 0,
            lost: 0,
            retransmitted: 0,
        }
    }

    /// Segments sent and not cumulatively acknowledged (`packets_out`).
    pub(crate) fn sent(&self) -> u32 {
        self.records.len() as u32
    }

    /// Of these, selectively acknowledged (`sacked_out`).
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked + self.presumed
    }

    /// Of these, thought lost (`lost_out`).
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Retransmissions in flight (`retrans_out`).
    pub(crate) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Segments believed to be in the network (`tcp_packets_in_flight`).
    pub(crate) fn in_flight(&self) -> u32 {
        self.sent() + self.retransmitted - self.sacked() - self.lost
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The end of the highest range that was selectively acknowledged.
    pub(crate) fn highest_sacked(&self) -> Option<u64> {
        self.covered.end()
    }

    fn index(&self, id: SegmentId) -> usize {
        (id.0 - self.first) as usize
    }

    fn id(&self, index: usize) -> SegmentId {
        SegmentId(self.first + index as u64)
    }

    pub(crate) fn get(&self, id: SegmentId) -> &SentSegment {
        &self.records[self.index(id)]
    }

    fn get_mut(&mut self, id: SegmentId) -> &mut SentSegment {
        let index = self.index(id);
        &mut self.records[index]
    }

    /// The record with the lowest sequence number.
    pub(crate) fn head(&self) -> Option<&SentSegment> {
        self.records.front()
    }

    /// The record with the highest sequence number.
    pub(crate) fn last(&self) -> Option<SegmentId> {
        (!self.is_empty()).then(|| self.id(self.records.len() - 1))
    }

    /// The records by sequence number.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SegmentId> + use<> {
        let first = self.first;
        (first..first + self.records.len() as u64).map(SegmentId)
    }

    /// Records a first transmission.
    pub(crate) fn push(&mut self, range: Range<u64>, now: Time) {
        let id = self.id(self.records.len());
        self.records.push_back(SentSegment {
            seq: range.start,
            end: range.end,
            at: now,
            first_at: now,
            sacked: false,
            lost: false,
            retransmitted: false,
            ever_retransmitted: false,
            fence: 0,
            earlier: NONE,
            later: NONE,
        });
        self.append(id);
    }

    fn append(&mut self, id: SegmentId) {
        let newest = self.newest;
        let record = self.get_mut(id);
        (record.earlier, record.later) = (newest, NONE);
        match newest {
            NONE => self.oldest = id,
            newest => self.get_mut(newest).later = id,
        }
        self.newest = id;
    }

    /// Takes a record out of the order of transmission; harmless if it is not in it.
    pub(crate) fn unlink(&mut self, id: SegmentId) {
        let SentSegment { earlier, later, .. } = *self.get(id);
        if earlier == NONE && later == NONE && self.oldest != id {
            return;
        }
        match earlier {
            NONE => self.oldest = later,
            earlier => self.get_mut(earlier).later = later,
        }
        match later {
            NONE => self.newest = earlier,
            later => self.get_mut(later).earlier = earlier,
        }
        let record = self.get_mut(id);
        (record.earlier, record.later) = (NONE, NONE);
    }

    /// The record whose latest transmission is the oldest.
    pub(crate) fn oldest_sent(&self) -> Option<SegmentId> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The record sent next after `id`.
    pub(crate) fn sent_after(&self, id: SegmentId) -> Option<SegmentId> {
        let later = self.get(id).later;
        (later != NONE).then_some(later)
    }

    /// The lowest record that waits for its retransmission.
    pub(crate) fn next_lost(&self) -> Option<SegmentId> {
        self.lost_waiting.first().copied()
    }

    /// Marks a record lost, or its retransmission if it was marked already; returns true if that is news (`tcp_mark_skb_lost`).
    ///
    /// A retransmission of a record that is not marked outlives the first mark: so it is after an undone timeout.
    pub(crate) fn mark_lost(&mut self, id: SegmentId) -> bool {
        if !self.get(id).lost {
            return self.mark_missing(id);
        }
        let was_retransmitted = self.get(id).retransmitted;
        self.forget_retransmission(id);
        was_retransmitted
    }

    /// Clears every mark of loss (`tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub(crate) fn unmark_all_lost(&mut self) {
        for id in std::mem::take(&mut self.lost_waiting) {
            self.append(id);
        }
        for record in &mut self.records {
            record.lost = false;
        }
        self.lost = 0;
    }

    /// Records a retransmission of lost data. If another one is believed in flight, both count, and one of them until everything is
    /// acknowledged: the kernel's `retrans_out` leaks, too (`tcp_retransmit_skb`, `tcp_clean_rtx_queue`).
    pub(crate) fn mark_retransmitted(&mut self, id: SegmentId, now: Time) {
        self.note_sent_again(id, now);
        let fence = self.records.back().map_or(0, |last| last.end);
        let record = self.get_mut(id);
        record.fence = fence;
        record.retransmitted = true;
        self.retransmitted += 1;
        self.lost_waiting.remove(&id);
    }

    /// Records a probe: sent again, but not counted as in flight twice.
    pub(crate) fn note_sent_again(&mut self, id: SegmentId, now: Time) {
        self.unlink(id);
        self.append(id);
        let record = self.get_mut(id);
        record.at = now;
        record.ever_retransmitted = true;
    }

    /// Applies one SACK block; `newly` sees each record that it adds, in its state before.
    pub(crate) fn sack(&mut self, block: Range<u64>, mut newly: impl FnMut(&SentSegment)) {
        let mut covered = std::mem::take(&mut self.covered);
        covered.insert(block, |gap| {
            let mut index = self.records.partition_point(|record| record.seq < gap.start);
            while self.records.get(index).is_some_and(|record| record.end <= gap.end) {
                let id = self.id(index);
                if !self.get(id).sacked {
                    newly(self.get(id));
                    self.mark_sacked(id);
                }
                index += 1;
            }
        });
        self.covered = covered;
    }

    /// The state change of `tcp_sacktag_one`.
    fn mark_sacked(&mut self, id: SegmentId) {
        self.unlink(id);
        let record = self.get_mut(id);
        record.sacked = true;
        let (was_lost, was_retransmitted) = (record.lost, record.retransmitted);
        if was_lost {
            record.lost = false;
            record.retransmitted = false;
            self.lost -= 1;
            self.retransmitted -= u32::from(was_retransmitted);
            self.lost_waiting.remove(&id);
        }
        self.sacked += 1;
    }

    /// Applies a duplicate report for data still in flight; returns the number of retransmissions that it shows
    /// to have been spurious.
    pub(crate) fn duplicate(&mut self, block: Range<u64>) -> u32 {
        let mut needless = 0;
        let mut index = self.records.partition_point(|record| record.seq < block.start);
        while let Some(record) = self.records.get_mut(index)
            && record.end <= block.end
        {
            needless += u32::from(record.ever_retransmitted);
            if record.retransmitted {
                record.retransmitted = false;
                self.retransmitted -= 1;
                if record.lost {
                    let id = self.id(index);
                    self.lost_waiting.insert(id);
                    self.unlink(id);
                }
            }
            index += 1;
        }
        needless
    }

    /// Removes the first record if `ack` covers it.
    pub(crate) fn pop_acked(&mut self, ack: u64) -> Option<SentSegment> {
        let record = *self.records.front()?;
        if record.end > ack {
            return None;
        }
        let id = self.id(0);
        self.unlink(id);
        if record.lost {
            self.lost -= 1;
            self.lost_waiting.remove(&id);
        }
        self.sacked -= u32::from(record.sacked);
        self.retransmitted -= u32::from(record.retransmitted);
        self.records.pop_front();
        self.first += 1;
        self.presumed = self.presumed.min(self.sent());
        if self.is_empty() {
            self.retransmitted = 0;
        }
        Some(record)
    }

    /// Forgets SACK blocks below `ack`.
    pub(crate) fn trim_covered(&mut self, ack: u64) {
        if !self.covered.is_empty() {
            self.covered.remove_below(ack);
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Scoreboard::new();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn board(n: u64) -> Scoreboard {
        let mut board = Scoreboard::new();
        for i in 0..n {
            board.push(10 * i..10 * i + 10, Time::from_millis(i));
        }
        board
    }

    fn in_sending_order(board: &Scoreboard) -> Vec<u64> {
        let mut order = Vec::new();
        let mut at = board.oldest_sent();
        while let Some(id) = at {
            order.push(board.get(id).seq);
            at = board.sent_after(id);
        }
        order
    }

    #[test]
    fn loss_retransmission_and_loss_again() {
        let mut board = board(4);
        let ids: Vec<SegmentId> = board.ids().collect();
        board.sack(20..40, |_| ());
        assert!(board.mark_lost(ids[1]));
        assert!(!board.mark_lost(ids[1]), "no news");
        assert_eq!((board.in_flight(), board.next_lost()), (1, Some(ids[1])));
        board.mark_retransmitted(ids[1], Time::from_millis(9));
        assert_eq!((board.in_flight(), board.next_lost()), (2, None));
        assert_eq!(in_sending_order(&board), [0, 10]);
        assert!(board.mark_lost(ids[1]));
        assert_eq!((board.in_flight(), board.next_lost()), (1, Some(ids[1])));
        assert_eq!(board.pop_acked(15).map(|sent| sent.seq), Some(0));
        assert!(board.pop_acked(15).is_none());
        board.unmark_all_lost();
        assert_eq!((board.in_flight(), board.lost()), (1, 0));
        assert_eq!(in_sending_order(&board), [10]);
    }

    #[test]
    fn a_retransmission_that_outlives_an_undo_leaks() {
        let mut board = board(2);
        let head = board.first().unwrap();
        board.mark_lost(head);
        board.mark_retransmitted(head, Time::from_millis(9));
        board.unmark_all_lost();
        assert!(board.mark_lost(head), "the mark is news");
        assert_eq!((board.lost(), board.retransmitted(), board.next_lost()), (1, 1, None));
        board.mark_retransmitted(head, Time::from_millis(19));
        assert_eq!((board.retransmitted(), board.in_flight()), (2, 3));
        assert!(board.pop_acked(10).is_some());
        assert_eq!((board.retransmitted(), board.in_flight()), (1, 2), "one is left over");
        assert!(board.pop_acked(20).is_some());
        assert_eq!(board.in_flight(), 0);
    }

    proptest! {
        /// The counters and lists always agree with the records.
        #[test]
        fn counters_agree_with_the_records(steps in prop::collection::vec((0u8..7, 0u64..40), 1..120)) {
            let mut board = board(30);
            for (step, n) in steps {
                let id = board.ids().nth(n as usize);
                match (step, id) {
                    (0, Some(id)) => { board.mark_lost(id); }
                    (1, _) => if let Some(id) = board.next_lost() { board.mark_retransmitted(id, Time::ZERO) },
                    (2, _) => board.sack(10 * n..10 * n + 30, |_| ()),
                    (3, _) => if let Some(head) = board.head() {
                        let ack = head.seq + n;
                        while board.pop_acked(ack).is_some() {}
                        board.trim_covered(ack);
                    },
                    (4, _) => board.unmark_all_lost(),
                    (5, Some(id)) if !board.get(id).sacked && !board.get(id).lost => board.note_sent_again(id, Time::ZERO),
                    (6, _) => { board.duplicate(10 * n..10 * n + 10); }
                    _ => {}
                }
                let count = |f: fn(&SentSegment) -> bool| board.records.iter().filter(|r| f(r)).count() as u32;
                prop_assert_eq!(count(|r| r.sacked), board.sacked);
                prop_assert_eq!(count(|r| r.lost), board.lost);
                prop_assert_eq!(count(|r| r.retransmitted), board.retransmitted);
                prop_assert_eq!(count(|r| r.lost && !r.retransmitted) as usize, board.lost_waiting.len());
                prop_assert!(board.sacked + board.lost <= board.sent());
                let live = count(|r| !r.sacked && (!r.lost || r.retransmitted)) as usize;
                prop_assert_eq!(in_sending_order(&board).len(), live);
            }
        }
    }
}
