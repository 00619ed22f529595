//! Scoreboard operations of the classic loss detection: counts instead of times.
//!
//! Source: Linux 3.0 `tcp_mark_head_lost`, `tcp_mark_lost_retrans`, `tcp_xmit_retransmit_queue` (forward retransmissions),
//! `tcp_add_reno_sack`, `tcp_remove_reno_sacks`.

use crate::scoreboard::{Scoreboard, SegmentId, SentSegment};

impl Scoreboard {
    /// Segments up to the highest that was selectively acknowledged, holes included (`fackets_out`).
    pub(crate) fn facked(&self) -> u32 {
        let Some(highest) = self.covered.end() else { return 0 };
        self.records.partition_point(|record| record.end <= highest) as u32
    }

    /// Marks a record lost that was not yet; its retransmission, if one is under way, stays so.
    pub(crate) fn mark_missing(&mut self, id: SegmentId) -> bool {
        let SentSegment { lost, sacked, retransmitted, .. } = *self.get(id);
        if lost || sacked {
            return false;
        }
        self.lost += 1;
        self.get_mut(id).lost = true;
        if !retransmitted {
            self.lost_waiting.insert(id);
            self.unlink(id);
        }
        true
    }

    /// Marks missing all records before the `count + 1`-th that `counts`, none that ends beyond `limit`; returns their number.
    pub(crate) fn mark_before(
        &mut self,
        count: u32,
        limit: u64,
        counts: impl Fn(&SentSegment) -> bool,
    ) -> u64 {
        let (mut counted, mut marked) = (0, 0);
        for id in self.ids() {
            let sent = *self.get(id);
            if sent.end > limit {
                break;
            }
            counted += u32::from(counts(&sent));
            if counted > count {
                break;
            }
            marked += u64::from(self.mark_missing(id));
        }
        marked
    }

    /// Assumes that a retransmission is no longer in flight.
    pub(crate) fn forget_retransmission(&mut self, id: SegmentId) {
        if !self.get(id).retransmitted {
            return;
        }
        self.retransmitted -= 1;
        self.get_mut(id).retransmitted = false;
        if self.get(id).lost {
            self.lost_waiting.insert(id);
            self.unlink(id);
        }
    }

    /// Retransmissions that are lost: data first sent after them arrived.
    pub(crate) fn overtaken_retransmissions(&self) -> Vec<SegmentId> {
        let Some(highest) = self.covered.end().filter(|_| self.retransmitted > 0) else {
            return Vec::new();
        };
        let lost = |id: &SegmentId| {
            let sent = self.get(*id);
            sent.retransmitted && !sent.sacked && highest > sent.fence
        };
        self.ids().filter(lost).collect()
    }

    /// The lowest record below the highest SACKed data that was neither retransmitted nor thought lost: it
    /// may be retransmitted for lack of anything better (RFC 6675, rule 3 of `NextSeg`).
    pub(crate) fn next_hole(&self) -> Option<SegmentId> {
        let highest = self.covered.end()?;
        self.ids().take_while(|id| self.get(*id).seq < highest).find(|id| {
            let sent = self.get(*id);
            !sent.sacked && !sent.lost && !sent.retransmitted
        })
    }

    /// The first record.
    pub(crate) fn first(&self) -> Option<SegmentId> {
        (!self.is_empty()).then_some(SegmentId(self.first))
    }

    // ---- without SACK

    /// A duplicate arrived: so did one more segment, though it is unknown which. Returns true if there are more of them than possible.
    pub(crate) fn presume_arrival(&mut self) -> bool {
        self.presumed += 1;
        self.limit_presumed()
    }

    /// `acked` records were cumulatively acknowledged: one filled the hole, the others had caused the duplicates.
    pub(crate) fn settle_presumed(&mut self, acked: u32) -> bool {
        self.presumed = self.presumed.saturating_sub(acked.saturating_sub(1));
        self.limit_presumed()
    }

    pub(crate) fn forget_presumed(&mut self) {
        self.presumed = 0;
    }

    /// At least one segment is missing while duplicates arrive.
    fn limit_presumed(&mut self) -> bool {
        let holes = self.lost.max(1).min(self.sent());
        let most = self.sent() - holes;
        let exceeded = self.presumed > most;
        self.presumed = self.presumed.min(most);
        exceeded
    }
}
