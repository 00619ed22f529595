//! Transport blocks on the link of an LTE cell: mapping of packets to blocks, and the time at which a packet is
//! complete.
//!
//! A block is what the link serialises within a subframe of a millisecond. A packet that takes longer spans several
//! blocks and waits for the last of them; packets that share a block share its fate, and order is kept.

use std::time::Duration;

use chance::RandomStream;
use units::Time;

use crate::Harq;

const SUBFRAME: Duration = Duration::from_millis(1);

pub(super) struct TransportBlocks {
    harq: Harq,
    stream: RandomStream,
    /// The last block drawn, by its subframe, and its lateness.
    last: Option<(u64, Duration)>,
    /// Time at which the last packet was complete.
    released: Time,
}

impl TransportBlocks {
    pub(super) fn new(harq: Harq, stream: RandomStream) -> TransportBlocks {
        TransportBlocks { harq, stream, last: None, released: Time::ZERO }
    }

    /// Delay from serialisation until a packet is complete and in order. `starts` and `ends` bound its service.
    pub(super) fn delay(&mut self, starts: Time, ends: Time) -> Duration {
        let last = subframe(Time::from_nanos(ends.as_nanos().saturating_sub(1)).max(starts));
        // A block before these has arrived by the time of the last, however often it is repeated.
        let reach = (self.harq.latest().as_nanos() / SUBFRAME.as_nanos()) as u64 + 1;
        let first = subframe(starts).max(last.saturating_sub(reach));
        let whole = (first..=last).fold(ends, |whole, block| {
            let sent = end_of(block).min(ends);
            whole.max(sent + self.lateness(block))
        });
        self.released = self.released.max(whole);
        self.released - ends
    }

    fn lateness(&mut self, block: u64) -> Duration {
        match self.last {
            Some((drawn, late)) if drawn == block => late,
            _ => {
                let late = self.harq.lateness(&mut self.stream);
                self.last = Some((block, late));
                late
            }
        }
    }
}

fn subframe(at: Time) -> u64 {
    at.as_nanos() / SUBFRAME.as_nanos() as u64
}

fn end_of(subframe: u64) -> Time {
    Time::from_nanos((subframe + 1).saturating_mul(SUBFRAME.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use chance::RandomSource;

    use super::*;

    fn blocks(failure: f64) -> TransportBlocks {
        let harq = Harq { failure, ..Harq::default() };
        TransportBlocks::new(harq, RandomSource::new(1, 0).stream("blocks"))
    }

    fn us(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    /// Packets of `length` microseconds, back to back.
    fn delays(failure: f64, length: u64, count: u64) -> Vec<Duration> {
        let mut blocks = blocks(failure);
        (0..count).map(|n| blocks.delay(us(n * length), us((n + 1) * length))).collect()
    }

    #[test]
    fn packets_of_one_block_share_its_fate() {
        // Five packets per block, one per fifth of a subframe. Those late on their own account are late by 8 ms per
        // failure.
        let mut blocks = blocks(0.1);
        let mut late = 0;
        for block in 0..1000u64 {
            // Far apart, so that none waits for another block.
            let at = block * 1_000_000;
            let delays: Vec<_> =
                (0..5).map(|n| blocks.delay(us(at + n * 200), us(at + n * 200 + 200))).collect();
            let is_late = delays[0] > Duration::ZERO;
            assert!(delays.iter().all(|delay| (*delay > Duration::ZERO) == is_late), "{delays:?}");
            late += usize::from(is_late);
        }
        assert!((70..130).contains(&late), "{late} of 1000 blocks, a tenth expected");
    }

    #[test]
    fn a_packet_of_many_blocks_waits_for_the_last() {
        // 2.5 ms span three blocks, or, if they begin at three quarters, four: 29 % are late.
        let mut blocks = blocks(0.1);
        let delay = |n: u64| blocks.delay(us(n * 1_000_250), us(n * 1_000_250 + 2500));
        let late = (0..4000).map(delay).filter(|delay| *delay > Duration::ZERO).count();
        assert!((1080..1400).contains(&late), "{late} of 4000");
    }

    #[test]
    fn nobody_overtakes_and_nothing_is_lost() {
        let delays = delays(0.3, 400, 10_000);
        let released = |n: usize| us((n as u64 + 1) * 400) + delays[n];
        assert!((1..delays.len()).all(|n| released(n - 1) <= released(n)));
    }

    #[test]
    fn a_packet_of_an_hour_draws_for_its_end_alone() {
        let mut blocks = blocks(0.1);
        let hour = Time::from_millis(3_600_000);
        assert!(blocks.delay(Time::ZERO, hour) < Duration::from_millis(200));
        assert!(blocks.stream.drawn() < 400, "{}", blocks.stream.drawn());
    }

    #[test]
    fn without_failures_there_is_no_delay() {
        assert!(delays(0.0, 400, 100).iter().all(Duration::is_zero));
        assert_eq!(blocks(0.0).delay(us(5), us(5)), Duration::ZERO, "a link without a limit");
    }
}
