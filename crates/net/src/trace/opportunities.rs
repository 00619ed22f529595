//! Instants at which a packet may leave: Mahimahi's packet-delivery trace.

use std::time::Duration;

use units::{BitsPerSec, Time};

/// Bytes per opportunity: `PACKET_SIZE` of Mahimahi's `link_queue.hh`.
const OPPORTUNITY_BYTES: u32 = 1504;
/// Bytes before the IP header in Mahimahi's packets: the packet information of a TUN device (`struct tun_pi`, which
/// `contents.size()` counts).
const TUN_HEADER_BYTES: u32 = 4;
/// IP bytes of an opportunity that a single packet uses.
const FULL_PACKET_BYTES: u64 = (OPPORTUNITY_BYTES - TUN_HEADER_BYTES) as u64;

/// A list of opportunities.
#[derive(Clone, PartialEq)]
pub(crate) struct Opportunities {
    /// Nanoseconds since the beginning, in order, duplicates allowed.
    at: Vec<u64>,
    /// The last instant: the next round's zero (`base_timestamp_ += schedule_.back()`).
    period: u64,
    repeats: bool,
    peak: BitsPerSec,
}

/// A link's position in its opportunities.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpportunityCursor {
    /// The last opportunity used, counted over all rounds.
    used: Option<u64>,
    /// Bytes left of it.
    left: u32,
}

impl Opportunities {
    /// Opportunities at these instants (nanoseconds, in order, the last not zero).
    pub(crate) fn new(at: Vec<u64>, repeats: bool) -> Opportunities {
        let period = at.last().copied().unwrap_or(0);
        assert!(period > 0, "a reader accepts no trace that lasts for no time");
        let mut opportunities = Opportunities { at, period, repeats, peak: BitsPerSec(0) };
        opportunities.peak = opportunities.fullest_second();
        opportunities
    }

    pub(crate) fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    pub(crate) fn mean(&self) -> BitsPerSec {
        let bits = u128::from(self.at.len() as u64 * FULL_PACKET_BYTES * 8);
        let period = u128::from(self.period);
        BitsPerSec(((bits * 1_000_000_000 + period / 2) / period) as u64)
    }

    /// Rate of the fullest second.
    pub(crate) fn peak(&self) -> BitsPerSec {
        self.peak
    }

    /// No second has more opportunities than the fullest: anything that needs more than n of these takes longer than
    /// n - 1 s.
    pub(crate) fn least_time(&self, bytes: u64) -> Duration {
        let a_second = self.peak.0 / 8;
        let seconds = bytes.checked_div(a_second).unwrap_or_default();
        Duration::from_secs(seconds.saturating_sub(1))
    }

    pub(crate) fn capacity_bytes(&self, until: Time) -> u64 {
        self.first_after(until).unwrap_or(self.at.len() as u64) * FULL_PACKET_BYTES
    }

    /// Serves one packet that waits since `since`: returns when it leaves the queue and when its last byte is sent.
    /// An opportunity serves packets that wait already, not one that arrives at the same instant (`rationalize` runs
    /// before the packet is queued). `None`: never.
    pub(crate) fn serve(
        &self,
        cursor: &mut OpportunityCursor,
        since: Time,
        bytes: u32,
    ) -> Option<(Time, Time)> {
        let mut index = self.seek(cursor, since)?;
        let starts = self.instant(index);
        let mut rest = bytes + TUN_HEADER_BYTES;
        loop {
            let used = rest.min(cursor.left);
            rest -= used;
            cursor.left -= used;
            if rest == 0 {
                return Some((starts, self.instant(index)));
            }
            index = self.open(cursor, index + 1)?;
        }
    }

    /// Time at which a packet that waits since `since` would leave the queue.
    pub(crate) fn starts(&self, mut cursor: OpportunityCursor, since: Time) -> Option<Time> {
        Some(self.instant(self.seek(&mut cursor, since)?))
    }

    /// The first opportunity after `since` with bytes left.
    fn seek(&self, cursor: &mut OpportunityCursor, since: Time) -> Option<u64> {
        let first = self.first_after(since)?;
        match cursor.used {
            Some(used) if used >= first && cursor.left > 0 => Some(used),
            Some(used) if used >= first => self.open(cursor, used + 1),
            _ => self.open(cursor, first),
        }
    }

    fn open(&self, cursor: &mut OpportunityCursor, index: u64) -> Option<u64> {
        if !self.repeats && index >= self.at.len() as u64 {
            return None;
        }
        *cursor = OpportunityCursor { used: Some(index), left: OPPORTUNITY_BYTES };
        Some(index)
    }

    fn fullest_second(&self) -> BitsPerSec {
        let second = Duration::from_secs(1);
        let rounds = if self.repeats { 1 + 1_000_000_000u64.div_ceil(self.period) } else { 1 };
        let (mut first, mut most) = (0, 0);
        for index in 0..self.at.len() as u64 * rounds {
            while self.instant(index) - self.instant(first) >= second {
                first += 1;
            }
            most = most.max(index + 1 - first);
        }
        BitsPerSec(most * FULL_PACKET_BYTES * 8)
    }

    /// Number of the first opportunity later than `time`.
    fn first_after(&self, time: Time) -> Option<u64> {
        let nanos = time.as_nanos();
        let count = self.at.len() as u64;
        let (round, within) = (nanos / self.period, nanos % self.period);
        if !self.repeats && round > 0 {
            return None;
        }
        // The last opportunity of a round coincides with the zero of the next: a time on the seam lies behind both.
        let index = self.at.partition_point(|at| *at <= within) as u64;
        Some(round * count + index)
    }

    fn instant(&self, index: u64) -> Time {
        let count = self.at.len() as u64;
        let round = (index / count).saturating_mul(self.period);
        Time::from_nanos(round.saturating_add(self.at[(index % count) as usize]))
    }
}
