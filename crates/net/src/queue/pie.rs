//! PIE: RFC 8033 as Linux implements it (`sch_pie.c`, its defaults).
//!
//! Every 15 ms the drop probability is adapted to the distance of the queueing delay from 15 ms and to its trend;
//! arriving packets are dropped, or marked, with this probability. The delay is that of the packet which left last
//! (RFC 8033 section 5.2, timestamps), not an estimate from the departure rate: Linux's default. Times are in the
//! kernel's ticks of 64 ns, so that the integer arithmetic is the same.

use std::time::Duration;

use chance::RandomStream;
use units::Time;

use super::{Discipline, DroppedPackets, PacketFifo, QueueDepth, Queued};
use crate::{DropCause, Pie, QueueLimit};

/// A probability of one, in the kernel's scale.
const MAX_PROB: u64 = u64::MAX >> 8;
/// A tick of the kernel's packet schedulers is 64 ns (`PSCHED_SHIFT`).
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SEC: u64 = 1_000_000_000 >> TICK_SHIFT;
/// Length of a burst that is let through after the queue has been idle (RFC 8033 section 4.4).
const BURST: u64 = ticks(150_000_000);
/// Delay above which the probability grows by at least 2 % per step.
const HIGH_DELAY: u64 = ticks(250_000_000);
/// The kernel's `alpha` and `beta`, in sixteenths.
const ALPHA: u64 = 2;
const BETA: u64 = 20;
/// The first update comes half a second after the start, the others at each `tupdate`.
const FIRST_UPDATE: Duration = Duration::from_millis(500);
const TUPDATE: Duration = Duration::from_millis(15);

const fn ticks(nanos: u64) -> u64 {
    nanos >> TICK_SHIFT
}

/// A queue under PIE.
pub(crate) struct PieQueue<P> {
    target: u64,
    ecn: bool,
    mtu: u32,
    limit: QueueLimit,
    backlog: PacketFifo<P>,
    state: PieState,
    next_update: Time,
    stream: RandomStream,
}

/// `struct pie_vars`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PieState {
    delay: u64,
    old_delay: u64,
    burst: u64,
    left_at: Option<Time>,
    prob: u64,
    accumulated: u64,
}

impl PieState {
    const IDLE: PieState =
        PieState { delay: 0, old_delay: 0, burst: BURST, left_at: None, prob: 0, accumulated: 0 };
}

impl<P> PieQueue<P> {
    pub(crate) fn new(
        params: Pie,
        limit: QueueLimit,
        mtu: u32,
        stream: RandomStream,
    ) -> PieQueue<P> {
        PieQueue {
            target: ticks(params.target.as_nanos() as u64),
            ecn: params.ecn,
            mtu,
            limit,
            backlog: PacketFifo::new(),
            state: PieState::IDLE,
            next_update: Time::ZERO + FIRST_UPDATE,
            stream,
        }
    }

    /// Runs the updates due by `now`. Once an idle queue's state no longer changes, the remaining updates would not
    /// change it either.
    fn advance(&mut self, now: Time) {
        while self.next_update <= now {
            let before = self.state;
            self.state.update(self.target, self.backlog.bytes());
            self.next_update += TUPDATE;
            if self.state == before && self.next_update <= now {
                let more = (now - self.next_update).as_nanos() / TUPDATE.as_nanos() + 1;
                self.next_update += TUPDATE * more as u32;
            }
        }
    }

    /// `pie_drop_early`: true if the arriving packet should be dropped.
    fn drops_early(&mut self) -> bool {
        let state = &mut self.state;
        if state.burst > 0
            || (state.delay < self.target / 2 && state.prob < MAX_PROB / 5)
            || self.backlog.bytes() < 2 * u64::from(self.mtu)
        {
            return false;
        }
        // RFC 8033 section 5.4 (derandomization).
        state.accumulated = match state.prob {
            0 => 0,
            prob => state.accumulated.saturating_add(prob),
        };
        if state.accumulated < MAX_PROB / 100 * 85 {
            return false;
        }
        if state.accumulated >= MAX_PROB / 2 * 17 {
            return true;
        }
        let drops = self.stream.next_u64() >> 8 < state.prob;
        if drops {
            state.accumulated = 0;
        }
        drops
    }
}

impl PieState {
    /// `pie_calculate_probability`.
    fn update(&mut self, target: u64, backlog: u64) {
        let (delay, old_delay) = (self.delay, self.old_delay);
        let mut may_decay = !(delay == 0 && backlog != 0);
        let (alpha, beta) = self.gains();
        let term = |gain: u64, from: u64| {
            (gain as i64).wrapping_mul((delay as i64).wrapping_sub(from as i64))
        };
        let mut delta = term(alpha, target).wrapping_add(term(beta, old_delay));
        if delta > (MAX_PROB / (100 / 2)) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if delay > HIGH_DELAY {
            delta = delta.wrapping_add((MAX_PROB / (100 / 2)) as i64);
        }
        let old_prob = self.prob;
        self.prob = self.prob.wrapping_add_signed(delta);
        if delta > 0 {
            // The kernel lets the probability exceed one (MAX_PROB), up to 64 bits.
            if self.prob < old_prob {
                (self.prob, may_decay) = (MAX_PROB, false);
            }
        } else if self.prob > old_prob {
            self.prob = 0;
        }
        if delay == 0 && old_delay == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        if delay < target / 2 && old_delay < target / 2 && self.prob == 0 {
            (self.burst, self.left_at, self.accumulated) = (BURST, None, 0);
        }
        self.old_delay = delay;
    }

    /// `alpha` and `beta`, scaled down at low probabilities (RFC 8033 section 4.2).
    fn gains(&self) -> (u64, u64) {
        let unit = MAX_PROB / TICKS_PER_SEC;
        let (mut alpha, mut beta) = ((ALPHA * unit) >> 4, (BETA * unit) >> 4);
        if self.prob < MAX_PROB / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while power <= 1_000_000 && self.prob < MAX_PROB / power {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        (alpha, beta)
    }

    /// `pie_process_dequeue`: a packet that arrived at `since` leaves, `backlog` bytes stay.
    fn left(&mut self, now: Time, since: Time, backlog: u64) {
        self.delay = if backlog == 0 { 0 } else { ticks((now - since).as_nanos() as u64) };
        let gap = self.left_at.map_or(0, |left_at| ticks((now - left_at).as_nanos() as u64));
        self.left_at = Some(now);
        self.burst = self.burst.saturating_sub(gap);
    }
}

impl<P> Discipline<P> for PieQueue<P> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Queued<P>,
        _drops: &mut DroppedPackets<P>,
    ) -> Result<(), DropCause> {
        self.advance(now);
        if !self.backlog.has_room(self.limit, &packet) {
            self.state.accumulated = 0;
            return Err(DropCause::QueueFull);
        }
        // Above 10 % marks no longer help (RFC 8033 section 5.1).
        let may_mark = self.ecn && self.state.prob <= MAX_PROB / 10;
        if self.drops_early() && !packet.mark(may_mark) {
            self.state.accumulated = 0;
            return Err(DropCause::Managed);
        }
        self.backlog.push(packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Time, _drops: &mut DroppedPackets<P>) -> Option<Queued<P>> {
        self.advance(now);
        let packet = self.backlog.take()?;
        self.state.left(now, packet.since, self.backlog.bytes());
        Some(packet)
    }

    fn depth(&self) -> QueueDepth {
        self.backlog.depth()
    }
}

#[cfg(test)]
mod tests {
    use chance::RandomSource;

    use super::super::tests::{packet, run};
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn queue(ecn: bool) -> PieQueue<u32> {
        let params = Pie { ecn, ..Pie::default() };
        PieQueue::new(
            params,
            QueueLimit::Packets(1000),
            1500,
            RandomSource::new(5, 0).stream("pie"),
        )
    }

    /// RFC 8033 section 4.2: `p += alpha * (delay - target) + beta * (delay - old)`, with alpha 0.125 and beta 1.25
    /// per second; below a probability of 0.000001 both are halved an eleventh time.
    #[test]
    fn the_probability_moves_as_the_law_says() {
        let mut state = PieState { burst: 0, prob: MAX_PROB / 5, ..PieState::IDLE };
        state.delay = ticks(25_000_000);
        state.old_delay = ticks(20_000_000);
        state.update(ticks(15_000_000), 50_000);
        let moved = state.prob as f64 / MAX_PROB as f64 - 0.2;
        let law = 0.125 * 0.010 + 1.25 * 0.005;
        assert!((moved - law).abs() < 1e-6, "{moved}, law {law}");

        let mut low = PieState { burst: 0, ..PieState::IDLE };
        low.delay = ticks(25_000_000);
        low.old_delay = low.delay;
        low.update(ticks(15_000_000), 50_000);
        let moved = low.prob as f64 / MAX_PROB as f64;
        let law = 0.125 * 0.010 / 2048.0;
        assert!((moved / law - 1.0).abs() < 1e-3, "{moved}, law {law}");
    }

    #[test]
    fn a_fair_load_is_left_alone() {
        let run = run(&mut queue(false), MS, MS, Time::from_millis(3000), false);
        assert_eq!(run.refused, 0);
    }

    /// A source 25 % too fast loses a fifth in the long run, and the delay stays near the target.
    #[test]
    fn the_delay_settles_at_the_target() {
        let mut queue = queue(false);
        let run = run(&mut queue, 4 * MS / 5, MS, Time::from_millis(60_000), false);
        let offered = 75_000.0;
        let share = run.refused as f64 / offered;
        assert!((0.17..0.23).contains(&share), "{share} dropped");
        let depth = queue.depth().packets;
        assert!((5..60).contains(&depth), "{depth} packets of 1 ms wait; the target is 15 ms");
    }

    #[test]
    fn a_burst_after_idleness_is_let_through() {
        let run = run(&mut queue(false), MS / 10, MS, Time::from_millis(60), false);
        assert_eq!(run.refused, 0, "150 ms of burst are allowed");
    }

    /// RFC 8033 section 5.1: up to a probability of 10 % ECN-capable packets are marked, then dropped.
    #[test]
    fn marks_replace_drops_up_to_ten_per_cent() {
        let outcome = |prob: u64, ect: bool| {
            let mut queue = queue(true);
            queue.limit = QueueLimit::Unlimited;
            queue.next_update = Time::NEVER;
            queue.state = PieState { burst: 0, prob, delay: ticks(20_000_000), ..PieState::IDLE };
            let refused = (0..5000)
                .filter(|body| {
                    let packet = packet(Time::ZERO, 0, ect, *body);
                    queue.enqueue(Time::ZERO, packet, &mut DroppedPackets::new()).is_err()
                })
                .count();
            (queue.backlog.iter().filter(|packet| packet.marked).count(), refused)
        };
        let (marks, refused) = outcome(MAX_PROB / 20, true);
        assert!((50..250).contains(&marks) && refused == 0, "{marks} marks, {refused} drops");
        let (marks, refused) = outcome(MAX_PROB / 20, false);
        assert!((50..250).contains(&refused) && marks == 0, "{marks} marks, {refused} drops");
        let (marks, refused) = outcome(MAX_PROB / 5, true);
        assert!(refused > 400 && marks == 0, "{marks} marks, {refused} drops");
    }

    #[test]
    fn long_idleness_costs_nothing() {
        let mut queue = queue(false);
        let mut drops = DroppedPackets::new();
        let late = Time::from_millis(1_000_000_000);
        assert!(queue.dequeue(late, &mut drops).is_none());
        assert!(queue.next_update > late);
    }
}
