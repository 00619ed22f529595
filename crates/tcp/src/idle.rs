//! Effects of idleness on the window and the round trip.
//!
//! A window that has not been used for a timeout proves nothing (RFC 2861; `tcp_cwnd_restart`). Linux 6 cuts it when the application
//! writes again (`tcp_slow_start_after_idle_check`), Linux 3 when the first burst has been handed to the device under the old
//! window (`tcp_event_data_sent`): there the first buffer, of up to 64 KB, escapes.

use std::time::Duration;

use units::Time;

use crate::config::IdleRestart;
use crate::sender::Sender;

/// Maximum size of one buffer (`sk_gso_max_size`).
const BUFFER_BYTES: u32 = 65_536;

/// A window that is to be cut after the first burst has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingRestart {
    idle: Duration,
    rto: Duration,
    /// Segments that may still leave before the cut.
    left: u32,
}

impl Sender {
    fn decays(&self, when: IdleRestart) -> bool {
        self.config.slow_start_after_idle
            && self.config.idle_restart == when
            && !self.cwnd.is_rate_based()
    }

    /// Time since the last transmission, if nothing is in flight and it is longer than the timeout.
    fn idle_time(&self, now: Time) -> Option<Duration> {
        let idle = now - self.last_sent;
        (self.board.is_empty() && idle > self.rtt.rto()).then_some(idle)
    }

    /// The application writes.
    pub(crate) fn restart_before_write(&mut self, now: Time) {
        if self.decays(IdleRestart::AtWrite)
            && let Some(idle) = self.idle_time(now)
        {
            self.restart_window(now, idle, self.rtt.rto());
        }
    }

    /// New data is about to leave.
    pub(crate) fn note_idleness(&mut self, now: Time) {
        let Some(idle) = self.idle_time(now) else { return };
        if self.decays(IdleRestart::AfterFirstBurst) {
            let left = (BUFFER_BYTES / self.mss).max(1);
            self.restart = Some(PendingRestart { idle, rto: self.rtt.rto(), left });
        }
        if let Some(rto) = self.config.reset_rtt_after_idle {
            self.rtt.forget(rto);
        }
    }

    /// New data has left.
    pub(crate) fn count_before_restart(&mut self, now: Time) {
        if let Some(restart) = &mut self.restart {
            restart.left -= 1;
            if restart.left == 0 {
                self.restart_after_burst(now);
            }
        }
    }

    /// The burst is over, for lack of data or window.
    pub(crate) fn restart_after_burst(&mut self, now: Time) {
        if let Some(restart) = self.restart.take() {
            self.restart_window(now, restart.idle, restart.rto);
        }
    }

    fn restart_window(&mut self, now: Time, idle: Duration, rto: Duration) {
        let ssthresh = self.current_ssthresh();
        self.cwnd.restart(now, idle, rto, ssthresh);
    }
}
