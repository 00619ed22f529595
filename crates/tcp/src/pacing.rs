//! Pacing: bursts leave at a rate rather than as fast as the window opens.
//!
//! As in the kernel's internal pacing, a burst of a few segments leaves at once and pushes the departure of the
//! next one back by the time its bytes take at the rate. Source: Linux 6.18 `tcp_update_skb_after_send`,
//! `tcp_pacing_check`, `tcp_update_pacing_rate`, `tcp_tso_autosize`. Left out: a limit set by the
//! application (`SO_MAX_PACING_RATE`).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use units::{BitsPerSec, Time};

use crate::sender::Sender;
use crate::timers::{Timer, Timers};

/// The first segments of a connection leave unpaced, as with `fq`.
const UNPACED_SEGMENTS: u64 = 10;
/// A burst lasts 2^-10 s at the rate (`sk_pacing_shift`), at most 64 KB (`sk_gso_max_size`).
const BURST_SHIFT: u32 = 10;
const MOST_BURST_BYTES: u64 = 65_536;
/// Near peers get larger bursts: 64 KB, halved for each 2^9 us of the smallest round trip (`tcp_tso_rtt_log`).
const NEARNESS_SHIFT: u32 = 9;
/// `tcp_min_tso_segs`
const LEAST_BURST: u32 = 2;

/// When segments may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pacing {
    /// As soon as the windows allow; only a controller that asks for it is paced (`fq_codel`, Linux's default).
    #[default]
    Off,
    /// At a multiple of the window over the smoothed round trip, as with the `fq` discipline.
    Kernel {
        /// Percent in slow start (`tcp_pacing_ss_ratio`, 200).
        slow_start_percent: u32,
        /// Percent later (`tcp_pacing_ca_ratio`, 120).
        avoidance_percent: u32,
    },
}

impl Pacing {
    /// With the kernel's percentages.
    pub const KERNEL: Pacing = Pacing::Kernel { slow_start_percent: 200, avoidance_percent: 120 };
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
    /// How fast payload may leave; none: at once.
    rate: Option<BitsPerSec>,
    /// A controller's least burst, segments.
    least_burst: u32,
    /// When the next burst may leave (`tcp_wstamp_ns`).
    departure: Time,
    /// Segments with payload sent so far (`data_segs_out`).
    sent: u64,
    burst: Burst,
}

/// A burst under way: segments that leave at one instant.
#[derive(Debug, Default)]
struct Burst {
    began: Time,
    /// For how long the pacer was idle before it.
    credit: Duration,
    bytes: u64,
    /// How many segments may still follow.
    left: u32,
}

impl Pacer {
    /// How fast payload may leave; none: at once.
    pub(crate) fn rate(&self) -> Option<BitsPerSec> {
        self.rate
    }

    pub(crate) fn new() -> Pacer {
        Pacer {
            rate: None,
            least_burst: LEAST_BURST,
            departure: Time::ZERO,
            sent: 0,
            burst: Burst::default(),
        }
    }

    /// When the next segment may leave.
    pub(crate) fn departure(&self, now: Time) -> Time {
        self.departure.max(now)
    }

    fn holds(&self, now: Time) -> bool {
        self.rate.is_some() && self.burst.left == 0 && self.departure > now
    }

    /// A segment of `bytes` leaves; a burst that begins with it may have `most` (`tcp_update_skb_after_send`).
    fn on_sent(&mut self, now: Time, bytes: u64, most: u32) {
        self.sent += 1;
        let Some(rate) = self.rate else { return };
        let burst = &mut self.burst;
        if burst.left == 0 {
            let began = self.departure.max(now);
            *burst = Burst { began, credit: began - self.departure, bytes: 0, left: most.max(1) };
        }
        burst.left -= 1;
        burst.bytes += bytes;
        self.departure = burst.began;
        if self.sent >= UNPACED_SEGMENTS {
            let span = rate.time_for(burst.bytes);
            // A timer that fired late is made up for, in part.
            self.departure += span - burst.credit.min(span / 2);
        }
    }

    /// Nothing more leaves at this instant.
    pub(crate) fn end_burst(&mut self) {
        self.burst.left = 0;
    }

    /// How many segments a burst has (`tcp_tso_autosize`).
    fn burst_segments(&self, mss: u32, min_rtt: Option<Duration>) -> u32 {
        let Some(rate) = self.rate else { return u32::MAX };
        let micros = min_rtt.map_or(u64::MAX, |rtt| rtt.as_micros() as u64);
        let halvings = u32::try_from(micros >> NEARNESS_SHIFT).unwrap_or(u32::MAX);
        let nearness = MOST_BURST_BYTES.checked_shr(halvings).unwrap_or(0);
        let bytes = (((rate.0 / 8) >> BURST_SHIFT) + nearness).min(MOST_BURST_BYTES);
        ((bytes / u64::from(mss)) as u32).max(self.least_burst)
    }
}

impl Sender {
    /// Whether segments of this connection are ever held back.
    pub(crate) fn is_paced(&self) -> bool {
        self.config.pacing != Pacing::Off || self.cwnd.is_rate_based()
    }

    /// Follows the window, or what the controller asks for, after an acknowledgement
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
                let window = &self.cwnd.window;
                let early = window.cwnd < window.ssthresh / 2;
                self.window_rate(if early { slow_start_percent } else { avoidance_percent })
            }
            (None, Pacing::Off) => None,
        };
    }

    /// `percent` of the window over the smoothed round trip; none before the first sample.
    fn window_rate(&self, percent: u32) -> Option<BitsPerSec> {
        let segments = self.cwnd.cwnd().max(self.board.sent());
        let bits = u128::from(self.mss) * u128::from(segments) * 8;
        let scaled = bits * u128::from(percent) * 1_000_000_000 / 100;
        let rate = scaled / self.rtt.srtt()?.as_nanos().max(1);
        Some(BitsPerSec(u64::try_from(rate).unwrap_or(u64::MAX)))
    }

    /// Whether pacing holds the next segment back; if so, a timer will say when it may go
    /// (`tcp_pacing_check`).
    pub(crate) fn is_held_back(&self, now: Time, timers: &mut Timers) -> bool {
        let held = self.pacer.holds(now);
        if held {
            timers.arm(now, Timer::Pacing, self.pacer.departure);
        }
        held
    }

    /// A segment with `bytes` of payload leaves.
    pub(crate) fn note_paced(&mut self, now: Time, bytes: usize) {
        if self.is_paced() && bytes > 0 {
            let most = self.pacer.burst_segments(self.mss, self.rtt.min());
            self.pacer.on_sent(now, bytes as u64, most);
        }
    }

    /// How long pacing holds back what a timer would wait for (`tcp_pacing_delay`).
    pub(crate) fn pacing_delay(&self, now: Time) -> Duration {
        self.pacer.departure - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A pacer at 1 byte a microsecond that has sent its first ten segments.
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

    #[test]
    fn bursts_last_a_millisecond_and_are_larger_for_near_peers() {
        let at = |mbit, rtt_us| {
            let pacer = Pacer { rate: Some(BitsPerSec::mbit(mbit)), ..Pacer::new() };
            pacer.burst_segments(1448, Some(Duration::from_micros(rtt_us)))
        };
        assert_eq!(at(10, 100_000), 2, "at least two");
        assert_eq!(at(100, 100_000), 8, "100 Mbit/s are 12207 bytes in 2^-10 s");
        assert_eq!(at(10_000, 100_000), 45, "at most 64 KB");
        assert_eq!(at(10, 100), 45, "a near peer");
        assert_eq!(at(10, 1024), 12, "(65536 / 4 + 1220) / 1448");
    }
}
