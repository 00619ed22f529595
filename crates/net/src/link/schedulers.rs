//! Schedulers among the lanes of a link.

use std::time::Duration;

use units::{BitsPerSec, Time};

use crate::server::ServiceTime;
use crate::{Channels, LaneScheduling, LinkConfig, ProportionalFair};

/// A scheduler, driven by a link: lanes are numbered from 0.
pub(super) trait LaneScheduler: Send {
    /// Chooses the lane to serve at `at`. Lanes that are not ready have nothing to send, or cannot; at least one is
    /// ready.
    fn next(&mut self, at: Time, lanes: usize, is_ready: &dyn Fn(usize) -> bool) -> ChosenLane;

    /// A slice of a lane was served.
    fn served(&mut self, lane: usize, bytes: u32, service: ServiceTime);
}

/// A lane's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChosenLane {
    pub(super) lane: usize,
    /// Maximum length of a slice.
    pub(super) most_bytes: u32,
}

/// The scheduler of a link.
pub(super) fn of(config: &LinkConfig) -> Box<dyn LaneScheduler> {
    match config.scheduler {
        LaneScheduling::Fifo => Box::new(OneLane),
        LaneScheduling::RoundRobin => Box::new(RoundRobin::new(config.mtu)),
        LaneScheduling::ProportionalFair(params) => {
            let (rate, channels) = (config.rate.mean(), config.channels.clone());
            Box::new(ProportionalFairTurns::new(params, rate, channels))
        }
    }
}

/// A scheduler for a single lane.
struct OneLane;

impl LaneScheduler for OneLane {
    fn next(&mut self, _at: Time, _lanes: usize, _is_ready: &dyn Fn(usize) -> bool) -> ChosenLane {
        ChosenLane { lane: 0, most_bytes: u32::MAX }
    }

    fn served(&mut self, _lane: usize, _bytes: u32, _service: ServiceTime) {}
}

// Deficit round robin (Shreedhar and Varghese 1995): each lane in its turn may send a quantum of bytes; any
// overdraft is carried over.
//
// As in FQ-CoDel (RFC 8290 section 4.2) a packet is sent while any deficit is left, so that its length need not be
// known beforehand.

struct RoundRobin {
    quantum_bytes: i64,
    /// The lane whose turn it is.
    turn: usize,
    /// Bytes that each lane may still send in its turn; negative after an overdraft.
    deficits: Vec<i64>,
}

impl RoundRobin {
    /// Turns of one full packet.
    fn new(mtu: u32) -> RoundRobin {
        RoundRobin { quantum_bytes: i64::from(mtu), turn: 0, deficits: Vec::new() }
    }
}

impl LaneScheduler for RoundRobin {
    fn next(&mut self, _at: Time, lanes: usize, is_ready: &dyn Fn(usize) -> bool) -> ChosenLane {
        self.deficits.resize(lanes, 0);
        loop {
            let deficit = &mut self.deficits[self.turn];
            match is_ready(self.turn) {
                true if *deficit > 0 => {
                    return ChosenLane { lane: self.turn, most_bytes: u32::MAX };
                }
                true => {}
                // An empty lane saves nothing up.
                false => *deficit = 0,
            }
            self.turn = (self.turn + 1) % lanes;
            if is_ready(self.turn) {
                self.deficits[self.turn] += self.quantum_bytes;
            }
        }
    }

    fn served(&mut self, lane: usize, bytes: u32, _service: ServiceTime) {
        self.deficits[lane] -= i64::from(bytes);
    }
}

// Proportional fairness: each slot goes to the lane with the largest R / T, where R is the rate of its user's
// channel and T the user's mean throughput.
//
// T is an exponentially weighted mean over the window; it falls while a user sends nothing, so that a returning user
// is served first. A slot is the number of bytes that the user's channel carries meanwhile. If the lane runs empty
// the others get the rest of the slot, as in a cell that divides its subframes into resource blocks: nothing is
// wasted. A user's channel does not vary in time here, so that users which always have something to send get equal
// shares of the time.

struct ProportionalFairTurns {
    window_ns: f64,
    /// Bytes per slot on a perfect channel.
    slot_bytes: f64,
    channels: Channels,
    /// T of each lane, in bytes per nanosecond, at `settled`.
    means: Vec<f64>,
    settled: Time,
    /// The lane that has the current slot, and the bytes left of it.
    slot: Option<(usize, u32)>,
}

impl ProportionalFairTurns {
    fn new(
        params: ProportionalFair,
        rate: BitsPerSec,
        channels: Channels,
    ) -> ProportionalFairTurns {
        let slot_bytes = rate.0 as f64 / 8.0 * params.slot.as_secs_f64();
        let window_ns = params.window.as_nanos() as f64;
        let (means, settled, slot) = (Vec::new(), Time::ZERO, None);
        ProportionalFairTurns { window_ns, slot_bytes, channels, means, settled, slot }
    }

    /// Advances the means by `span`, in which `lane` got `bytes` and the others nothing.
    fn settle(&mut self, span: Duration, got: Option<(usize, u32)>) {
        let nanos = span.as_nanos() as f64;
        if nanos == 0.0 {
            return;
        }
        let kept = libm::exp(-nanos / self.window_ns);
        self.means.iter_mut().for_each(|mean| *mean *= kept);
        if let Some((lane, bytes)) = got {
            self.means[lane] += (1.0 - kept) * f64::from(bytes) / nanos;
        }
    }

    /// The ready lane with the largest R / T; among equals the first after the one served last.
    fn first(&self, is_ready: &dyn Fn(usize) -> bool) -> usize {
        let lanes = self.means.len();
        let behind = self.slot.map_or(0, |(last, _)| last + 1);
        let urgency = |lane: usize| self.channels.of(lane as u32) / self.means[lane];
        let ready =
            (behind..behind + lanes).map(|lane| lane % lanes).filter(|lane| is_ready(*lane));
        let most_urgent = |one: usize, other: usize| match urgency(other) > urgency(one) {
            true => other,
            false => one,
        };
        ready.reduce(most_urgent).expect("a lane is ready when a scheduler is asked")
    }
}

impl LaneScheduler for ProportionalFairTurns {
    fn next(&mut self, at: Time, lanes: usize, is_ready: &dyn Fn(usize) -> bool) -> ChosenLane {
        self.means.resize(lanes, 0.0);
        if let Some((lane, left)) = self.slot
            && left > 0
            && is_ready(lane)
        {
            return ChosenLane { lane, most_bytes: left };
        }
        self.settle(at.since(self.settled), None);
        self.settled = self.settled.max(at);
        let lane = self.first(is_ready);
        let most_bytes = (self.slot_bytes * self.channels.of(lane as u32)).round().max(1.0) as u32;
        self.slot = Some((lane, most_bytes));
        ChosenLane { lane, most_bytes }
    }

    fn served(&mut self, lane: usize, bytes: u32, ServiceTime { starts, ends }: ServiceTime) {
        self.settle(starts.since(self.settled), None);
        self.settle(ends.since(starts), Some((lane, bytes)));
        self.settled = self.settled.max(ends);
        if let Some((_, left)) = &mut self.slot {
            *left = left.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: ServiceTime = ServiceTime { starts: Time::ZERO, ends: Time::ZERO };

    /// Order in which lanes are served if lane n always has packets of `sizes[n]` bytes.
    fn order(sizes: &[u32], packets: usize) -> Vec<usize> {
        let mut turns = RoundRobin::new(1500);
        let mut next = || {
            let ChosenLane { lane, .. } = turns.next(Time::ZERO, sizes.len(), &|_| true);
            turns.served(lane, sizes[lane], NEVER);
            lane
        };
        (0..packets).map(|_| next()).collect()
    }

    #[test]
    fn equal_packets_alternate() {
        assert_eq!(order(&[1500, 1500, 1500], 7), [1, 2, 0, 1, 2, 0, 1]);
    }

    #[test]
    fn turns_are_counted_in_bytes() {
        let lanes = order(&[500, 1500], 400);
        assert_eq!(lanes.iter().filter(|lane| **lane == 0).count(), 300);
    }

    #[test]
    fn who_has_nothing_saves_nothing_up() {
        let mut turns = RoundRobin::new(1500);
        for _ in 0..10 {
            let ChosenLane { lane, .. } = turns.next(Time::ZERO, 2, &|lane| lane == 0);
            assert_eq!(lane, 0);
            turns.served(lane, 1500, NEVER);
        }
        let mut both = || {
            let ChosenLane { lane, .. } = turns.next(Time::ZERO, 2, &|_| true);
            turns.served(lane, 1500, NEVER);
            lane
        };
        assert_eq!([both(), both(), both(), both()], [1, 0, 1, 0]);
    }

    /// Each lane's share of the time and of the bytes in ten seconds, if all always have something to send.
    fn shares(channels: &[f64]) -> Vec<(f64, f64)> {
        let channels = Channels::new(channels.to_vec());
        let lanes = channels.shares().len();
        let rate = BitsPerSec::mbit(8);
        let mut turns =
            ProportionalFairTurns::new(ProportionalFair::default(), rate, channels.clone());
        let (mut now, mut got) = (Time::ZERO, vec![(0.0, 0.0); lanes]);
        while now < Time::from_millis(10_000) {
            let ChosenLane { lane, most_bytes } = turns.next(now, lanes, &|_| true);
            let bytes = most_bytes.min(1500);
            let span = rate.time_for(u64::from(bytes)).div_f64(channels.of(lane as u32));
            turns.served(lane, bytes, ServiceTime { starts: now, ends: now + span });
            now += span;
            got[lane].0 += span.as_secs_f64() / 10.0;
            got[lane].1 += f64::from(bytes);
        }
        got
    }

    #[test]
    fn unequal_channels_get_equal_time() {
        for channels in [vec![1.0, 1.0], vec![1.0, 0.25], vec![0.1, 1.0, 0.5, 0.33]] {
            let shares = shares(&channels);
            let equal = 1.0 / channels.len() as f64;
            for ((time, bytes), channel) in shares.iter().zip(&channels) {
                assert!((time - equal).abs() < 0.01, "{channels:?}: {shares:?}");
                let expected = 10e6 * channel * equal;
                assert!((bytes / expected - 1.0).abs() < 0.02, "{channels:?}: {shares:?}");
            }
        }
    }

    #[test]
    fn who_was_silent_is_served_first() {
        let mut turns = ProportionalFairTurns::new(
            ProportionalFair::default(),
            BitsPerSec::mbit(8),
            Channels::default(),
        );
        let mut now = Time::ZERO;
        let mut serve = |ready: &dyn Fn(usize) -> bool| {
            let ChosenLane { lane, .. } = turns.next(now, 2, ready);
            let ends = now + Duration::from_millis(1);
            turns.served(lane, 1000, ServiceTime { starts: now, ends });
            now = ends;
            lane
        };
        (0..100).for_each(|_| assert_eq!(serve(&|lane| lane == 0), 0));
        let first: Vec<usize> = (0..20).map(|_| serve(&|_| true)).collect();
        assert_eq!(first, [1; 20], "its mean is lower for some time");
    }
}
