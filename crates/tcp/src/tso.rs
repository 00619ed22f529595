//! Segmentation offload as the sender sees it: the number of segments in a burst, and deferral in favour of a larger one.
//!
//! The kernel hands the device one large buffer (`sk_buff`) to be cut into segments. Its size follows the rate, about 1 ms of it; if the
//! window permits less and an acknowledgement is near, the buffer waits. On the wire that makes bursts, which overflow short queues
//! earlier than single segments.
//!
//! Source: Linux 6.18 `tcp_write_xmit`, `tcp_tso_autosize`, `tcp_cwnd_test`, `tcp_mss_split_point`, `tcp_tso_should_defer`,
//! `tcp_sendmsg_locked`. Left out: small queues (`tcp_small_queue_check`), for nothing waits in a device here; corking. The bursts
//! of a paced connection leave one by one, as the pacer permits.

use std::collections::VecDeque;
use std::time::Duration;

use units::{BitsPerSec, Time};

use crate::config::TsoSegments;
use crate::recovery::CongestionState;
use crate::sender::Sender;
use crate::timers::TcpTimers;

/// The largest buffer: 64 KB less headers (`sk_gso_max_size`).
const MAX_BYTES: u64 = 65_536 - 321;
/// A buffer carries 2^-10 s at the pacing rate (`sk_pacing_shift`).
const RATE_SHIFT: u32 = 10;
/// Minimum number of segments in a buffer (`tcp_min_tso_segs`).
pub(crate) const MIN_SEGMENTS: u32 = 2;
/// Near peers get larger buffers: half as much for each 2^9 us of the smallest round trip (`tcp_tso_rtt_log`).
const NEARNESS_SHIFT: u32 = 9;
/// The share of a window that is worth sending at once (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Maximum wait since the last transmission, and for an acknowledgement.
const PATIENCE: Duration = Duration::from_millis(1);

/// Data written and not sent, in buffers as left by the writes; and the burst that is leaving.
#[derive(Debug, Default)]
pub(crate) struct Bursts {
    /// End of each buffer, first to last (the write queue).
    ends: VecDeque<u64>,
    /// Start of the last one.
    tail_begins: u64,
    /// Start of the granted burst,
    began: u64,
    /// and its end.
    granted: u64,
}

/// Decision of the windows about the next burst.
enum BurstDecision {
    /// Send up to this sequence number.
    Send(u64),
    /// Later; it waits for the congestion window.
    WaitForWindow,
    /// Later.
    Wait,
}

/// The segments of a buffer at a rate, at least `least` (`tcp_tso_autosize`).
pub(crate) fn autosize(rate: BitsPerSec, mss: u32, min_rtt: Option<Duration>, least: u32) -> u32 {
    let micros = min_rtt.map_or(u64::MAX, |rtt| rtt.as_micros() as u64);
    let halvings = u32::try_from(micros >> NEARNESS_SHIFT).unwrap_or(u32::MAX);
    let nearness = MAX_BYTES.checked_shr(halvings).unwrap_or(0);
    let bytes = (((rate.0 / 8) >> RATE_SHIFT) + nearness).min(MAX_BYTES);
    ((bytes / u64::from(mss)) as u32).max(least)
}

impl Bursts {
    /// Splits data written from `begin` to `end` into buffers of up to `most` bytes (`tcp_sendmsg_locked`). A full buffer is pushed
    /// before the write goes on: if it leaves up to `pushed` only, the write goes on in what is left of it.
    fn append(&mut self, begin: u64, end: u64, sent: u64, pushed: u64, most: u64) {
        self.forget(sent);
        match self.ends.pop_back() {
            Some(_) => self.tail_begins = self.tail_begins.max(sent),
            None => self.tail_begins = begin,
        }
        while end - self.tail_begins > most {
            let full = self.tail_begins + most;
            let is_cut = self.tail_begins < pushed && pushed < full;
            self.tail_begins = if is_cut { pushed } else { full };
            self.ends.push_back(self.tail_begins);
        }
        self.ends.push_back(end);
    }

    /// Number of bytes that fit into the last buffer, of up to `most`, whose data ends at `end`; none if all was sent.
    fn room(&self, end: u64, sent: u64, most: u64) -> u64 {
        if sent >= end {
            return 0;
        }
        (self.tail_begins.max(sent) + most).saturating_sub(end)
    }

    fn forget(&mut self, sent: u64) {
        while self.ends.front().is_some_and(|end| *end <= sent) {
            self.ends.pop_front();
        }
    }

    /// True if the granted burst has ended at `sent`.
    pub(crate) fn is_over(&self, sent: u64) -> bool {
        sent >= self.granted
    }

    /// Number of segments of `mss` bytes left of it after `sent`.
    pub(crate) fn segments_left(&self, sent: u64, mss: u32) -> u32 {
        self.granted.saturating_sub(sent).div_ceil(u64::from(mss)) as u32
    }

    /// True if the burst of several segments of `mss` bytes ends at `end`: its buffer is pushed (`__tcp_transmit_skb`, since Linux 5.4), so
    /// that its receiver need not wait for more.
    pub(crate) fn pushes(&self, end: u64, mss: u32) -> bool {
        end == self.granted && self.granted - self.began > u64::from(mss)
    }

    /// Revokes the grant.
    pub(crate) fn revoke(&mut self) {
        self.granted = 0;
    }
}

impl Sender {
    /// The application wrote up to `end`.
    pub(crate) fn note_written(&mut self, begin: u64, end: u64) {
        if self.config.tso_segments == TsoSegments::One || begin == end {
            return;
        }
        let (most, pushed) = (self.size_goal(), self.nxt + self.permitted_now());
        self.bursts.append(begin, end, self.nxt, pushed, most);
    }

    /// The largest buffer: whole segments, up to half of the peer's largest window (`tcp_xmit_size_goal`).
    pub(crate) fn size_goal(&self) -> u64 {
        let mss = u64::from(self.mss);
        match self.config.tso_segments {
            TsoSegments::One => mss,
            TsoSegments::Autosized => (MAX_BYTES.min(self.peer.most / 2) / mss).max(1) * mss,
        }
    }

    /// Number of bytes that the last buffer not sent still takes.
    pub(crate) fn room_in_last_buffer(&self) -> u64 {
        match self.config.tso_segments {
            TsoSegments::One => {
                self.unsent_bytes().next_multiple_of(self.size_goal()) - self.unsent_bytes()
            }
            TsoSegments::Autosized => {
                self.bursts.room(self.stream_end(), self.nxt, self.size_goal())
            }
        }
    }

    /// End of the next new segment, if one may leave now.
    pub(crate) fn next_granted(&mut self, now: Time, timers: &mut TcpTimers) -> Option<u64> {
        if self.bursts.is_over(self.nxt) {
            self.deferred = false;
            match self.judge_burst(now, timers) {
                BurstDecision::Send(end) => {
                    (self.bursts.began, self.bursts.granted) = (self.nxt, end);
                }
                BurstDecision::Wait => return None,
                BurstDecision::WaitForWindow => {
                    self.deferred = true;
                    return None;
                }
            }
        }
        let granted = self.bursts.granted;
        let full = self.nxt + u64::from(self.mss);
        Some(if full < granted.min(self.stream_end()) { full } else { granted })
    }

    /// The body of the loop in `tcp_write_xmit`.
    fn judge_burst(&mut self, now: Time, timers: &mut TcpTimers) -> BurstDecision {
        let (in_flight, cwnd) = (self.board.in_flight(), self.cwnd.cwnd());
        if !self.has_unsent() || self.is_held_back(now, timers) {
            return BurstDecision::Wait;
        }
        if in_flight >= cwnd || self.next_end() > self.window_end() {
            return BurstDecision::Wait;
        }
        if self.config.tso_segments == TsoSegments::One {
            return if self.nagle_holds() {
                BurstDecision::Wait
            } else {
                BurstDecision::Send(self.next_end())
            };
        }
        let mss = u64::from(self.mss);
        // Never more than half of the window at once.
        let room = u64::from((cwnd - in_flight).min((cwnd / 2).max(1)));
        let most = u64::from(self.burst_segments());
        let unsent = self.unsent_bytes();
        self.bursts.forget(self.nxt);
        let head = self.bursts.ends.front().map_or(unsent, |end| end - self.nxt).min(unsent);
        // A short buffer is filled from the next (`tcp_grow_skb`).
        let quota = room.min(most) * mss;
        let len = head.max(quota.min(unsent));
        if len <= mss {
            return if self.nagle_holds() {
                BurstDecision::Wait
            } else {
                BurstDecision::Send(self.next_end())
            };
        }
        if let Some(wait) = self.defer(now, len, most) {
            return wait;
        }
        let end = self.nxt + self.split_point(len, quota);
        BurstDecision::Send(end + u64::from(self.ends_with_fin(end)))
    }

    /// Number of bytes of a buffer of `len` bytes that leave (`tcp_mss_split_point`).
    fn split_point(&self, len: u64, quota: u64) -> u64 {
        let needed = len.min(self.window_end() - self.nxt);
        if quota <= needed {
            return quota;
        }
        let partial = needed % u64::from(self.mss);
        let held = partial > 0 && self.config.nagle && self.small_end > self.una;
        if held { needed - partial } else { needed }
    }

    /// Decides whether to wait for the window to permit a larger burst (`tcp_tso_should_defer`).
    fn defer(&self, now: Time, len: u64, most: u64) -> Option<BurstDecision> {
        let mss = u64::from(self.mss);
        if self.recovery.state >= CongestionState::Recovery || now - self.last_sent > PATIENCE {
            return None;
        }
        let window = self.window_end() - self.nxt;
        let cwnd = u64::from(self.cwnd.cwnd());
        let room = (cwnd - u64::from(self.board.in_flight())) * mss;
        let limit = window.min(room);
        let is_tail = self.nxt + len == self.stream_end();
        let chunk = self.peer.bytes.min(cwnd * mss) / WINDOW_DIVISOR;
        if limit >= most * mss || (!is_tail && limit >= len) || limit >= chunk {
            return None;
        }
        let (head, srtt) = (self.board.head()?, self.rtt.srtt()?);
        if head.at + srtt > now + PATIENCE.min(srtt / 2) {
            return None;
        }
        if room < window && room <= len {
            return Some(BurstDecision::WaitForWindow);
        }
        let limited = room >= window && window <= len;
        let complete = is_tail && self.ends_with_fin(self.stream_end());
        (limited || !complete).then_some(BurstDecision::Wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_fill_buffers_and_sending_empties_them() {
        let mut bursts = Bursts::default();
        bursts.append(1, 251, 1, 1, 100);
        assert_eq!(bursts.ends, [101, 201, 251]);
        bursts.append(251, 311, 1, 1, 100);
        assert_eq!(bursts.ends, [101, 201, 301, 311]);
        bursts.forget(250);
        assert_eq!(bursts.ends, [301, 311]);
        bursts.append(311, 411, 305, 305, 100);
        assert_eq!(bursts.ends, [405, 411], "what is left of a buffer is filled up");
        bursts.append(411, 420, 411, 411, 100);
        assert_eq!(bursts.ends, [420]);
        bursts.append(420, 540, 420, 450, 100);
        assert_eq!(
            bursts.ends,
            [450, 540],
            "30 bytes of the full buffer leave, which makes room for the last 20"
        );
    }

    #[test]
    fn bursts_last_a_millisecond_and_are_larger_for_near_peers() {
        let at = |mbit, rtt_us| {
            autosize(BitsPerSec::mbit(mbit), 1448, Some(Duration::from_micros(rtt_us)), 2)
        };
        assert_eq!(at(10, 100_000), 2, "at least two");
        assert_eq!(at(100, 100_000), 8, "100 Mbit/s are 12207 bytes in 2^-10 s");
        assert_eq!(at(10_000, 100_000), 45, "at most 64 KB");
        assert_eq!(at(10, 100), 45, "a near peer");
        assert_eq!(at(10, 1024), 12, "(65215 / 4 + 1220) / 1448");
    }
}
