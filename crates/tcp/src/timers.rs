//! The timers of a connection: a table, whose minimum is the connection's deadline, and the sender's timeouts.

use std::time::Duration;

use units::Time;

use crate::config::{Clock, TailLossProbe};
use crate::recovery::CongestionState;
use crate::sender::{Forced, Sender, TIMER_SLACK};

/// Events to wait for. The first four share one timer, as in Linux (`icsk_pending`): arming one
/// disarms the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TcpTimer {
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

const ALL: [TcpTimer; 8] = [
    TcpTimer::Retransmit,
    TcpTimer::LossProbe,
    TcpTimer::Reordering,
    TcpTimer::Persist,
    TcpTimer::DelayedAck,
    TcpTimer::CompressedAck,
    TcpTimer::TimeWait,
    TcpTimer::Pacing,
];
/// Number of entries of `ALL` that belong to the sender and exclude one another.
const SENDER: usize = 4;

/// Expiry of each timer.
#[derive(Clone, Debug)]
pub(crate) struct TcpTimers {
    /// Requested expiry of each,
    due: [Time; ALL.len()],
    /// and the expiry that the clock permits.
    expires: [Time; ALL.len()],
    clock: Clock,
}

impl TcpTimers {
    pub(crate) fn new(clock: Clock) -> TcpTimers {
        TcpTimers { due: [Time::NEVER; ALL.len()], expires: [Time::NEVER; ALL.len()], clock }
    }

    /// Arms one of the sender's timers in place of the one that is running, if any.
    pub(crate) fn arm_sender(&mut self, now: Time, timer: TcpTimer, at: Time) {
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

    pub(crate) fn arm(&mut self, now: Time, timer: TcpTimer, at: Time) {
        self.due[timer as usize] = at;
        self.expires[timer as usize] = match timer {
            // High-resolution timers.
            TcpTimer::CompressedAck | TcpTimer::Pacing => at,
            _ => self.clock.expiry(now, at),
        };
    }

    pub(crate) fn stop(&mut self, timer: TcpTimer) {
        self.expires[timer as usize] = Time::NEVER;
    }

    pub(crate) fn stop_all(&mut self) {
        self.expires.fill(Time::NEVER);
    }

    pub(crate) fn is_armed(&self, timer: TcpTimer) -> bool {
        self.expires[timer as usize] != Time::NEVER
    }

    /// Requested expiry of an armed timer.
    pub(crate) fn due(&self, timer: TcpTimer) -> Time {
        if self.is_armed(timer) { self.due[timer as usize] } else { Time::NEVER }
    }

    /// The earliest expiry.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.expires.iter().min().copied().filter(|at| *at != Time::NEVER)
    }

    /// Takes one timer that has expired.
    pub(crate) fn pop_expired(&mut self, now: Time) -> Option<TcpTimer> {
        let timer = ALL.into_iter().find(|timer| self.expires[*timer as usize] <= now)?;
        self.stop(timer);
        Some(timer)
    }
}

// The sender's timers: retransmission, tail loss probe, persist.
//
// Source: Linux 6.18 `tcp_rearm_rto`, `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_retransmit_timer`,
// `tcp_probe_timer`. The reordering timer is in `recovery`.

/// Maximum time for which the peer may delay an acknowledgement (`TCP_DELACK_MAX`).
const LONGEST_DELAYED_ACK: Duration = Duration::from_millis(200);
/// Minimum delay of a probe of Linux 3.10.
const SHORTEST_PROBE: Duration = Duration::from_millis(10);

impl Sender {
    pub(crate) fn min_rtt(&self) -> Duration {
        self.rtt.min().unwrap_or(Duration::MAX)
    }

    /// Due time of the head's timeout (`tcp_rto_delta_us`).
    pub(crate) fn retransmission_due(&self) -> Time {
        self.board.head().map_or(Time::NEVER, |head| head.at + self.rtt.rto())
    }

    /// `tcp_rearm_rto`
    pub(crate) fn rearm_retransmission(&mut self, now: Time, timers: &mut TcpTimers) {
        if self.board.is_empty() {
            timers.stop_sender();
            return;
        }
        let early = timers.is_armed(TcpTimer::Reordering) || timers.is_armed(TcpTimer::LossProbe);
        let due = if early { self.retransmission_due().max(now) } else { now + self.rtt.rto() };
        timers.arm_sender(now, TcpTimer::Retransmit, due + self.pacing_delay(now));
    }

    /// After progress: a tail loss probe if one may be sent, otherwise the full timeout
    /// (`tcp_set_xmit_timer`).
    pub(crate) fn set_timer(&mut self, now: Time, timers: &mut TcpTimers) {
        if !self.schedule_probe(now, now + self.rtt.rto(), timers) {
            self.rearm_retransmission(now, timers);
        }
    }

    /// `tcp_schedule_loss_probe` (RFC 8985 section 7.2); not later than the timeout at `expiry`.
    pub(crate) fn schedule_probe(
        &mut self,
        now: Time,
        expiry: Time,
        timers: &mut TcpTimers,
    ) -> bool {
        let Some(wait) = self.probe_timeout() else { return false };
        let mut at = now + wait;
        if expiry > now {
            at = at.min(expiry);
        }
        timers.arm_sender(now, TcpTimer::LossProbe, at + self.pacing_delay(now));
        true
    }

    /// Time to wait before probing for a lost tail, if at all.
    fn probe_timeout(&self) -> Option<Duration> {
        if self.board.is_empty() || !self.sack {
            return None;
        }
        match self.config.tail_loss_probe {
            TailLossProbe::Off => None,
            TailLossProbe::Linux310 => self.probe_timeout_3_10(),
            TailLossProbe::Linux6 => self.probe_timeout_6(),
        }
    }

    /// Linux 3.10: in Open only, after a sample, and not while new data could leave.
    fn probe_timeout_3_10(&self) -> Option<Duration> {
        let room = self.cwnd.cwnd() > self.board.in_flight() && self.has_unsent();
        if self.recovery.state != CongestionState::Open || room {
            return None;
        }
        let srtt = self.rtt.srtt()?;
        let alone = srtt + srtt / 2 + LONGEST_DELAYED_ACK;
        let wait = if self.board.sent() == 1 { alone.max(2 * srtt) } else { 2 * srtt };
        Some(wait.max(SHORTEST_PROBE))
    }

    /// Linux 6 (RFC 8985 section 7.2).
    fn probe_timeout_6(&self) -> Option<Duration> {
        if !matches!(self.recovery.state, CongestionState::Open | CongestionState::Cwr) {
            return None;
        }
        let slack = if self.board.sent() == 1 { self.rtt.rto_min() } else { TIMER_SLACK };
        Some(self.rtt.srtt().map_or(self.config.initial_rto, |srtt| 2 * srtt + slack))
    }

    /// `tcp_send_loss_probe`
    pub(crate) fn on_probe_timeout(&mut self, now: Time, timers: &mut TcpTimers) {
        if self.board.is_empty() {
            return;
        }
        let due = if self.probe.is_none() {
            let forced = if self.has_sendable() { Forced::NewData } else { Forced::Tail };
            self.forced = Some(forced);
            now + self.rtt.rto()
        } else {
            // One probe per episode: the timeout counts from the head's transmission.
            self.retransmission_due().max(now)
        };
        timers.arm_sender(now, TcpTimer::Retransmit, due);
    }

    /// The retransmission timer expired (`tcp_retransmit_timer`); returns true if the connection has timed out.
    pub(crate) fn on_retransmission_timeout(&mut self, now: Time, timers: &mut TcpTimers) -> bool {
        if self.board.is_empty() {
            return false;
        }
        if self.has_timed_out(now) {
            return true;
        }
        self.enter_loss(now);
        self.timeouts += 1;
        self.stats.timeouts += 1;
        self.rtt.back_off();
        timers.arm_sender(now, TcpTimer::Retransmit, now + self.rtt.rto());
        false
    }

    /// True if the time of `retries` doublings of 200 ms has passed without progress
    /// (`retransmits_timed_out`, `tcp_model_timeout`).
    fn has_timed_out(&self, now: Time) -> bool {
        let Some(first) = self.recovery.first_retransmission.filter(|_| self.timeouts > 0) else {
            return false;
        };
        let (base, max) = (self.rtt.rto_min(), self.rtt.rto_max());
        let limit = (0..=self.config.retries)
            .map(|n| base.saturating_mul(1u32.checked_shl(n).unwrap_or(u32::MAX)).min(max))
            .fold(Duration::ZERO, Duration::saturating_add);
        now - first >= limit
    }

    /// Waits for the peer to open its window (`tcp_probe0_when`).
    pub(crate) fn arm_persist(&mut self, now: Time, timers: &mut TcpTimers) {
        let base = self.rtt.rto().max(self.rtt.rto_min());
        let factor = 1u32.checked_shl(self.probe_backoff).unwrap_or(u32::MAX);
        timers.arm_sender(
            now,
            TcpTimer::Persist,
            now + base.saturating_mul(factor).min(self.rtt.rto_max()),
        );
    }

    /// The persist timer expired (`tcp_probe_timer`); returns true if the peer is gone.
    pub(crate) fn on_persist_timeout(&mut self, now: Time, timers: &mut TcpTimers) -> bool {
        if !self.board.is_empty() || !self.has_unsent() {
            self.probes = 0;
            return false;
        }
        if self.probes >= self.config.retries {
            return true;
        }
        if self.nxt < self.window_end() {
            self.forced = Some(Forced::PartialWindow);
            return false;
        }
        self.forced = Some(Forced::WindowProbe);
        self.probes += 1;
        self.probe_backoff = (self.probe_backoff + 1).min(self.config.retries);
        self.arm_persist(now, timers);
        false
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
        let mut timers = TcpTimers::new(Clock::EXACT);
        timers.arm_sender(Time::ZERO, TcpTimer::Retransmit, Time::from_millis(1));
        timers.arm(Time::ZERO, TcpTimer::DelayedAck, Time::from_millis(5));
        timers.arm_sender(Time::ZERO, TcpTimer::LossProbe, Time::from_millis(3));
        assert!(!timers.is_armed(TcpTimer::Retransmit));
        assert_eq!(timers.deadline(), Some(Time::from_millis(3)));
        assert_eq!(timers.pop_expired(Time::from_millis(5)), Some(TcpTimer::LossProbe));
        assert_eq!(timers.pop_expired(Time::from_millis(5)), Some(TcpTimer::DelayedAck));
        assert_eq!((timers.pop_expired(Time::from_millis(5)), timers.deadline()), (None, None));
    }

    #[test]
    fn timers_wait_for_the_tick() {
        let mut timers = TcpTimers::new(Clock::ticks(100));
        timers.arm_sender(Time::ZERO, TcpTimer::Retransmit, Time::from_millis(301));
        assert_eq!(timers.deadline(), Some(Time::from_millis(310)));
    }
}
