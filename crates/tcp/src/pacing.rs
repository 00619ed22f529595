//! Pacing: bursts leave at a rate rather than as fast as the window opens.
//!
//! As in the kernel's internal pacing, a burst of a few segments leaves at once and pushes the departure of the
//! next one back by the time its bytes take at the rate. Source: Linux 6.18 `tcp_update_skb_after_send`,
//! `tcp_pacing_check`, `tcp_update_pacing_rate`. Left out: a limit set by the
//! application (`SO_MAX_PACING_RATE`).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use units::{BitsPerSec, Time};

use crate::sender::Sender;
use crate::timers::{TcpTimer, TcpTimers};
use crate::tso::{MIN_SEGMENTS, autosize};

/// The first segments of a connection leave unpaced, as with `fq`.
const UNPACED_SEGMENTS: u64 = 10;

/// Pacing of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pacing {
    /// None: segments leave as soon as the windows allow; only a controller that asks for pacing is paced (`fq_codel`, Linux's default).
    #[default]
    Off,
    /// A multiple of the window over the smoothed round trip, as with the `fq` discipline.
    Kernel {
        /// Percent in slow start (`tcp_pacing_ss_ratio`, 200).
        slow_start_percent: u32,
        /// Percent later (`tcp_pacing_ca_ratio`, 120).
        avoidance_percent: u32,
    },
}

impl Pacing {
    /// With the kernel's percentages.
    pub(crate) const KERNEL: Pacing =
        Pacing::Kernel { slow_start_percent: 200, avoidance_percent: 120 };
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pacing::Off => f.write_str("off"),
            &Pacing::KERNEL => f.write_str("on"),
            Pacing::Kernel { slow_start_percent, avoidance_percent } => {
                write!(f, "{slow_start_percent}/{avoidance_percent}")
            }
        }
    }
}

impl FromStr for Pacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Pacing, String> {
        let percent = |text: &str| text.parse().ok().filter(|percent| (1..=1000).contains(percent));
        match text {
            "off" => Ok(Pacing::Off),
            "on" => Ok(Pacing::KERNEL),
            _ => text
                .split_once('/')
                .and_then(|(early, later)| {
                    Some(Pacing::Kernel {
                        slow_start_percent: percent(early)?,
                        avoidance_percent: percent(later)?,
                    })
                })
                .ok_or_else(|| {
                    "off, on, or two percentages from 1 to 1000 as in 200/120".to_owned()
                }),
        }
    }
}

/// Spaces the segments of one connection.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Rate of payload; none if unlimited.
    rate: Option<BitsPerSec>,
    /// Minimum burst of the controller, segments.
    least_burst: u32,
    /// Earliest departure of the next burst (`tcp_wstamp_ns`).
    departure: Time,
    /// Segments with payload sent so far (`data_segs_out`).
    sent: u64,
    burst: PacedBurst,
}

/// A burst under way: segments that leave at the same time.
#[derive(Debug, Default)]
struct PacedBurst {
    began: Time,
    /// Idle time of the pacer before the burst.
    credit: Duration,
    bytes: u64,
    /// Number of segments that may still follow.
    left: u32,
}

impl Pacer {
    /// Rate of payload; none if unlimited.
    pub(crate) fn rate(&self) -> Option<BitsPerSec> {
        self.rate
    }

    pub(crate) fn new() -> Pacer {
        Pacer {
            rate: None,
            least_burst: MIN_SEGMENTS,
            departure: Time::ZERO,
            sent: 0,
            burst: PacedBurst::default(),
        }
    }

    /// Earliest departure of the next segment.
    pub(crate) fn departure(&self, now: Time) -> Time {
        self.departure.max(now)
    }

    fn holds(&self, now: Time) -> bool {
        self.rate.is_some() && self.burst.left == 0 && self.departure > now
    }

    /// A segment of `bytes` leaves; a burst that begins with it may have `most` segments (`tcp_update_skb_after_send`).
    fn on_sent(&mut self, now: Time, bytes: u64, most: u32) {
        self.sent += 1;
        let Some(rate) = self.rate else { return };
        let burst = &mut self.burst;
        if burst.left == 0 {
            let began = self.departure.max(now);
            *burst =
                PacedBurst { began, credit: began - self.departure, bytes: 0, left: most.max(1) };
        }
        burst.left -= 1;
        burst.bytes += bytes;
        self.departure = burst.began;
        if self.sent >= UNPACED_SEGMENTS {
            let span = rate.time_for(burst.bytes);
            // The delay of a late timer is made up for, in part.
            self.departure += span - burst.credit.min(span / 2);
        }
    }

    /// Nothing more leaves at this time.
    pub(crate) fn end_burst(&mut self) {
        self.burst.left = 0;
    }
}

impl Sender {
    /// True if segments of this connection are ever held back.
    pub(crate) fn is_paced(&self) -> bool {
        self.config.pacing != Pacing::Off || self.cwnd.is_rate_based()
    }

    /// Adapts to the window, or to the controller's rate, after an acknowledgement
    /// (`tcp_update_pacing_rate`).
    pub(crate) fn update_pacing(&mut self) {
        if self.is_paced() {
            self.set_pacing_rate();
        }
    }

    fn set_pacing_rate(&mut self) {
        self.pacer.rate = match (self.cwnd.controller.pace(), self.config.pacing) {
            (Some(pace), _) => {
                self.pacer.least_burst = pace.least_burst;
                if pace.restrained {
                    let in_flight = self.board.in_flight();
                    if let Some(rate) = &mut self.rate {
                        rate.limit(in_flight);
                    }
                }
                Some(pace.rate)
            }
            (None, Pacing::Kernel { slow_start_percent, avoidance_percent }) => {
                self.window_rate(slow_start_percent, avoidance_percent)
            }
            (None, Pacing::Off) => None,
        };
    }

    /// The segments of a burst. The kernel computes a rate and sizes bursts by it even without pacing.
    pub(crate) fn burst_segments(&self) -> u32 {
        let rate = self.pacer.rate.or_else(|| self.window_rate(200, 120));
        let rate = rate.unwrap_or(BitsPerSec(u64::MAX));
        autosize(rate, self.mss, self.rtt.min(), self.pacer.least_burst)
    }

    /// These percentages, in slow start and later, of the window over the smoothed round trip; none before the first sample.
    fn window_rate(&self, early_percent: u32, later_percent: u32) -> Option<BitsPerSec> {
        let window = &self.cwnd.window;
        let early = window.cwnd < window.ssthresh / 2;
        let percent = if early { early_percent } else { later_percent };
        let segments = self.cwnd.cwnd().max(self.board.sent());
        let bits = u128::from(self.mss) * u128::from(segments) * 8;
        let scaled = bits * u128::from(percent) * 1_000_000_000 / 100;
        let rate = scaled / self.rtt.srtt()?.as_nanos().max(1);
        Some(BitsPerSec(u64::try_from(rate).unwrap_or(u64::MAX)))
    }

    /// True if pacing holds the next segment back; in that case arms a timer for its departure
    /// (`tcp_pacing_check`).
    pub(crate) fn is_held_back(&self, now: Time, timers: &mut TcpTimers) -> bool {
        let held = self.pacer.holds(now);
        if held {
            timers.arm(now, TcpTimer::Pacing, self.pacer.departure);
        }
        held
    }

    /// A segment with `bytes` of payload leaves; a burst that begins with it may have `most` segments.
    pub(crate) fn note_paced(&mut self, now: Time, bytes: usize, most: u32) {
        if self.is_paced() && bytes > 0 {
            self.pacer.on_sent(now, bytes as u64, most);
        }
    }

    /// Delay by pacing of a transmission on which a timer depends (`tcp_pacing_delay`).
    pub(crate) fn pacing_delay(&self, now: Time) -> Duration {
        self.pacer.departure - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A pacer at 1 byte per microsecond that has sent its first ten segments.
    fn pacer() -> Pacer {
        Pacer { rate: Some(BitsPerSec::mbit(8)), sent: 10, ..Pacer::new() }
    }

    #[test]
    fn a_burst_leaves_at_once_and_holds_the_next_back() {
        let mut pacer = pacer();
        let now = Time::from_millis(100);
        pacer.departure = now;
        for _ in 0..2 {
            assert!(!pacer.holds(now));
            pacer.on_sent(now, 1000, 2);
        }
        assert!(pacer.holds(now));
        assert_eq!(pacer.departure(now), now + 2 * MS);
        assert!(!pacer.holds(now + 2 * MS));
    }

    #[test]
    fn idleness_is_credited_for_half_a_burst() {
        let mut pacer = pacer();
        let now = Time::from_millis(100);
        pacer.on_sent(now, 2000, 1);
        assert_eq!(pacer.departure(now), now + MS);
    }

    #[test]
    fn the_first_ten_segments_are_not_paced() {
        let mut pacer = Pacer { sent: 0, ..pacer() };
        for n in 0..9 {
            pacer.on_sent(Time::ZERO, 1000, 1);
            assert!(!pacer.holds(Time::ZERO), "segment {n}");
        }
        pacer.on_sent(Time::ZERO, 1000, 1);
        assert!(pacer.holds(Time::ZERO));
    }
}
