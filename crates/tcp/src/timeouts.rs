//! The sender's timers: retransmission, tail loss probe, persist.
//!
//! Source: Linux 6.18 `tcp_rearm_rto`, `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_retransmit_timer`,
//! `tcp_probe_timer`. The reordering timer is in `recovery`.

use std::time::Duration;

use units::Time;

use crate::config::TailLossProbe;
use crate::recovery::CongestionState;
use crate::sender::{Forced, Sender, TIMER_SLACK};
use crate::timers::{Timer, Timers};

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
    pub(crate) fn rearm_retransmission(&mut self, now: Time, timers: &mut Timers) {
        if self.board.is_empty() {
            timers.stop_sender();
            return;
        }
        let early = timers.is_armed(Timer::Reordering) || timers.is_armed(Timer::LossProbe);
        let due = if early { self.retransmission_due().max(now) } else { now + self.rtt.rto() };
        timers.arm_sender(now, Timer::Retransmit, due + self.pacing_delay(now));
    }

    /// After progress: a tail loss probe if one may be sent, otherwise the full timeout
    /// (`tcp_set_xmit_timer`).
    pub(crate) fn set_timer(&mut self, now: Time, timers: &mut Timers) {
        if !self.schedule_probe(now, now + self.rtt.rto(), timers) {
            self.rearm_retransmission(now, timers);
        }
    }

    /// `tcp_schedule_loss_probe` (RFC 8985 section 7.2); not later than the timeout at `expiry`.
    pub(crate) fn schedule_probe(&mut self, now: Time, expiry: Time, timers: &mut Timers) -> bool {
        let Some(wait) = self.probe_timeout() else { return false };
        let mut at = now + wait;
        if expiry > now {
            at = at.min(expiry);
        }
        timers.arm_sender(now, Timer::LossProbe, at + self.pacing_delay(now));
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
    pub(crate) fn on_probe_timeout(&mut self, now: Time, timers: &mut Timers) {
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
        timers.arm_sender(now, Timer::Retransmit, due);
    }

    /// The retransmission timer expired (`tcp_retransmit_timer`); returns true if the connection has timed out.
    pub(crate) fn on_retransmission_timeout(&mut self, now: Time, timers: &mut Timers) -> bool {
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
        timers.arm_sender(now, Timer::Retransmit, now + self.rtt.rto());
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
    pub(crate) fn arm_persist(&mut self, now: Time, timers: &mut Timers) {
        let base = self.rtt.rto().max(self.rtt.rto_min());
        let factor = 1u32.checked_shl(self.probe_backoff).unwrap_or(u32::MAX);
        timers.arm_sender(
            now,
            Timer::Persist,
            now + base.saturating_mul(factor).min(self.rtt.rto_max()),
        );
    }

    /// The persist timer expired (`tcp_probe_timer`); returns true if the peer is gone.
    pub(crate) fn on_persist_timeout(&mut self, now: Time, timers: &mut Timers) -> bool {
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
