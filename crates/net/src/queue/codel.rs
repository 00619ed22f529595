//! CoDel's control law: RFC 8289 as Linux implements it (`codel_impl.h`).
//!
//! CoDel drops when packets have waited for more than `target` throughout an `interval`, then again after
//! `interval / sqrt(count)`. As in Linux, the square root is refined by one Newton step per drop, which is coarse at
//! first: the second drop comes after 50 ms, where RFC 8289 section 5.3 says 71 ms; from the fourth on the difference
//! is below 4 %. Time is exact here, in units of 1.024 us in Linux; `ce_threshold` is not modelled.

use std::time::Duration;

use units::Time;

use super::{Drops, Queued};
use crate::{Codel, DropCause};

/// The state of one queue's controller (`struct codel_vars`).
pub(crate) struct Control {
    /// Drops since the dropping state began.
    pub(crate) count: u32,
    /// `count` when the dropping state last began.
    last_count: u32,
    is_dropping: bool,
    /// `1 / sqrt(count)`, as a fraction of 2^16.
    rec_inv_sqrt: u16,
    /// Time at which the queue will have been above target for an interval.
    first_above: Option<Time>,
    drop_next: Time,
}

impl Control {
    pub(crate) fn new() -> Control {
        Control {
            count: 0,
            last_count: 0,
            is_dropping: false,
            rec_inv_sqrt: 0,
            first_above: None,
            drop_next: Time::ZERO,
        }
    }

    /// `codel_dequeue`: the next packet that may leave at `now`. `take` returns the head of the queue and the bytes
    /// that wait behind it.
    pub(crate) fn dequeue<P>(
        &mut self,
        now: Time,
        params: &Codel,
        mtu: u32,
        mut take: impl FnMut() -> (Option<Queued<P>>, u64),
        drops: &mut Drops<P>,
    ) -> Option<Queued<P>> {
        let mut next = |control: &mut Control| {
            let (packet, backlog) = take();
            let late = control.is_late(now, params, mtu, packet.as_ref(), backlog);
            (packet, late)
        };
        let (packet, mut late) = next(self);
        let Some(mut packet) = packet else {
            self.is_dropping = false;
            return None;
        };
        if !self.is_dropping {
            if !late {
                return Some(packet);
            }
            let leaves = if packet.mark(params.ecn) {
                Some(packet)
            } else {
                drops.push_back(packet.fall(now, DropCause::Managed));
                next(self).0
            };
            self.begin_dropping(now, params.interval);
            return leaves;
        }
        self.is_dropping = late;
        while self.is_dropping && now >= self.drop_next {
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if packet.mark(params.ecn) {
                self.drop_next = self.control_law(self.drop_next, params.interval);
                break;
            }
            drops.push_back(packet.fall(now, DropCause::Managed));
            let following;
            (following, late) = next(self);
            self.is_dropping = late;
            if late {
                self.drop_next = self.control_law(self.drop_next, params.interval);
            }
            packet = following?;
        }
        Some(packet)
    }

    /// `codel_should_drop`: true if packets have been above target for a whole interval.
    fn is_late<P>(
        &mut self,
        now: Time,
        params: &Codel,
        mtu: u32,
        packet: Option<&Queued<P>>,
        backlog: u64,
    ) -> bool {
        let waited = packet.map(|packet| now - packet.since);
        if waited.is_none_or(|waited| waited < params.target) || backlog <= u64::from(mtu) {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + params.interval);
                false
            }
            Some(first_above) => now > first_above,
        }
    }

    /// Enters the dropping state, at the rate that controlled the queue the last time if that was recent.
    fn begin_dropping(&mut self, now: Time, interval: Duration) {
        self.is_dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        if delta > 1 && now - self.drop_next < 16 * interval {
            self.count = delta;
            self.newton_step();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now, interval);
    }

    /// `codel_Newton_step`: `x = x / 2 * (3 - count * x^2)`, in fractions of 2^32.
    fn newton_step(&mut self) {
        let inverse = u64::from(self.rec_inv_sqrt) << 16;
        let square = (inverse * inverse) >> 32;
        let value = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        let value = (value >> 2).wrapping_mul(inverse) >> (32 - 2 + 1);
        self.rec_inv_sqrt = (value >> 16) as u16;
    }

    /// `interval / sqrt(count)` after `from`.
    fn control_law(&self, from: Time, interval: Duration) -> Time {
        let scaled = (interval.as_nanos() * u128::from(self.rec_inv_sqrt)) >> 16;
        from + Duration::from_nanos(scaled as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8289, section 5.3: drops come at `interval / sqrt(count)`.
    #[test]
    fn the_control_law_approaches_the_square_root() {
        let mut control = Control::new();
        let interval = Duration::from_millis(100);
        control.begin_dropping(Time::ZERO, interval);
        let mut steps = Vec::new();
        for _ in 1..50 {
            let step = control.control_law(Time::ZERO, interval).as_secs_f64() * 1e3;
            steps.push(step);
            control.count += 1;
            control.newton_step();
        }
        // Linux's approximation is coarsest at first, then close.
        assert!((steps[0] - 100.0).abs() < 0.01 && (steps[1] - 50.0).abs() < 0.01, "{steps:?}");
        for (index, step) in steps.iter().enumerate().skip(3) {
            let law = 100.0 / ((index + 1) as f64).sqrt();
            assert!((step / law - 1.0).abs() < 0.04, "drop {}: {step} ms, law {law} ms", index + 1);
        }
    }
}
