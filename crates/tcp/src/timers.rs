//! The timers of a connection: a table; its minimum is the connection's deadline.

use units::Time;

use crate::config::Clock;

/// Events to wait for. The first four share one timer, as in Linux (`icsk_pending`): arming one
/// disarms the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Retransmission timeout (RFC 6298), of a SYN too.
    Retransmit,
    /// Tail loss probe (RFC 8985 section 7).
    LossProbe,
    /// The reordering window of RACK (RFC 8985 section 6).
    Reordering,
    /// Zero window probe (RFC 9293 section 3.8.6.1).
    Persist,
    /// Delayed acknowledgement (RFC 9293 section 3.8.6.3).
    DelayedAck,
    /// Acknowledgements of out-of-order data, held back (Linux `compressed_ack_timer`).
    CompressedAck,
    /// The end of TIME-WAIT.
    TimeWait,
    /// Pacing releases the next segment.
    Pacing,
}

const ALL: [Timer; 8] = [
    Timer::Retransmit,
    Timer::LossProbe,
    Timer::Reordering,
    Timer::Persist,
    Timer::DelayedAck,
    Timer::CompressedAck,
    Timer::TimeWait,
    Timer::Pacing,
];
/// Number of entries of `ALL` that belong to the sender and exclude one another.
const SENDER: usize = 4;

/// Expiry of each timer.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// Requested expiry of each,
    due: [Time; ALL.len()],
    /// and the expiry that the clock permits.
    expires: [Time; ALL.len()],
    clock: Clock,
}

impl Timers {
    pub(crate) fn new(clock: Clock) -> Timers {
        Timers { due: [Time::NEVER; ALL.len()], expires: [Time::NEVER; ALL.len()], clock }
    }

    /// Arms one of the sender's timers in place of the one that is running, if any.
    pub(crate) fn arm_sender(&mut self, now: Time, timer: Timer, at: Time) {
        self.stop_sender();
        self.arm(now, timer, at);
    }

    pub(crate) fn stop_sender(&mut self) {
        self.expires[..SENDER].fill(Time::NEVER);
    }

    /// True if none of the sender's timers is running.
    pub(crate) fn sender_is_idle(&self) -> bool {
        self.expires[..SENDER].iter().all(|at| *at == Time::NEVER)
    }

    pub(crate) fn arm(&mut self, now: Time, timer: Timer, at: Time) {
        self.due[timer as usize] = at;
        self.expires[timer as usize] = match timer {
            // High-resolution timers.
            Timer::CompressedAck | Timer::Pacing => at,
            _ => self.clock.expiry(now, at),
        };
    }

    pub(crate) fn stop(&mut self, timer: Timer) {
        self.expires[timer as usize] = Time::NEVER;
    }

    pub(crate) fn stop_all(&mut self) {
        self.expires.fill(Time::NEVER);
    }

    pub(crate) fn is_armed(&self, timer: Timer) -> bool {
        self.expires[timer as usize] != Time::NEVER
    }

    /// Requested expiry of an armed timer.
    pub(crate) fn due(&self, timer: Timer) -> Time {
        if self.is_armed(timer) { self.due[timer as usize] } else { Time::NEVER }
    }

    /// The earliest expiry.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.expires.iter().min().copied().filter(|at| *at != Time::NEVER)
    }

    /// Takes one timer that has expired.
    pub(crate) fn pop_expired(&mut self, now: Time) -> Option<Timer> {
        let timer = ALL.into_iter().find(|timer| self.expires[*timer as usize] <= now)?;
        self.stop(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        assert!(ALL.iter().enumerate().all(|(index, timer)| *timer as usize == index));
    }

    #[test]
    fn the_senders_timers_exclude_one_another() {
        let mut timers = Timers::new(Clock::EXACT);
        timers.arm_sender(Time::ZERO, Timer::Retransmit, Time::from_millis(1));
        timers.arm(Time::ZERO, Timer::DelayedAck, Time::from_millis(5));
        timers.arm_sender(Time::ZERO, Timer::LossProbe, Time::from_millis(3));
        assert!(!timers.is_armed(Timer::Retransmit));
        assert_eq!(timers.deadline(), Some(Time::from_millis(3)));
        assert_eq!(timers.pop_expired(Time::from_millis(5)), Some(Timer::LossProbe));
        assert_eq!(timers.pop_expired(Time::from_millis(5)), Some(Timer::DelayedAck));
        assert_eq!((timers.pop_expired(Time::from_millis(5)), timers.deadline()), (None, None));
    }

    #[test]
    fn timers_wait_for_the_tick() {
        let mut timers = Timers::new(Clock::ticks(100));
        timers.arm_sender(Time::ZERO, Timer::Retransmit, Time::from_millis(301));
        assert_eq!(timers.deadline(), Some(Time::from_millis(310)));
    }
}
